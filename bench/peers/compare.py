#!/usr/bin/env python3
"""kolm and PyTorch side by side: does PyTorch agree with kolm, and who is faster?

Every case runs several times in turn, so that both see the same moods of the machine;
medians over all measured steps are compared.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# name, dim, depth, steps and warm-up of one round, rounds
CASES = [
    ("small", 1024, 2, 60, 10, 5),
    ("default", 1024, 8, 25, 5, 3),
    ("large", 8192, 8, 4, 1, 3),
]


def check(kolm, folder):
    """PyTorch recomputes two short runs, on one rank and on eight."""
    dumps = []
    for grid in [], ["--dp", "2", "--pp", "2", "--mp", "2", "--micro-batches", "4"]:
        dumps.append(os.path.join(folder, f"dump{len(dumps)}"))
        subprocess.run([kolm, "train", "--dim", "64", "--depth", "4", "--steps", "20", "--quiet",
                        "--optimizer", "momentum", "--run-dir", os.path.join(folder, "run"),
                        "--overwrite", "--dump-check", dumps[-1], *grid], check=True)
    return subprocess.run([sys.executable, os.path.join(HERE, "check.py"), *dumps]).returncode == 0


def kolm_times(kolm, folder, dim, depth, steps, warmup, threads, ranks):
    run = os.path.join(folder, "run")
    subprocess.run([kolm, "train", "--dim", str(dim), "--depth", str(depth), "--batch", "64",
                    "--data", "noise", "--steps", str(steps), "--warmup", str(warmup),
                    "--threads", str(threads), "--dp", str(ranks), "--quiet", "--run-dir", run,
                    "--overwrite"], check=True)
    with open(os.path.join(run, "metrics.jsonl")) as f:
        rows = [json.loads(line) for line in f]
    return [r["step_ms"] for r in rows if not r["warmup"]]


def torch_times(dim, depth, steps, warmup, threads, ranks):
    out = subprocess.run([sys.executable, os.path.join(HERE, "time_step.py"), "--dim", str(dim),
                          "--depth", str(depth), "--batch", "64", "--steps", str(steps),
                          "--warmup", str(warmup), "--threads", str(threads),
                          "--ranks", str(ranks)],
                         check=True, capture_output=True, text=True).stdout
    result = json.loads(out)
    return result["version"], result["step_ms"]


def spread(times):
    return f"{statistics.median(times):9.2f} ({min(times):.2f}..{max(times):.2f})"


def compare(kolm, folder, cases, threads, ranks):
    kind = "DDP over gloo" if ranks > 1 else "PyTorch"
    print(f"\n{ranks} rank{'s' if ranks > 1 else ''}, {threads} threads each, batch 64, SGD, "
          "ms per step: median (min..max)")
    for name, dim, depth, steps, warmup, rounds in CASES:
        if name not in cases:
            continue
        ours, theirs = [], []
        for _ in range(rounds):
            ours += kolm_times(kolm, folder, dim, depth, steps, warmup, threads, ranks)
            version, times = torch_times(dim, depth, steps, warmup, threads, ranks)
            theirs += times
        ratio = statistics.median(theirs) / statistics.median(ours)
        print(f"{name:8} dim {dim} depth {depth}: kolm {spread(ours)}  "
              f"{kind} {version} {spread(theirs)}  kolm is {ratio:.2f}x as fast", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kolm", default="build/kolm")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cases", default="small,default,large")
    parser.add_argument("--ranks", default="1,2", help="how many ranks, one after the other")
    a = parser.parse_args()
    kolm = os.path.abspath(a.kolm)
    with tempfile.TemporaryDirectory() as folder:
        ok = check(kolm, folder)
        for ranks in map(int, a.ranks.split(",")):
            compare(kolm, folder, a.cases.split(","), max(1, a.threads // ranks), ranks)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
