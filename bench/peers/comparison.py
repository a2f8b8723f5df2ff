"""A stack of linear layers, trained by kolm and by PyTorch in turn."""
import collections
import json
import os

from programs import Trouble, output, script
from timings import CONTENDERS, medians, ratios, show_ms, show_ratio

Case = collections.namedtuple("Case", "name dim depth batch steps warmup rounds")


def plural(n, noun):
    return f"{n} {noun}{'s' * (n != 1)}"


class Comparison:
    """One case on so many ranks: its rounds, and what is to be said about them."""

    def __init__(self, kolm, folder, case, ranks, threads, limit, precisions):
        self.kolm, self.folder, self.limit = kolm, folder, limit
        self.case, self.ranks, self.threads = case, ranks, threads
        # DistributedDataParallel over gloo is compared in fp32.
        self.types = precisions if ranks == 1 else ["fp32"]
        self.contenders = [who for who in CONTENDERS if who.split("_")[1] in self.types]
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

    def torch_result(self, precision):
        return json.loads(script("time_step.py", *self.size(), "--ranks", self.ranks,
                                 "--precision", precision, "--seconds", self.limit))

    def time_torch(self, precision):
        """None if bf16 does not work: there are CPUs and versions without."""
        try:
            result = self.torch_result(precision)
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
        rows = [("ms per step", *self.types, "fp32 / bf16")]
        for name, program in ("kolm", "kolm"), (peer, "torch"):
            rows.append((name, *(show_ms(ms.get(f"{program}_{p}")) for p in self.types), show_ratio(ratio.get(program))))
        rows.append((f"{peer} / kolm", *(show_ratio(ratio.get(p)) for p in self.types), ""))
        columns = 4 if len(self.types) == 2 else 2
        print(f"\n{self.case.name}: {self.title()}; {plural(len(self.rounds), 'round')}")
        for row in rows:
            print(f"  {row[0]:20}" + "".join(f"{cell:>22}" for cell in row[1:columns]).rstrip())
        self.print_notes()

    def print_notes(self):
        for note in self.notes:
            print(f"  {note}")
        print(f"  PyTorch's updates: {', '.join(f'{way} {n}' for way, n in self.updates.items())}", flush=True)
