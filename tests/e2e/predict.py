#!/usr/bin/env python3
"""Recompute predictions from the files of a checkpoint, in plain Python.

    predict.py CHECKPOINT DATA.csv PREDICTIONS.csv

Reads state.json and model.safetensors as docs/data.md and the format say, does the products of an MLP one
number at a time, and compares with what kolm predict has written.
"""
import csv
import json
import math
import struct
import sys

ACTIVATIONS = {
    "none": lambda z: z,
    "relu": lambda z: max(z, 0.0),
    "gelu": lambda z: 0.5 * z * (1 + math.erf(z / math.sqrt(2))),
    "tanh": math.tanh,
    "silu": lambda z: z / (1 + math.exp(-z)),
    "gelu-tanh": lambda z: 0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))),
}


def tensors(path):
    with open(path, "rb") as f:
        bytes_ = f.read()
    size = struct.unpack("<Q", bytes_[:8])[0]
    out = {}
    for name, t in json.loads(bytes_[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + n for n in t["data_offsets"])
            values = struct.unpack(f"<{(end - begin) // 4}f", bytes_[begin:end])
            columns = t["shape"][-1]
            out[name] = [values[i:i + columns] for i in range(0, len(values), columns)] if len(t["shape"]) == 2 else values
    return out


def normed(x, kind, weight, bias):
    mean = sum(x) / len(x) if kind == "layer" else 0.0
    scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in x) / len(x) + 1e-5)
    y = [(v - mean) * scale * w for v, w in zip(x, weight)]
    return [a + b for a, b in zip(y, bias)] if bias else y


def forward(x, model, o):
    for i in range(o["depth"]):
        name, last, before = f"layers.{i}.", i == o["depth"] - 1, x
        if o["norm"] != "none" and i > 0:
            x = normed(x, o["norm"], model[name + "norm.weight"], model.get(name + "norm.bias"))
        act = ACTIVATIONS["none" if last else o["activation"]]
        x = [act(sum(a * b for a, b in zip(row, x)) + bias)
             for row, bias in zip(model[name + "weight"], model[name + "bias"])]
        if o["residual"] and not last and len(x) == len(before):
            x = [a + b for a, b in zip(x, before)]
    return x


def expected(y, form):
    if not form["classes"]:
        t = form["targets"]
        return [v * d + m for v, d, m in zip(y, t["deviations"], t["means"])]
    top = max(y)
    e = [math.exp(v - top) for v in y]
    return [v / sum(e) for v in e]


def main():
    folder, data, predictions = sys.argv[1:]
    with open(folder + "/state.json") as f:
        state = json.load(f)
    model, form = tensors(folder + "/model.safetensors"), state["data"]
    features = form["features"]
    with open(data, newline="") as f, open(predictions, newline="") as g:
        rows, got = list(csv.DictReader(f)), list(csv.reader(g))
    assert len(rows) == len(got) - 1, f"{len(rows)} samples, {len(got) - 1} predictions"
    worst = 0
    for row, line in zip(rows, got[1:]):
        x = [(float(row[n]) - m) / d if d > 0 else 0.0
             for n, m, d in zip(features["names"], features["means"], features["deviations"])]
        want = expected(forward(x, model, state["options"]), form)
        if form["classes"]:
            label, *line = line
            assert label == form["classes"][want.index(max(want))], f"{row}: {label}, not {want}"
        assert len(line) == len(want)
        for a, b in zip(line, want):
            worst = max(worst, abs(float(a) - b) / (1e-3 + abs(b)))
    assert worst < 1e-3, f"off by {worst}"
    print(f"{len(rows)} predictions, off by {worst:.2g} at most")


main()
