#!/usr/bin/env python3
"""kolm generate and transformers' generate side by side: tokens per second of one sequence.

The weights are random ones of kolm's, handed over by kolm export --hf. In every round both write in
turn, in fp32 and in bf16, always the likeliest token, with keys and values remembered. transformers runs
eagerly and by torch.compile in the first round, in the faster of both ways in those that follow.
A token reads every weight once, so what can be had is the bandwidth of the memory: kolm bench peak. Exit code 0;
1 if a run failed; 2 if it could not begin.
"""
import argparse
import collections
import json
import os
import statistics
import sys

from compare import Parser, cpu_model, describe_kolm, positive, write_json
from comparison import plural
from programs import Trouble, output, run_comparison, script
from timings import CONTENDERS, ratios, show_ratio, show_speed, speeds

Case = collections.namedtuple("Case", "name layers heads dim context vocab")
CASES = {c.name: c for c in [Case("char", 6, 6, 384, 256, 65), Case("gpt2", 12, 12, 768, 1024, 50257)]}
BYTES = {"fp32": 4, "bf16": 2}
PROMPT = "1,2,3"


def cases_of(text):
    unknown = [word for word in text.split(",") if word not in CASES]
    if unknown:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of {', '.join(CASES)}")
    return [CASES[word] for word in text.split(",")]


def weights_read(case):
    """By a token: all but the positions, of which it needs one row."""
    c = case
    return c.layers * (12 * c.dim ** 2 + 13 * c.dim) + (c.vocab + 3) * c.dim


def bandwidth(kolm):
    """What all cores read, bytes per second."""
    rows = json.loads(output([kolm, "bench", "peak", "--json"]))["rows"]
    return rows[-1]["read_gb_per_s"] * 1e9


class Writers:
    """One case: its rounds, and what is to be said about them."""

    def __init__(self, kolm, folder, case, tokens, threads):
        self.kolm, self.case, self.tokens, self.threads = kolm, case, tokens, threads
        self.run, self.hf = os.path.join(folder, case.name), os.path.join(folder, case.name + ".hf")
        self.rounds, self.ways, self.notes, self.ids, self.bandwidths = [], {}, [], {}, []

    def make(self):
        c = self.case
        output([self.kolm, "train", "--model", "gpt", "--layers", c.layers, "--heads", c.heads, "--dim", c.dim, "--context", c.context,
                "--vocab", c.vocab, "--batch", 1, "--steps", 1, "--warmup", 0, "--optimizer", "sgd", "--save", "--quiet", "--run-dir", self.run])
        output([self.kolm, "export", self.run, "--hf", self.hf])

    def time_kolm(self, precision):
        said = json.loads(output([self.kolm, "generate", self.run, "--prompt-ids", PROMPT, "--tokens", self.tokens, "--temperature", 0,
                                  "--precision", precision, "--threads", self.threads, "--json", "--quiet"]))
        self.ids[f"kolm_{precision}"] = said["ids"]
        return [said["ms"]]

    def run_torch(self, precision, way):
        return json.loads(script("time_generate.py", self.hf, "--prompt-ids", PROMPT, "--tokens", self.tokens, "--precision", precision,
                                 "--threads", self.threads, *["--compile"] * (way == "compiled")))

    def time_torch(self, precision):
        if precision in self.ways:
            result = self.run_torch(precision, self.ways[precision])
        else:
            results = {"eager": self.run_torch(precision, "eager")}
            try:
                results["compiled"] = self.run_torch(precision, "compiled")
            except Trouble as t:
                self.notes.append(f"torch.compile does not work here, in {precision}: {t}")
            self.ways[precision] = min(results, key=lambda way: statistics.median(results[way]["ms"]))
            result = results[self.ways[precision]]
        self.ids[f"torch_{precision}"] = result["ids"]
        return result["ms"]

    def run_round(self):
        times = {}
        self.bandwidths.append(bandwidth(self.kolm))
        for who in CONTENDERS:
            program, precision = who.split("_")
            times[who] = self.time_kolm(precision) if program == "kolm" else self.time_torch(precision)
        self.rounds.append(times)

    def agreed(self, precision):
        """How many of the first tokens are the same."""
        pairs = zip(self.ids[f"kolm_{precision}"], self.ids[f"torch_{precision}"])
        return next((i for i, (a, b) in enumerate(pairs) if a != b), self.tokens)

    def shares(self, of):
        """Of the bandwidth, by kolm and by transformers."""
        size, most = weights_read(self.case), statistics.median(self.bandwidths)
        return {who: s["median"] * size * BYTES[who.split("_")[1]] / most for who, s in of.items()}

    def to_json(self):
        of = speeds(self.rounds, self.tokens - 1)  # the first one comes with the prompt
        return {**self.case._asdict(), "tokens": self.tokens, "threads": self.threads, "tokens_per_s": of, "ratios": ratios(self.rounds),
                "weights_read": weights_read(self.case), "read_gb_per_s": statistics.median(self.bandwidths) / 1e9,
                "share_of_bandwidth": self.shares(of), "torch_ways": self.ways, "rounds": self.rounds,
                "same_tokens": {p: self.agreed(p) for p in BYTES}, "notes": self.notes}

    def print(self):
        d, c = self.to_json(), self.case
        print(f"\n{c.name}: {c.layers} layers, {c.heads} heads, dim {c.dim}, vocabulary {c.vocab}; {self.tokens} tokens, "
              f"{plural(len(self.rounds), 'round')}; memory is read at {d['read_gb_per_s']:.1f} GB/s")
        rows = [("tokens per second", BYTES)]
        for name, program in ("kolm", "kolm"), ("transformers", "torch"):
            rows.append((name, [show_speed(d["tokens_per_s"][f"{program}_{p}"]) for p in BYTES]))
        rows.append(("kolm / transformers", [show_ratio(d["ratios"][p]) for p in BYTES]))
        for name, program in ("kolm", "kolm"), ("transformers", "torch"):
            rows.append((f"of the bandwidth, {name}", [f"{d['share_of_bandwidth'][f'{program}_{p}']:.2f}" for p in BYTES]))
        rows.append(("transformers was", [self.ways[p] for p in BYTES]))
        rows.append(("the same tokens, first", [str(d["same_tokens"][p]) for p in BYTES]))
        for name, cells in rows:
            print(f"  {name:32}" + "".join(f"{cell:>26}" for cell in cells))
        for note in self.notes:
            print(f"  {note}")
        sys.stdout.flush()


def versions():
    try:
        return output([sys.executable, "-c", "import torch, transformers; print(torch.__version__, transformers.__version__)"]).split()
    except Trouble as t:
        raise Trouble(f"no transformers with PyTorch for {sys.executable}: {t}; choose another Python with "
                      "make bench-generate PEER_PYTHON=...; see docs/peers.md", 2)


def parse():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kolm", default="build/kolm", help="the binary (default: %(default)s)")
    parser.add_argument("--cases", type=cases_of, default=",".join(CASES), help="which, with commas between (default: %(default)s)")
    parser.add_argument("--tokens", type=positive, default=200, help="to write (default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=3, help="of every case (default: %(default)s)")
    parser.add_argument("--threads", type=positive, default=len(os.sched_getaffinity(0)), help="of both (default: a thread per core)")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured")
    return parser.parse_args()


def compare(a, folder):
    kolm = os.path.abspath(a.kolm)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "compiled")  # for all rounds
    document = {"schema": "kolm.writers/1", "cpu": cpu_model(), "kolm": describe_kolm(kolm)}
    torch, transformers = versions()
    document.update({"torch": torch, "transformers": transformers, "comparisons": []})
    write_json(a.json, document)
    print(f"CPU:          {document['cpu']}\nkolm:         {document['kolm']['version']}; {document['kolm']['cpu']}")
    print(f"transformers: {transformers}, PyTorch {torch}\nload:         {document['kolm'].get('load', 'unknown')}", flush=True)
    for case in a.cases:
        writers = Writers(kolm, folder, case, a.tokens, a.threads)
        writers.make()
        for _ in range(a.rounds):
            writers.run_round()
        writers.print()
        document["comparisons"].append(writers.to_json())
        write_json(a.json, document)
    return 0


if __name__ == "__main__":
    sys.exit(run_comparison("generate.py", parse, compare))
