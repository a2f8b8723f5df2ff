#!/usr/bin/env python3
"""kolm and PyTorch side by side: does PyTorch agree with kolm, and who is faster?

A case runs in rounds. In each of them kolm and PyTorch train in turn, in fp32 and in bf16, so that
all see the same moods of the machine; ratios are taken within a round (timings.py).
PyTorch trains in bf16 as its users do, with autocast; it runs eagerly (no torch.compile), with the
fastest way of updating that it has. Exit code 0; 1 if a run failed or PyTorch does not agree; 2 if
it could not begin.
"""
import argparse
import collections
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile

from timings import CONTENDERS, medians, ratios, show_ms, show_ratio

HERE = os.path.dirname(os.path.abspath(__file__))
Case = collections.namedtuple("Case", "name dim depth batch steps warmup rounds")
CASES = {c.name: c for c in [  # steps and warm-up are those of one round
    Case("small", 1024, 2, 64, steps=60, warmup=10, rounds=5),
    Case("default", 1024, 8, 64, steps=25, warmup=5, rounds=5),
    Case("wide", 2048, 8, 256, steps=12, warmup=2, rounds=5),
    Case("large", 8192, 8, 64, steps=4, warmup=1, rounds=3),
]}


class Trouble(Exception):
    """Why it ends here, for the user, and with which exit code."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Trouble(f"{message}; see --help", 2)


def case_of(word):
    if word in CASES:
        return CASES[word]
    size = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", word)
    if not size:
        raise argparse.ArgumentTypeError(
            f"'{word}' is none of {', '.join(CASES)}, nor DIMxDEPTHxBATCH")
    return Case(word, *map(int, size.groups()), steps=25, warmup=5, rounds=5)


def cases_of(text):
    return [case_of(word) for word in text.split(",")]


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


def plural(n, noun):
    return f"{n} {noun}{'s' * (n != 1)}"


def output(command):
    """What a program prints; Trouble with the last line that it said if it failed."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    except OSError as e:
        raise Trouble(f"{command[0]}: {e.strerror}")
    if done.returncode < 0:
        raise Trouble(f"{os.path.basename(command[0])} was ended by signal {-done.returncode}")
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise Trouble(said[-1])
    return done.stdout


def script(name, *arguments):
    return output([sys.executable, os.path.join(HERE, name), *arguments])


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
    print(f"PyTorch: {t['version']} (Python {t['python']}), eager, torch.compile off; {t['instructions']}; "
          f"BLAS {t['blas']}; oneDNN {t['onednn']}")
    if t["onednn_bf16"] is False:
        print("         on this CPU it does not use oneDNN for bf16, but loops of its own")
    print(f"load:    {d['kolm'].get('load', 'unknown')}", flush=True)


def check(kolm, folder):
    """PyTorch recomputes two short runs, on one rank and on eight. Whether it agrees, and how many
    cores kolm sees."""
    grids = {"one-rank": [], "2x2x2": ["--dp", 2, "--pp", 2, "--mp", 2, "--micro-batches", 4]}
    run = os.path.join(folder, "run")
    for name, grid in grids.items():
        output([kolm, "train", "--dim", 64, "--depth", 4, "--steps", 20, "--quiet", "--optimizer", "momentum",
                "--run-dir", run, "--overwrite", "--dump-check", os.path.join(folder, name), *grid])
    with open(os.path.join(run, "summary.json")) as f:
        cores = json.load(f)["cores"]
    checked = subprocess.run([sys.executable, os.path.join(HERE, "check.py"), *grids], cwd=folder)
    return checked.returncode == 0, cores


class Comparison:
    """One case on so many ranks: its rounds, and what is to be said about them."""

    def __init__(self, kolm, folder, case, ranks, threads, limit):
        self.kolm, self.folder, self.limit = kolm, folder, limit
        self.case, self.ranks, self.threads = case, ranks, threads
        # DistributedDataParallel over gloo is compared in fp32.
        self.contenders = CONTENDERS if ranks == 1 else ["kolm_fp32", "torch_fp32"]
        self.rounds, self.notes, self.updates = [], [], collections.Counter()
        self.left_out = set()

    def size(self):
        c = self.case
        return ["--dim", c.dim, "--depth", c.depth, "--batch", c.batch, "--steps", c.steps,
                "--warmup", c.warmup, "--threads", self.threads]

    def time_kolm(self, precision):
        run = os.path.join(self.folder, "run")
        output([self.kolm, "train", *self.size(), "--data", "noise", "--dp", self.ranks, "--precision", precision,
                "--quiet", "--run-dir", run, "--overwrite"])
        with open(os.path.join(run, "metrics.jsonl")) as f:
            rows = [json.loads(line) for line in f]
        return [r["step_ms"] for r in rows if not r["warmup"]]

    def time_torch(self, precision):
        """None if bf16 does not work: there are CPUs and versions without."""
        try:
            result = json.loads(script("time_step.py", *self.size(), "--ranks", self.ranks,
                                       "--precision", precision, "--seconds", self.limit))
        except Trouble as t:
            if precision == "fp32":
                raise Trouble(f"PyTorch, {self.title()}: {t}")
            self.notes.append(f"PyTorch can't train in bf16 here: {t}")
            self.left_out.add(f"torch_{precision}")
            return None
        self.updates[result["update"]] += 1
        if not result["warm"]:
            self.notes.append(f"PyTorch in {precision}: one step in round {len(self.rounds) + 1} and none in later ones, "
                              f"since --seconds {self.limit:g} were over before its warm-up was")
            self.left_out.add(f"torch_{precision}")
        return result["step_ms"]

    def run_round(self):
        times = {}
        for who in self.contenders:
            program, precision = who.split("_")
            if who in self.left_out:
                continue
            measured = self.time_kolm(precision) if program == "kolm" else self.time_torch(precision)
            if measured:
                times[who] = measured
        self.rounds.append(times)

    def title(self):
        c = self.case
        return f"dim {c.dim}, depth {c.depth}, batch {c.batch}"

    def to_json(self):
        return {"case": self.case.name, "dim": self.case.dim, "depth": self.case.depth, "batch": self.case.batch,
                "ranks": self.ranks, "threads": self.threads, "optimizer": "sgd",
                "ms": medians(self.rounds), "ratios": ratios(self.rounds), "rounds": self.rounds,
                "torch_updates": dict(self.updates), "notes": self.notes}

    def print(self):
        ms, ratio = medians(self.rounds), ratios(self.rounds)
        peer = "PyTorch" if self.ranks == 1 else "DDP over gloo"
        rows = [("ms per step", "fp32", "bf16", "fp32 / bf16")]
        for name, program in ("kolm", "kolm"), (peer, "torch"):
            rows.append((name, *(show_ms(ms.get(f"{program}_{p}")) for p in ("fp32", "bf16")),
                         show_ratio(ratio.get(program))))
        rows.append((f"{peer} / kolm", show_ratio(ratio.get("fp32")), show_ratio(ratio.get("bf16")), ""))
        columns = 4 if self.ranks == 1 else 2
        print(f"\n{self.case.name}: {self.title()}; {plural(len(self.rounds), 'round')}")
        for row in rows:
            print(f"  {row[0]:20}" + "".join(f"{cell:>22}" for cell in row[1:columns]).rstrip())
        for note in self.notes:
            print(f"  {note}")
        print(f"  PyTorch's updates: {', '.join(f'{way} {n}' for way, n in self.updates.items())}", flush=True)


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
    parser.add_argument("--cases", type=cases_of, default="small,default,wide,large",
                        help="which, with commas between; also DIMxDEPTHxBATCH (default: %(default)s)")
    parser.add_argument("--rounds", type=positive, help="of every case (default: 5, large 3)")
    parser.add_argument("--ranks", type=lambda text: [positive(n) for n in text.split(",")], default="1,2",
                        help="how many, one after the other; 1: fp32 and bf16, more: fp32 against "
                        "DistributedDataParallel (default: %(default)s)")
    parser.add_argument("--threads", type=positive, help="for all ranks together (default: a thread per core)")
    parser.add_argument("--seconds", type=seconds, default=30.0,
                        help="on one rank PyTorch begins no step of a round after that many; if that is in "
                        "the warm-up, its last step counts, and it is left out of further rounds (default: %(default)g)")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured; see table.py")
    return parser.parse_args()


def compare(a, folder):
    kolm = os.path.abspath(a.kolm)
    document = {"schema": "kolm.peers/1", "cpu": cpu_model(), "kolm": describe_kolm(kolm),
                "torch": describe_torch(), "agrees": False, "comparisons": []}
    write_json(a.json, document)
    print_machine(document)
    document["agrees"], cores = check(kolm, folder)
    for ranks in a.ranks:
        threads = max(1, (a.threads or cores) // ranks)
        print(f"\n{plural(ranks, 'rank')}, {plural(threads, 'thread')} each (PyTorch's default is "
              f"{document['torch']['default_threads']}), SGD; medians of the rounds, ratios with lowest..highest")
        for case in a.cases:
            c = Comparison(kolm, folder, case, ranks, threads, a.seconds)
            for _ in range(a.rounds or case.rounds):
                c.run_round()
            c.print()
            document["comparisons"].append(c.to_json())
            write_json(a.json, document)
    return 0 if document["agrees"] else 1


def main():
    try:
        a = parse()
        with tempfile.TemporaryDirectory() as folder:
            return compare(a, folder)
    except Trouble as t:
        print(f"compare.py: {t}", file=sys.stderr)
        return t.code
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
