#!/usr/bin/env python3
"""kolm and PyTorch side by side: does PyTorch agree with kolm, and who is faster?

A case runs in rounds. In each of them kolm and PyTorch train in turn, in fp32 and in bf16, so that
all see the same moods of the machine; ratios are taken within a round (timings.py).
PyTorch trains in bf16 as its users do, with autocast, and has the fastest way of updating that there
is; a GPT eagerly or by torch.compile, whichever is faster, stacks eagerly. Exit code 0; 1 if a run failed or PyTorch does not agree; 2 if
it could not begin.
"""
import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys

from comparison import Case, Comparison, plural
from comparison_gpt import GPT_CASES, GPTCase, GPTComparison
from programs import HERE, Trouble, output, run_comparison, script

CASES = {c.name: c for c in [  # steps and warm-up are those of one round
    Case("small", 1024, 2, 64, steps=60, warmup=10, rounds=5),
    Case("default", 1024, 8, 64, steps=25, warmup=5, rounds=5),
    Case("wide", 2048, 8, 256, steps=12, warmup=2, rounds=5),
    Case("large", 8192, 8, 64, steps=4, warmup=1, rounds=3),
    *GPT_CASES,
]}


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Trouble(f"{message}; see --help", 2)


def case_of(word):
    if word in CASES:
        return CASES[word]
    size = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", word)
    gpt = re.fullmatch(r"gpt-" + "x".join([r"([1-9]\d*)"] * 6), word)
    if gpt:
        return GPTCase(word, *map(int, gpt.groups()), steps=25, warmup=5, rounds=5)
    if not size:
        raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(CASES)}, nor DIMxDEPTHxBATCH, "
                                         "nor gpt-LAYERSxHEADSxDIMxCONTEXTxVOCABxBATCH")
    return Case(word, *map(int, size.groups()), steps=25, warmup=5, rounds=5)


def cases_of(text):
    return [case_of(word) for word in text.split(",")]


def precisions_of(text):
    chosen = text.split(",")
    if not set(chosen) <= {"fp32", "bf16"}:
        raise argparse.ArgumentTypeError(f"'{text}' is neither fp32 nor bf16, nor both with a comma between")
    return [p for p in ("fp32", "bf16") if p in chosen]


def positive(text):
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 on")
    return int(text)


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return value


def cpu_model():
    try:
        with open("/proc/cpuinfo") as f:
            return re.search(r"^model name\s*: (.+)$", f.read(), re.MULTILINE)[1]
    except (OSError, TypeError):
        return platform.machine()


def describe_kolm(kolm):
    try:
        version = output([kolm, "--version"]).strip()
        if not version.startswith("kolm "):
            raise Trouble("it is another program")
    except Trouble as t:
        raise Trouble(f"--kolm {kolm} can't be used: {t}; build it with make, or name the binary", 2)
    # Where something that kolm needs is missing, the doctor's exit code is 1, and its findings are there.
    found = subprocess.run([kolm, "doctor", "--json"], capture_output=True, text=True).stdout
    texts = {f["name"]: f["text"] for f in json.loads(found)["findings"] if f["name"] in ("cpu", "load")}
    return {"version": version.split()[1], **texts}


def describe_torch():
    try:
        return json.loads(script("describe.py"))
    except Trouble as t:
        raise Trouble(f"no PyTorch with NumPy for {sys.executable}: {t}; install it (Debian: python3-torch, python3-numpy), "
                      "or choose another Python with make bench-peers PEER_PYTHON=...", 2)


def print_machine(d):
    t = d["torch"]
    print(f"CPU:     {d['cpu']}")
    print(f"kolm:    {d['kolm']['version']}; {d['kolm']['cpu']}")
    print(f"PyTorch: {t['version']} (Python {t['python']}), {t['instructions']}; "
          f"BLAS {t['blas']}; oneDNN {t['onednn']}")
    if t["onednn_bf16"] is False:
        print("         on this CPU it does not use oneDNN for bf16, but loops of its own")
    print(f"load:    {d['kolm'].get('load', 'unknown')}", flush=True)


def check(kolm, folder):
    """PyTorch recomputes short runs, on one rank and on eight. Whether it agrees, and how many
    cores kolm sees."""
    grid = ["--dp", 2, "--pp", 2, "--mp", 2, "--micro-batches", 4]
    stack = ["--dim", 64, "--depth", 4, "--optimizer", "momentum"]
    gpt = ["--model", "gpt", "--layers", 2, "--heads", 4, "--dim", 64, "--context", 33, "--vocab", 65,
           "--batch", 8, "--optimizer", "momentum", "--lr", 0.02]
    runs = {"one-rank": stack, "2x2x2": [*stack, *grid], "gpt": gpt, "gpt-2x2x2": [*gpt, *grid]}
    run = os.path.join(folder, "run")
    for name, options in runs.items():
        output([kolm, "train", *options, "--steps", 20, "--quiet", "--run-dir", run, "--overwrite",
                "--dump-check", os.path.join(folder, name)])
    with open(os.path.join(run, "summary.json")) as f:
        cores = json.load(f)["cores"]
    checked = subprocess.run([sys.executable, os.path.join(HERE, "check.py"), *runs], cwd=folder)
    return checked.returncode == 0, cores


def write_json(path, document):
    """Whole or not at all."""
    if not path:
        return
    try:
        with open(path + ".tmp", "w") as f:
            json.dump(document, f, indent=2)
            f.write("\n")
        os.replace(path + ".tmp", path)
    except OSError as e:
        raise Trouble(f"--json {path} can't be written: {e.strerror}", 2)


def parse():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kolm", default="build/kolm", help="the binary (default: %(default)s)")
    parser.add_argument("--cases", type=cases_of, default=",".join(CASES),
                        help="which, with commas between; also DIMxDEPTHxBATCH for a stack and "
                        "gpt-LAYERSxHEADSxDIMxCONTEXTxVOCABxBATCH (default: %(default)s)")
    parser.add_argument("--rounds", type=positive, help="of every case (default: 5, of large ones 3)")
    parser.add_argument("--ranks", type=lambda text: [positive(n) for n in text.split(",")], default="1,2",
                        help="how many, one after the other; more than 1 against DistributedDataParallel, "
                        "always in fp32 (default: %(default)s)")
    parser.add_argument("--precision", type=precisions_of, default="fp32,bf16",
                        help="in which types, on one rank (default: %(default)s)")
    parser.add_argument("--threads", type=positive, help="for all ranks together (default: a thread per core)")
    parser.add_argument("--seconds", type=seconds, default=30.0,
                        help="on one rank PyTorch begins no step of a round after that many; if that is in "
                        "the warm-up, its last step counts, and it is left out of further rounds (default: %(default)g)")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured; see table.py")
    return parser.parse_args()


def compare(a, folder):
    kolm = os.path.abspath(a.kolm)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "compiled")  # for all rounds
    document = {"schema": "kolm.peers/1", "cpu": cpu_model(), "kolm": describe_kolm(kolm),
                "torch": describe_torch(), "agrees": False, "comparisons": []}
    write_json(a.json, document)
    print_machine(document)
    document["agrees"], cores = check(kolm, folder)
    for ranks in a.ranks:
        threads = max(1, (a.threads or cores) // ranks)
        print(f"\n{plural(ranks, 'rank')}, {plural(threads, 'thread')} each (PyTorch's default is "
              f"{document['torch']['default_threads']}), stacks by SGD, GPTs by AdamW; medians of the rounds, ratios with lowest..highest")
        for case in a.cases:
            kind = GPTComparison if isinstance(case, GPTCase) else Comparison
            c = kind(kolm, folder, case, ranks, threads, a.seconds, a.precision)
            for _ in range(a.rounds or case.rounds):
                c.run_round()
            c.print()
            document["comparisons"].append(c.to_json())
            write_json(a.json, document)
    return 0 if document["agrees"] else 1


if __name__ == "__main__":
    sys.exit(run_comparison("compare.py", parse, compare))
