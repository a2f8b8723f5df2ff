#!/usr/bin/env python3
"""The tables of README.md from files of compare.py --json.

    table.py MAIN.json [OTHER.json...]

One file per PyTorch, the main one first; kolm's figures are those of the first. Prints Markdown: a row per
case, rank count and precision, and how much bf16 gains.
"""
import argparse
import json
import sys

from timings import show_ms, show_ratio, show_speed

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
    return c["case"], c["ranks"]


def is_gpt(c):
    return c.get("model") == "gpt"


def label(c):
    if is_gpt(c):
        text = f"{c['layers']} / {c['heads']} / {c['dim']}, context {c['context']}, batch {c['batch']}, vocabulary {c['vocab']}"
    else:
        text = f"dim {c['dim']}, depth {c['depth']}, batch {c['batch']}"
    return text if c["ranks"] == 1 else f"{text}, {c['ranks']} ranks (DDP over gloo)"


def name(document):
    t = document["torch"]
    return f"PyTorch {t['version']} ({t['blas']})"


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def head(documents, *more):
    cells = ["case", "type", "kolm", *more]
    for d in documents:
        cells += [name(d), "ratio"]
    return row(*cells) + "\n|" + "---|" * len(cells)


def stacks(documents, others, comparisons):
    """ms of kolm and of every PyTorch, with the ratio of the rounds."""
    yield head(documents)
    for c in comparisons:
        for precision in "fp32", "bf16":
            if f"kolm_{precision}" not in c["ms"]:
                continue
            cells = [label(c), precision, show_ms(c["ms"][f"kolm_{precision}"])]
            for one in [c, *(o.get(key(c)) for o in others)]:
                cells += [show_ms(one and one["ms"].get(f"torch_{precision}")),
                          show_ratio(one and one["ratios"].get(precision))]
            yield row(*cells)


def gpts(documents, others, comparisons):
    """Tokens per second of kolm and of every PyTorch, and what kolm needs of the machine."""
    yield head(documents, "share of peak", "MB (PyTorch)")
    for c in comparisons:
        for precision in "fp32", "bf16":
            ours, theirs = f"kolm_{precision}", f"torch_{precision}"
            if ours not in c["ms"]:
                continue
            cells = [label(c), precision, show_speed(c["tokens_per_s"][ours]), f"{c['share_of_peak'][precision]:.2f}",
                     f"{c['peak_mb'][ours]:.0f} ({c['peak_mb'].get(theirs, 0):.0f})"]
            for one in [c, *(o.get(key(c)) for o in others)]:
                way = one and one["torch_ways"].get(precision)
                cells += [show_speed(one and one["tokens_per_s"].get(theirs)) + (f", {way}" if way else ""),
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
    print(f"{documents[0]['cpu']}, kolm {documents[0]['kolm']['version']} on {documents[0]['kolm']['cpu']}")
    comparisons = documents[0]["comparisons"]
    for title, rows, chosen in [("SGD, ms per step", stacks, [c for c in comparisons if not is_gpt(c)]),
                                ("GPT, AdamW, tokens per second", gpts, [c for c in comparisons if is_gpt(c)])]:
        if chosen:
            print(f"\n{title}:\n", *rows(documents, others, chosen), sep="\n")
    print("", *gains(documents, others), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
