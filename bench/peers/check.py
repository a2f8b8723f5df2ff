#!/usr/bin/env python3
"""Recompute a run of `kolm train --dump-check FOLDER` in PyTorch.

Compares every loss (relative 1e-6) and the final weights (1e-4 of the largest weight
of the tensor, relative). Exit code 0 if all agree, 1 if not, 2 for a run in 16 bit. A run that is no
nearer is called steep, and agrees, if rounding explains it: kolm is not further from PyTorch in
float64 than PyTorch in fp32 is, or four times as far as initial weights lead that are changed
in their last digits.

    check.py FOLDER...
"""
import argparse
import json
import os
import sys

import numpy
import torch

import language
from model import Stack, make_optimizer, make_schedule, train_step
from safetensors_numpy import load

LOSS_TOLERANCE = 1e-6
WEIGHT_TOLERANCE = 1e-4
PERTURBED = 8


def is_language(o):
    return o.get("model", "mlp") != "mlp"


def load_masks(folder, o, names):
    """Of every step a list with the masks of these names; None without dropout."""
    if not o.get("dropout"):
        return None
    masks = load(os.path.join(folder, "masks.safetensors"))
    steps = [[torch.from_numpy(masks.pop(f"masks.{step}.{n}")) for n in names]
             for step in range(o["steps"])]
    if masks:
        raise ValueError(f"{folder}: masks of unknown layers: {sorted(masks)}")
    return steps


def build(initial, o):
    """The model with its initial weights."""
    if is_language(o):
        return language.build(initial, o)
    weights = [initial[f"layers.{i}.weight"] for i in range(o["depth"])]
    model = Stack([weights[0].shape[1]] + [w.shape[0] for w in weights], o["activation"],
                  o.get("norm", "none"), o.get("residual", False), o.get("dropout", 0.0))
    model.load_state_dict({n: torch.from_numpy(w) for n, w in initial.items()})
    return model


def perturb(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + 2.0 ** -22 * (2 * torch.rand(p.shape, generator=generator, dtype=p.dtype) - 1))


def recompute(folder, dtype=torch.float32, perturbed=None):
    with open(os.path.join(folder, "check.json")) as f:
        check = json.load(f)
    o = check["options"]
    batches = load(os.path.join(folder, "batches.safetensors"))
    model = build(load(os.path.join(folder, "initial.safetensors")), o).to(dtype)
    masks = load_masks(folder, o, model.dropouts)
    if perturbed is not None:
        perturb(model, perturbed)
    optimizer = make_optimizer(model, o)
    schedule = make_schedule(optimizer, o)
    losses = []
    for step in range(len(check["losses"])):
        x, y = (torch.from_numpy(batches[f"{name}.{step}"]) for name in "xy")
        # Numbers of tokens and classes are whole; a language model has a row per token.
        x = x.long() if x.dtype == torch.int32 else x.to(dtype)
        y = y.long().flatten() if y.dtype == torch.int32 else y.to(dtype)
        losses.append(train_step(model, optimizer, x, y, o["micro_batches"], o["clip_grad"],
                                 masks[step] if masks else None))
        schedule.step()
    return check, losses, {name: p.detach().numpy() for name, p in model.named_parameters()}


def comparable(run):
    """Losses and weights of (check, losses, weights), as far as they say something."""
    check, losses, weights = run
    # JSON has no word for what is not finite: null.
    losses = [numpy.nan if v is None else v for v in losses]
    o = check["options"]
    return losses, language.without_noise(weights, o) if is_language(o) else weights


class Difference:
    """Of two runs: the largest of the losses and of the weights, relative, and the tensor's
    name. Infinite where anything is not finite."""

    def __init__(self, losses, weights, other_losses, other_weights):
        if len(losses) != len(other_losses) or set(weights) != set(other_weights):
            raise ValueError("the runs have other steps or other tensors")
        self.loss, self.weight, self.where = float("inf"), float("inf"), "not finite"
        # max() overlooks NaN, so finiteness is asked for by itself.
        if all(numpy.isfinite(v).all() for v in [losses, other_losses, *weights.values(),
                                                 *other_weights.values()]):
            self.loss = max(abs(a - b) / abs(b) for a, b in zip(losses, other_losses))
            self.weight, self.where = max(
                (float(numpy.abs(weights[n] - w).max() / max(numpy.abs(w).max(), 1e-30)), n)
                for n, w in other_weights.items())

    def within(self, loss, weight):
        return self.loss <= loss and self.weight <= weight

    def __str__(self):
        return f"loss {self.loss:.1e}, weights {self.weight:.1e} ({self.where})"


def spread(folder, exact):
    """How far rounding leads: other initial weights, by about four roundings of fp32."""
    runs = [Difference(*comparable(recompute(folder, torch.float64, other)), *exact)
            for other in range(PERTURBED)]
    return max(r.loss for r in runs), max(r.weight for r in runs)


def compare(folder):
    """"ok", "steep" or "DIFFERS", and the difference from PyTorch."""
    run = recompute(folder)
    check, torch_fp32 = run[0], comparable(run)
    ours = comparable((check, check["losses"], load(os.path.join(folder, "final.safetensors"))))
    difference = Difference(*ours, *torch_fp32)
    if difference.within(LOSS_TOLERANCE, WEIGHT_TOLERANCE):
        return "ok", difference
    exact = comparable(recompute(folder, torch.float64))
    theirs = Difference(*torch_fp32, *exact)
    loss, weight = spread(folder, exact)
    near = Difference(*ours, *exact).within(
        max(LOSS_TOLERANCE, 4 * loss, theirs.loss), max(WEIGHT_TOLERANCE, 4 * weight, theirs.weight))
    return "steep" if near and numpy.isfinite(difference.loss) else "DIFFERS", difference


def refuse_16_bit(folder):
    with open(os.path.join(folder, "check.json")) as f:
        precision = json.load(f)["options"].get("precision", "fp32")
    if precision != "fp32":
        print(f"check.py: {folder} is a run in {precision}; only runs in fp32 are recomputed (16 bit: kolm verify)",
              file=sys.stderr)
        sys.exit(2)


def check_folder(folder):
    verdict, difference = compare(folder)
    print(f"{folder}: {difference}: {verdict}")
    return verdict != "DIFFERS"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    a = parser.parse_args()
    torch.set_num_threads(1)
    for folder in a.folders:
        refuse_16_bit(folder)
    return 0 if all([check_folder(f) for f in a.folders]) else 1


if __name__ == "__main__":
    sys.exit(main())
