#!/usr/bin/env python3
"""Make scales.json: the loss scales that PyTorch's scaler goes through.

    tests/golden/scaler/generate.py

PyTorch's GradScaler updates its scale on CUDA only; ShardedGradScaler, which is derived from
it, does the same on a CPU. Debian's PyTorch can't import the package it is in, so its file is
loaded by itself. make check compares kolm with scales.json and needs no PyTorch.
"""
import importlib.util
import json
import os
import random

import torch
import torch.cuda.amp.grad_scaler

here = os.path.dirname(os.path.abspath(__file__))


def load_scaler():
    torch.cuda.amp.grad_scaler.amp_definitely_not_available = lambda: False
    path = os.path.join(os.path.dirname(torch.__file__), "distributed", "fsdp",
                        "sharded_grad_scaler.py")
    spec = importlib.util.spec_from_file_location("sharded_grad_scaler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ShardedGradScaler


def main():
    random.seed(0)
    sequences = []
    for init, growth, backoff, interval, share in [(65536.0, 2.0, 0.5, 20, 0.05),
                                                   (1024.0, 2.0, 0.5, 4, 0.25),
                                                   (8.0, 4.0, 0.25, 1, 0.5),
                                                   (65536.0, 1.5, 0.75, 7, 0.1)]:
        scaler = load_scaler()(init_scale=init, growth_factor=growth, backoff_factor=backoff,
                               growth_interval=interval, process_group=None)
        scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
        steps = []
        for _ in range(80):
            skipped = random.random() < share
            scaler._amp_update_scale_cpu_(torch.tensor([float(skipped)]))
            steps.append([int(skipped), scaler._scale.item()])
        sequences.append({"init": init, "growth": growth, "backoff": backoff,
                          "interval": interval, "steps": steps})
    with open(os.path.join(here, "scales.json"), "w") as f:
        json.dump({"torch": torch.__version__, "sequences": sequences}, f)
        f.write("\n")


if __name__ == "__main__":
    main()
