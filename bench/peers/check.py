#!/usr/bin/env python3
"""Recompute a run of `kolm train --dump-check FOLDER` in PyTorch.

Compares every loss (relative 1e-6) and the final weights (1e-4 of the largest weight
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

LOSS_TOLERANCE = 1e-6
WEIGHT_TOLERANCE = 1e-4


def load_masks(folder, o):
    """Of every step a list with a mask per layer but the last; None without dropout."""
    if not o.get("dropout"):
        return None
    masks = load(os.path.join(folder, "masks.safetensors"))
    names = [f"layers.{i}.dropout" for i in range(o["depth"] - 1)]
    steps = [[torch.from_numpy(masks.pop(f"masks.{step}.{n}")).float() for n in names]
             for step in range(o["steps"])]
    if masks:
        raise ValueError(f"{folder}: masks of unknown layers: {sorted(masks)}")
    return steps


def build(initial, o):
    weights = [initial[f"layers.{i}.weight"] for i in range(o["depth"])]
    model = Stack([weights[0].shape[1]] + [w.shape[0] for w in weights], o["activation"],
                  o.get("norm", "none"), o.get("residual", False), o.get("dropout", 0.0))
    model.load_state_dict({n: torch.from_numpy(w) for n, w in initial.items()})
    return model


def recompute(folder):
    with open(os.path.join(folder, "check.json")) as f:
        check = json.load(f)
    o = check["options"]
    batches = load(os.path.join(folder, "batches.safetensors"))
    masks = load_masks(folder, o)
    model = build(load(os.path.join(folder, "initial.safetensors")), o)
    optimizer = make_optimizer(model, o)
    losses = []
    for step in range(len(check["losses"])):
        x = torch.from_numpy(batches[f"x.{step}"])
        y = torch.from_numpy(batches[f"y.{step}"])
        if y.dtype == torch.int32:
            y = y.long()
        losses.append(train_step(model, optimizer, x, y, o["micro_batches"], o["clip_grad"],
                                 masks[step] if masks else None))
    final = {name: p.detach().numpy() for name, p in model.named_parameters()}
    return check, losses, final


def differences(folder):
    """The largest relative ones: of the losses, and of the weights with the tensor's name."""
    check, losses, final = recompute(folder)
    ours = load(os.path.join(folder, "final.safetensors"))
    if len(losses) != len(check["losses"]) or set(ours) != set(final):
        raise ValueError(f"{folder}: other steps or tensors than PyTorch has")
    # max() overlooks NaN, so finiteness is asked for by itself.
    if not (numpy.isfinite(losses).all() and numpy.isfinite(check["losses"]).all()
            and all(numpy.isfinite(w).all() for w in [*ours.values(), *final.values()])):
        return float("inf"), float("inf"), "not finite"
    loss = max(abs(a - b) / abs(b) for a, b in zip(check["losses"], losses))
    weight, where = max(
        (float(numpy.abs(ours[n] - w).max() / max(numpy.abs(w).max(), 1e-30)), n)
        for n, w in final.items())
    return loss, weight, where


def agrees(loss, weight):
    return loss <= LOSS_TOLERANCE and weight <= WEIGHT_TOLERANCE


def check_folder(folder):
    loss, weight, where = differences(folder)
    ok = agrees(loss, weight)
    print(f"{folder}: loss {loss:.1e}, weights {weight:.1e} ({where}): "
          f"{'ok' if ok else 'DIFFERS'}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    a = parser.parse_args()
    torch.set_num_threads(1)
    return 0 if all([check_folder(f) for f in a.folders]) else 1


if __name__ == "__main__":
    sys.exit(main())
