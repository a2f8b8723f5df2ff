#!/usr/bin/env python3
"""Make the golden files: small runs of kolm, recomputed by PyTorch.

    tests/golden/generate.py build/kolm

Run it when the meaning of a run changes (the generator, the initialisation, the data);
make check compares kolm with these files and needs no PyTorch.
"""
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "bench", "peers"))
from check import recompute  # noqa: E402

SIZE = "--dim 12 --depth 3"
BASE = "--batch 8 --steps 6 --lr 0.05"
CASES = {
    "sgd-relu": "--optimizer sgd",
    "sgd-none-decay": "--optimizer sgd --activation none --weight-decay 0.1",
    "sgd-gelu-accum": "--optimizer sgd --activation gelu --micro-batches 4",
    "momentum-relu-clip": "--optimizer momentum --clip-grad 0.2",
    "momentum-gelu": "--optimizer momentum --momentum 0.8 --activation gelu --weight-decay 0.01",
    "adamw-relu-accum-clip": "--optimizer adamw --micro-batches 2 --clip-grad 0.5 --lr 0.01",
    "adamw-gelu-decay": "--optimizer adamw --activation gelu --weight-decay 0.1 --lr 0.01",
    "noise-deep": "--data noise --depth 7 --seed 5",
    "sgd-tanh-layer": "--optimizer sgd --activation tanh --norm layer",
    "momentum-silu-rms-residual": "--optimizer momentum --activation silu --norm rms --residual --lr 0.01",
    "adamw-gelu-uneven": "--widths 10,16,7,7,5 --optimizer adamw --activation gelu --residual --lr 0.01",
    # What is dropped is kolm's own: other losses are another choice.
    "sgd-relu-dropout": "--optimizer sgd --dropout 0.25 --micro-batches 2",
    "adamw-silu-layer-residual-dropout": "--widths 6,12,12,12,4 --optimizer adamw --activation silu"
                                         " --norm layer --residual --dropout 0.1 --lr 0.01",
    "gpt-adamw-dropout": "--model gpt --layers 2 --heads 3 --dim 24 --context 11 --vocab 37 --dropout 0.1"
                         " --micro-batches 2 --optimizer adamw --weight-decay 0.1 --clip-grad 0.5 --lr 0.001",
    "llama-momentum": "--model llama --layers 2 --heads 4 --kv-heads 2 --dim 24 --context 11 --vocab 37 --optimizer momentum",
}


def main():
    kolm = sys.argv[1]
    for name, extra in CASES.items():
        size = "" if "--widths" in extra or "--model" in extra else SIZE
        arguments = f"{size} {BASE} {extra}".split()
        with tempfile.TemporaryDirectory() as folder:
            dump = os.path.join(folder, "dump")
            subprocess.run([kolm, "train", *arguments, "--quiet", "--dump-check", dump,
                            "--run-dir", os.path.join(folder, "run")], check=True)
            _, losses, final = recompute(dump)
        golden = {"arguments": arguments, "losses": losses,
                  "final": {n: [float(v) for v in w.ravel()[:24]] for n, w in final.items()}}
        with open(os.path.join(here, name + ".json"), "w") as f:
            json.dump(golden, f)
            f.write("\n")
        print(name, losses[0], losses[-1])


if __name__ == "__main__":
    main()
