"""mutate.py - spoil the bytes of a file, or the tree of a JSON document.

Numbers are small or beyond every limit: kolm refuses the latter, and nothing in between
could take hours or all memory.
"""
import copy
import json

NUMBERS = [-1, 0, 1, 2, 3, 1.5, 0.1, -0.0, 2**31, 2**53 + 1, 2**63, 1e308, -1e308, 10**30]
STRINGS = ["", "x", "../escape", "/tmp/../escape", "a/b", "\x1b[31mred\x1b]0;title\x07", "a\nkolm: b", "%s%n", "nan", "-1",
           "<script>abuse()</script>", "|", "é\u202e", "x" * 5000]
DEEP = "deep"  # stands for what is nested more deeply than Python itself can write
PIECES = [b"\0", b"\xff\xfe", b"\x1b[2J", b"\r", b"\n\n", b",,", b";", b"\t", b'"', b"{", b"]", b"[" * 3000, b"nan", b"-inf",
          b"1e999", b"0x10", b"-", b"9" * 400, b"\xef\xbb\xbf", b"\xc0\x80", b" "]


def spoil_bytes(r, data):
    """A few small wounds, or one large."""
    data = bytearray(data)
    for _ in range(r.choice([1, 1, 2, 4])):
        at = r.randrange(len(data) + 1)
        end = min(len(data), at + r.choice([1, 2, 8, 100]))
        way = r.choice(["flip", "cut", "truncate", "insert", "repeat", "overwrite"])
        if way == "flip" and at < len(data):
            data[at] ^= 1 << r.randrange(8)
        elif way == "cut":
            del data[at:end]
        elif way == "truncate" and r.random() < 0.4:
            del data[at:]
        elif way == "insert":
            data[at:at] = r.choice(PIECES)
        elif way == "repeat":
            data[at:at] = data[at:end]
        elif way == "overwrite":
            data[at:end] = bytes(r.randrange(256) for _ in range(end - at))
    return bytes(data)


def random_value(r):
    return r.choice([r.choice(NUMBERS), r.choice(STRINGS), None, True, [], {}, [1, "a", None], {"a": {}}, DEEP])


def places(tree):
    """Every (container, key) below tree."""
    found, todo = [], [tree]
    while todo:
        node = todo.pop()
        for key in (node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()):
            found.append((node, key))
            todo.append(node[key])
    return found


def spoil_json(r, data):
    """Another value, a name that is gone, new, or there twice; or just spoilt bytes."""
    if r.random() < 0.35:
        return spoil_bytes(r, data)
    tree = copy.deepcopy(json.loads(data))
    for _ in range(r.choice([1, 1, 1, 3])):
        node, key = r.choice(places(tree) or [({"": 0}, "")])
        way = r.choice(["value", "value", "value", "remove", "rename", "swap"])
        if way == "remove":
            del node[key]
        elif way == "rename" and isinstance(node, dict):
            node[r.choice(STRINGS)] = node.pop(key)
        elif way == "swap":
            other, place = r.choice(places(tree))
            node[key] = copy.deepcopy(other[place]) if other[place] is not tree else 0
        else:
            node[key] = random_value(r)
    text = json.dumps(tree).replace(f'"{DEEP}"', "[" * 3000 + "]" * 3000)
    if r.random() < 0.1 and '", "' in text:  # a name twice
        member = text[1:].split(",")[0]
        text = "{" + member + ", " + text[1:]
    return text.encode(errors="surrogatepass")
