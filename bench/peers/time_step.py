#!/usr/bin/env python3
"""Time training steps of the linear stack in PyTorch, as kolm times its own.

A step runs from before the forward pass to after the optimizer; making the batch is
outside of it. Prints one JSON object with the times of the measured steps.
"""
import argparse
import json
import time

import torch

from model import Stack, make_optimizer, train_step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--steps", type=int, default=35)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    model = Stack([a.dim] * (a.depth + 1), "relu")
    optimizer = make_optimizer(model, {"optimizer": a.optimizer, "lr": 1e-3, "momentum": 0.9,
                                       "beta1": 0.9, "beta2": 0.999, "eps": 1e-8,
                                       "weight_decay": 0.0})
    times = []
    for step in range(a.steps):
        x = torch.randn(a.batch, a.dim)
        y = torch.randn(a.batch, a.dim)
        start = time.perf_counter()
        train_step(model, optimizer, x, y, a.micro_batches)
        if step >= a.warmup:
            times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"version": torch.__version__, "step_ms": times}))


if __name__ == "__main__":
    main()
