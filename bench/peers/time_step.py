#!/usr/bin/env python3
"""Time training steps of the linear stack in PyTorch, as kolm times its own.

A step runs from before the forward pass to after the optimizer; making the batch is
outside of it. Prints one JSON object with the times of the measured steps. With --ranks the
batch is shared by that many processes, DistributedDataParallel over gloo.
"""
import argparse
import json
import os
import time

import torch
import torch.distributed
import torch.multiprocessing

from model import Stack, make_optimizer, train_step


def measure(a, rank):
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    model = Stack([a.dim] * (a.depth + 1), "relu")
    if a.ranks > 1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = make_optimizer(model, {"optimizer": a.optimizer, "lr": 1e-3, "momentum": 0.9,
                                       "beta1": 0.9, "beta2": 0.999, "eps": 1e-8,
                                       "weight_decay": 0.0})
    times = []
    rows = a.batch // a.ranks
    for step in range(a.steps):
        x = torch.randn(rows, a.dim)
        y = torch.randn(rows, a.dim)
        start = time.perf_counter()
        train_step(model, optimizer, x, y, a.micro_batches)
        if step >= a.warmup:
            times.append((time.perf_counter() - start) * 1e3)
    if rank == 0:
        print(json.dumps({"version": torch.__version__, "step_ms": times}))


def run_rank(rank, a):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(a.port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=a.ranks)
    measure(a, rank)
    torch.distributed.destroy_process_group()


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
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--port", type=int, default=29517)
    a = parser.parse_args()
    if a.ranks > 1:
        torch.multiprocessing.spawn(run_rank, args=(a,), nprocs=a.ranks)
    else:
        measure(a, 0)


if __name__ == "__main__":
    main()
