#!/usr/bin/env python3
"""What kolm predict says, computed again from model.safetensors: with NumPy and with PyTorch.

    outputs.py KOLM FOLDER      needs the packages safetensors, numpy and torch

FOLDER takes the files. Trains a small classifier, has kolm predict its own table, and compares the probabilities.
"""
import csv
import json
import pathlib
import random
import subprocess
import sys

import numpy
import safetensors.numpy
import safetensors.torch
import torch

kolm, work = sys.argv[1], pathlib.Path(sys.argv[2])
rng = random.Random(3)
rows = [[rng.uniform(-2, 2) for _ in range(4)] for _ in range(240)]
names = ["low", "middle", "high"]
with open(work / "table.csv", "w", newline="") as f:
    out = csv.writer(f)
    out.writerow(["a", "b", "c", "d", "kind"])
    for row in rows:
        total = sum(row)
        out.writerow(row + [names[0 if total < -1 else 2 if total > 1 else 1]])
run = work / "run"
subprocess.run([kolm, "train", "--data", f"csv:{work}/table.csv", "--dim", "32", "--depth", "3", "--optimizer", "adamw", "--lr", "0.01", "--epochs", "20",
                "--save", "--quiet", "--run-dir", run, "--overwrite"], check=True)
subprocess.run([kolm, "predict", run, "--data", work / "table.csv", "--out", work / "predicted.csv"], check=True, stderr=subprocess.DEVNULL)
with open(work / "predicted.csv") as f:
    table = list(csv.reader(f))
classes = [c[2:-1] for c in table[0][1:]]
predicted = numpy.array([[float(v) for v in row[1:]] for row in table[1:]])

newest = run / "checkpoints" / (run / "checkpoints" / "latest").read_text().strip()
form = json.loads((newest / "state.json").read_text())["data"]
mean, deviation = (numpy.array(form["features"][name]) for name in ("means", "deviations"))
inputs = (numpy.array(rows) - mean) / deviation


def probabilities(y):
    e = numpy.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


with_numpy = safetensors.numpy.load_file(newest / "model.safetensors")
y = inputs
for i in range(3):
    y = y @ with_numpy[f"layers.{i}.weight"].T.astype(float) + with_numpy[f"layers.{i}.bias"]
    y = numpy.maximum(y, 0) if i < 2 else y
by_numpy = abs(probabilities(y) - predicted).max()

with_torch = safetensors.torch.load_file(newest / "model.safetensors")
z = torch.tensor(inputs, dtype=torch.float32)
for i in range(3):
    z = torch.nn.functional.linear(z, with_torch[f"layers.{i}.weight"], with_torch[f"layers.{i}.bias"])
    z = torch.relu(z) if i < 2 else z
by_torch = abs(torch.softmax(z, 1).numpy() - predicted).max()

print(f"{len(rows)} predictions: NumPy differs by {by_numpy:.1e}, PyTorch by {by_torch:.1e}")
sys.exit(not (sorted(classes) == sorted(names) and by_numpy < 1e-5 and by_torch < 1e-5))
