"""A GPT, trained by kolm and by PyTorch in turn: tokens per second, share of the peak, memory.

PyTorch runs eagerly and by torch.compile in the first round, in the faster of both ways in those
that follow.
"""
import collections
import json
import os
import statistics

from comparison import Comparison, plural
from programs import Trouble, peak_kb, script
from timings import medians, ratios, show_ratio, show_speed, speeds

GPTCase = collections.namedtuple("GPTCase", "name layers heads dim context vocab batch steps warmup rounds")
GPT_CASES = [  # steps and warm-up are those of one round
    GPTCase("gpt-nano", 4, 4, 128, 64, 65, 12, steps=60, warmup=10, rounds=5),
    GPTCase("gpt-char", 6, 6, 384, 256, 65, 8, steps=7, warmup=2, rounds=5),
    GPTCase("gpt2-64", 12, 12, 768, 64, 50257, 4, steps=6, warmup=2, rounds=3),
    GPTCase("gpt2-256", 12, 12, 768, 256, 50257, 4, steps=4, warmup=1, rounds=3),
]
# The same of both.
TRAINING = ["--optimizer", "adamw", "--lr", 1e-3, "--beta2", 0.99, "--weight-decay", 0.1, "--clip-grad", 1]


class GPTComparison(Comparison):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ways = {}  # of a precision: the options of the faster way
        self.tried = collections.defaultdict(dict)
        self.peaks, self.shares = collections.defaultdict(list), collections.defaultdict(list)

    def size(self):
        c = self.case
        return ["--layers", c.layers, "--heads", c.heads, "--dim", c.dim, "--context", c.context, "--vocab", c.vocab,
                "--batch", c.batch, "--steps", c.steps, "--warmup", c.warmup, "--threads", self.threads]

    def title(self):
        c = self.case
        return f"{c.layers} layers, {c.heads} heads, dim {c.dim}, context {c.context}, batch {c.batch}, vocabulary {c.vocab}"

    def tokens(self):
        return self.case.batch * self.case.context

    def time_kolm(self, precision):
        run = os.path.join(self.folder, "run")
        # Replicas share the optimizer's work: the same training, and what a user of kolm would do.
        grid = ["--dp", self.ranks, "--zero", 1] if self.ranks > 1 else []
        peak = peak_kb([self.kolm, "train", "--model", "gpt", *self.size(), *TRAINING, *grid, "--data", "noise",
                        "--precision", precision, "--quiet", "--run-dir", run, "--overwrite"])
        with open(os.path.join(run, "summary.json")) as f:
            summary = json.load(f)
        with open(os.path.join(run, "metrics.jsonl")) as f:
            rows = [json.loads(line) for line in f]
        self.peaks[f"kolm_{precision}"].append(peak)
        self.shares[precision].append(summary["gflops"] / summary["peak_gflops"])
        return [r["step_ms"] for r in rows if not r["warmup"]]

    def run_torch(self, precision, compiled):
        return json.loads(script("time_language.py", *self.size(), "--ranks", self.ranks, "--precision", precision,
                                 "--seconds", self.limit, *["--compile"] * compiled))

    def compiled(self, precision):
        """Steps by torch.compile; None where it does not work."""
        try:
            return self.run_torch(precision, True)
        except Trouble as t:
            self.notes.append(f"torch.compile does not work here, in {precision}: {t}")
            return None

    def first_torch(self, precision):
        """Both ways; what the faster one took."""
        results = {"eager": self.run_torch(precision, False), "compiled": self.compiled(precision)}
        results = {way: r for way, r in results.items() if r}
        self.tried[precision] = {way: statistics.median(r["step_ms"]) for way, r in results.items()}
        self.ways[precision] = min(self.tried[precision], key=self.tried[precision].get)
        return results[self.ways[precision]]

    def torch_result(self, precision):
        way = self.ways.get(precision)
        result = self.run_torch(precision, way == "compiled") if way else self.first_torch(precision)
        self.peaks[f"torch_{precision}"].append(result["peak_kb"])
        return result

    def to_json(self):
        sizes = self.case._asdict()
        return {"case": sizes.pop("name"), "model": "gpt", **sizes, "ranks": self.ranks, "threads": self.threads, "optimizer": "adamw",
                "ms": medians(self.rounds), "tokens_per_s": speeds(self.rounds, self.tokens()), "ratios": ratios(self.rounds),
                "share_of_peak": {p: statistics.median(v) for p, v in self.shares.items()},
                "peak_mb": {who: statistics.median(v) / 1024 for who, v in self.peaks.items()}, "torch_ways": self.ways,
                "torch_tried_ms": dict(self.tried), "rounds": self.rounds,
                "torch_updates": dict(self.updates), "notes": self.notes}

    def print(self):
        d = self.to_json()
        peer = "PyTorch" if self.ranks == 1 else "DDP over gloo"
        types = self.types
        rows = [("tokens per second", types)]
        for name, program in ("kolm", "kolm"), (peer, "torch"):
            rows.append((name, [show_speed(d["tokens_per_s"].get(f"{program}_{t}")) for t in types]))
        rows.append((f"kolm / {peer}", [show_ratio(d["ratios"].get(t)) for t in types]))
        rows.append((f"{peer} was", [self.ways.get(t, "-") for t in types]))
        rows.append(("kolm's share of peak", [f"{d['share_of_peak'][t]:.2f}" if t in d["share_of_peak"] else "-" for t in types]))
        for name, program in ("kolm", "kolm"), (peer, "torch"):
            rows.append((f"MB, {name}", [f"{d['peak_mb'].get(f'{program}_{t}', 0):.0f}" for t in types]))
        print(f"\n{self.case.name}: {self.title()}; {plural(len(self.rounds), 'round')}")
        for name, cells in rows:
            print(f"  {name:22}" + "".join(f"{cell:>26}" for cell in cells))
        self.print_notes()
