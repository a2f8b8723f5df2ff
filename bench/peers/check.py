#!/usr/bin/env python3
"""Recompute a run of `kolm train --dump-check FOLDER` in PyTorch.

Compares every loss (relative 1e-5) and the final weights (1e-4 of the largest weight
of the tensor, relative). Exit code 0 if all agree, 1 if not.

    check.py FOLDER...
"""
import argparse
import json
import os
import sys

import numpy
import torch

from model import Stack, make_optimizer, train_step
from safetensors_numpy import load

LOSS_TOLERANCE = 1e-5
WEIGHT_TOLERANCE = 1e-4


def recompute(folder):
    with open(os.path.join(folder, "check.json")) as f:
        check = json.load(f)
    o = check["options"]
    initial = load(os.path.join(folder, "initial.safetensors"))
    batches = load(os.path.join(folder, "batches.safetensors"))
    weights = [initial[f"layers.{i}.weight"] for i in range(o["depth"])]
    model = Stack([weights[0].shape[1]] + [w.shape[0] for w in weights], o["activation"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(initial[name]))
    optimizer = make_optimizer(model, o)
    losses = []
    for step in range(len(check["losses"])):
        x = torch.from_numpy(batches[f"x.{step}"])
        y = torch.from_numpy(batches[f"y.{step}"])
        if y.dtype == torch.int32:
            y = y.long()
        losses.append(train_step(model, optimizer, x, y, o["micro_batches"], o["clip_grad"]))
    final = {name: p.detach().numpy() for name, p in model.named_parameters()}
    return check, losses, final


def check_folder(folder):
    check, losses, final = recompute(folder)
    ours = load(os.path.join(folder, "final.safetensors"))
    loss_error = max(abs(a - b) / abs(b) for a, b in zip(check["losses"], losses))
    weight_error, where = max(
        (float(numpy.abs(ours[n] - w).max() / max(numpy.abs(w).max(), 1e-30)), n)
        for n, w in final.items())
    # max() overlooks NaN, so finiteness is asked for by itself.
    finite = (numpy.isfinite(losses).all() and all(numpy.isfinite(w).all() for w in ours.values())
              and all(numpy.isfinite(w).all() for w in final.values()))
    ok = (finite and len(losses) == len(check["losses"]) and loss_error <= LOSS_TOLERANCE
          and weight_error <= WEIGHT_TOLERANCE)
    print(f"{folder}: {len(losses)} steps, loss {loss_error:.1e}, "
          f"weights {weight_error:.1e} ({where}): {'ok' if ok else 'DIFFERS'}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    a = parser.parse_args()
    torch.set_num_threads(1)
    return 0 if all([check_folder(f) for f in a.folders]) else 1


if __name__ == "__main__":
    sys.exit(main())
