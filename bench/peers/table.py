#!/usr/bin/env python3
"""The tables of README.md from files of compare.py --json.

    table.py MAIN.json [OTHER.json...]

One file per PyTorch, the main one first; kolm's ms are those of the first. Prints Markdown: a row per
case, rank count and precision, and how much bf16 gains.
"""
import argparse
import json
import sys

from timings import show_ms, show_ratio

SCHEMA = "kolm.peers/1"


def read(path):
    try:
        with open(path) as f:
            document = json.load(f)
        if document["schema"] != SCHEMA:
            raise KeyError
    except OSError as e:
        raise ValueError(f"{path}: {e.strerror}")
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is no file of compare.py --json ({SCHEMA})")
    return document


def key(c):
    return c["dim"], c["depth"], c["batch"], c["ranks"]


def label(c):
    text = f"dim {c['dim']}, depth {c['depth']}, batch {c['batch']}"
    return text if c["ranks"] == 1 else f"{text}, {c['ranks']} ranks (DDP over gloo)"


def name(document):
    t = document["torch"]
    return f"PyTorch {t['version']} ({t['blas']})"


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def speeds(documents, others):
    """ms of kolm and of every PyTorch, with the ratio of the rounds."""
    head = ["case", "type", "kolm"]
    for d in documents:
        head += [name(d), "ratio"]
    yield row(*head)
    yield "|" + "---|" * len(head)
    for c in documents[0]["comparisons"]:
        for precision in "fp32", "bf16":
            if f"kolm_{precision}" not in c["ms"]:
                continue
            cells = [label(c), precision, show_ms(c["ms"][f"kolm_{precision}"])]
            for one in [c, *(o.get(key(c)) for o in others)]:
                cells += [show_ms(one and one["ms"].get(f"torch_{precision}")),
                          show_ratio(one and one["ratios"].get(precision))]
            yield row(*cells)


def gains(documents, others):
    """How many times as fast as its own fp32 everyone's bf16 is."""
    yield row("fp32 / bf16", "kolm", *map(name, documents))
    yield "|" + "---|" * (2 + len(documents))
    for c in documents[0]["comparisons"]:
        if "kolm" in c["ratios"]:
            peers = [one and one["ratios"].get("torch") for one in [c, *(o.get(key(c)) for o in others)]]
            yield row(label(c), *map(show_ratio, [c["ratios"]["kolm"], *peers]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="of compare.py --json, the main one first")
    a = parser.parse_args()
    try:
        documents = [read(f) for f in a.files]
    except ValueError as e:
        print(f"table.py: {e}", file=sys.stderr)
        return 2
    others = [{key(c): c for c in d["comparisons"]} for d in documents[1:]]
    print(f"{documents[0]['cpu']}, kolm {documents[0]['kolm']['version']} on {documents[0]['kolm']['cpu']}; "
          "SGD, ms per step:\n")
    print("\n".join(speeds(documents, others)), "", *gains(documents, others), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
