#!/usr/bin/env python3
"""Time training steps of a GPT in PyTorch, as kolm times its own.

A GPT-2 as PyTorch's users write one for speed: attention by scaled_dot_product_attention, the tied
head, AdamW in the way that takes least, clipping at 1; with --compile by torch.compile. A step runs
from a batch in memory to new weights. Prints one JSON object with the ms of the measured steps and the
peak memory of the processes. With --ranks the batch is shared by that many processes,
DistributedDataParallel over gloo.
"""
import argparse
import json
import os
import resource
import sys
import tempfile
import time

import torch
import torch.distributed
import torch.multiprocessing
from torch import nn
from torch.nn import functional

from time_step import fastest_optimizer

CLIP = 1.0


def attention(q, k, v):
    if hasattr(functional, "scaled_dot_product_attention"):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    # Before PyTorch 2.0 everybody wrote it like this.
    length, width = q.shape[-2:]
    scores = q @ k.transpose(-2, -1) * width ** -0.5
    return scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf")).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def attend(self, x):
        batch, context, dim = x.shape
        q, k, v = (part.view(batch, context, self.heads, dim // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(dim, dim=2))
        y = attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, context, dim))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """Returns the loss: that is what DistributedDataParallel and torch.compile are put around."""

    def __init__(self, layers, heads, dim, context, vocab):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, dim), nn.Embedding(context, dim)
        self.blocks = nn.ModuleList(Block(heads, dim) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, labels):
        x = self.tokens(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.tokens.weight)
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1))


def train_step(model, optimizer, tokens, labels, bf16):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        loss = model(tokens, labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
    return loss.item()


def time_steps(a, model, optimizer):
    """ms of all steps, the warm-up's too; fewer than a.steps if a.seconds were over first."""
    times, began = [], time.perf_counter()
    for _ in range(a.steps):
        batch = torch.randint(a.vocab, (a.batch // a.ranks, a.context + 1))
        tokens, labels = batch[:, :-1].contiguous(), batch[:, 1:].contiguous()
        start = time.perf_counter()
        train_step(model, optimizer, tokens, labels, a.precision == "bf16")
        now = time.perf_counter()
        times.append((now - start) * 1e3)
        if a.compile and len(times) == 1:
            began = now  # that was the compiler
        # Ranks that looked at their own clocks would not all stop behind the same step.
        if a.ranks == 1 and now - began > a.seconds:
            break
    return times


def measure(a, rank):
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    model = GPT(a.layers, a.heads, a.dim, a.context, a.vocab)
    if a.ranks > 1:
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    way, optimizer = fastest_optimizer(model, {
        "optimizer": "adamw", "lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1})
    times = time_steps(a, torch.compile(model) if a.compile else model, optimizer)
    peak = torch.tensor([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])
    if a.ranks > 1:
        torch.distributed.all_reduce(peak)
    if rank == 0:
        warm = len(times) > a.warmup
        print(json.dumps({"update": way, "warm": warm, "peak_kb": int(peak),
                          "step_ms": times[a.warmup:] if warm else times[-1:]}))


def run_rank(rank, a, meeting):
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank,
                                         world_size=a.ranks)
    measure(a, rank)
    torch.distributed.barrier()  # who is still talking would not survive that another is gone
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in {"layers": 4, "heads": 4, "dim": 128, "context": 64, "vocab": 65, "batch": 12,
                          "steps": 35, "warmup": 5, "threads": 1, "ranks": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32",
                        help="bf16: autocast; weights and optimizer stay fp32")
    parser.add_argument("--compile", action="store_true", help="torch.compile; its time is the warm-up's")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="begin no step after that many, on one rank; if that is before the "
                        "warm-up ends, the last step is the measured one")
    a = parser.parse_args()
    if a.ranks > 1:
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(run_rank, nprocs=a.ranks,
                                        args=(a, os.path.join(folder, "meeting")))
    else:
        measure(a, 0)


if __name__ == "__main__":
    sys.exit(main())
