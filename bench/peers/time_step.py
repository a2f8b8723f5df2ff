#!/usr/bin/env python3
"""Time training steps of the linear stack in PyTorch, as kolm times its own.

A step runs from before the forward pass to after the optimizer; making the batch is
outside of it. Prints one JSON object with the times of the measured steps. With --ranks the
batch is shared by that many processes, DistributedDataParallel over gloo. PyTorch runs eagerly:
torch.compile is not used.
"""
import argparse
import json
import os
import tempfile
import time

import torch
import torch.distributed
import torch.multiprocessing

from model import Stack, make_optimizer, train_step

# How PyTorch can compute an update; which of them there are is a matter of its version.
WAYS = {"fused": {"fused": True}, "foreach": {"foreach": True}, "loop": {"foreach": False}}
TRIALS = 3


def time_update(optimizer):
    times = []
    for _ in range(TRIALS):
        start = time.perf_counter()
        optimizer.step()
        times.append(time.perf_counter() - start)
    return min(times)


def fastest_optimizer(model, options):
    """The way of updating that takes least here, and its name. Each is tried with gradients of
    zero, which leave the weights as they are."""
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    times = {}
    for name, way in WAYS.items():
        try:
            times[name] = time_update(make_optimizer(model, options, **way))
        except (TypeError, RuntimeError):
            pass  # not in this version, or not on a CPU
    for p in model.parameters():
        p.grad = None
    name = min(times, key=times.get)
    return name, make_optimizer(model, options, **WAYS[name])


def time_steps(a, model, optimizer):
    """ms of all steps, the warm-up's too; fewer than a.steps if a.seconds were over first."""
    times = []
    began = time.perf_counter()
    rows = a.batch // a.ranks
    for _ in range(a.steps):
        x = torch.randn(rows, a.dim)
        y = torch.randn(rows, a.dim)
        start = time.perf_counter()
        train_step(model, optimizer, x, y, a.micro_batches, bf16=a.precision == "bf16")
        now = time.perf_counter()
        times.append((now - start) * 1e3)
        # Ranks that looked at their own clocks would not all stop behind the same step.
        if a.ranks == 1 and now - began > a.seconds:
            break
    return times


def measure(a, rank):
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    model = Stack([a.dim] * (a.depth + 1), "relu")
    if a.ranks > 1:
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    way, optimizer = fastest_optimizer(model, {
        "optimizer": a.optimizer, "lr": 1e-3, "momentum": 0.9, "beta1": 0.9, "beta2": 0.999,
        "eps": 1e-8, "weight_decay": 0.0})
    times = time_steps(a, model, optimizer)
    if rank == 0:
        warm = len(times) > a.warmup
        print(json.dumps({"update": way, "warm": warm,
                          "step_ms": times[a.warmup:] if warm else times[-1:]}))


def run_rank(rank, a, meeting):
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank,
                                         world_size=a.ranks)
    measure(a, rank)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32",
                        help="bf16: autocast; weights and optimizer stay fp32")
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--steps", type=int, default=35)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="begin no step after that many, on one rank; if that is before the "
                        "warm-up ends, the last step is the measured one")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=1)
    a = parser.parse_args()
    if a.ranks > 1:
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(run_rank, nprocs=a.ranks,
                                        args=(a, os.path.join(folder, "meeting")))
    else:
        measure(a, 0)


if __name__ == "__main__":
    main()
