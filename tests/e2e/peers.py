"""What bench/peers says follows from its timings: made-up ones, so nobody needs PyTorch for this."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "peers"))
import compare  # noqa: E402
import comparison  # noqa: E402
import comparison_gpt  # noqa: E402
import generate  # noqa: E402
import programs  # noqa: E402
import table  # noqa: E402
from timings import CONTENDERS, medians, ratios, show_ms, show_ratio  # noqa: E402


def made_up_round(mood):
    """Steps of a round in which the machine takes mood times as long for everything; one step of
    each is disturbed."""
    ms = {"kolm_fp32": 2, "torch_fp32": 6, "kolm_bf16": 1, "torch_bf16": 8}
    return {who: [mood * t, mood * t, mood * t * 50] for who, t in ms.items()}


class Timings(unittest.TestCase):
    def test_moods_do_not_matter(self):
        for moods in [1], [1, 10], [3, 1, 2], [1, 100, 7, 0.1, 5]:
            for name, want in {"fp32": 3, "bf16": 8, "kolm": 2, "torch": 0.75}.items():
                got = ratios([made_up_round(m) for m in moods])[name]
                self.assertEqual(got["rounds"], len(moods))
                for value in "median", "min", "max":
                    self.assertAlmostEqual(got[value], want)

    def test_medians_are_of_rounds(self):
        rounds = [{"kolm_fp32": [1] * 99}, {"kolm_fp32": [3]}, {"kolm_fp32": [4, 2, 900]}]
        self.assertEqual(medians(rounds), {"kolm_fp32": 3})

    def test_spread(self):
        rounds = [{"kolm_fp32": [1], "torch_fp32": [t]} for t in (5, 2, 3)]
        self.assertEqual(ratios(rounds), {"fp32": {"median": 3, "min": 2, "max": 5, "rounds": 3}})
        self.assertEqual(show_ratio(ratios(rounds)["fp32"]), "3.00 (2.00..5.00)")

    def test_only_what_ran_in_one_round_is_compared(self):
        rounds = [{"kolm_fp32": [1], "torch_bf16": [9]}, {"kolm_bf16": [1]}, {}]
        self.assertEqual(ratios(rounds), {})
        self.assertEqual(medians(rounds), {"kolm_fp32": 1, "torch_bf16": 9, "kolm_bf16": 1})
        self.assertEqual((show_ratio(None), show_ms(None)), ("-", "-"))

    def test_digits(self):
        self.assertEqual([show_ms(v) for v in (0.5, 3.456, 34.56, 345.6, 77137)],
                         ["0.50", "3.46", "34.6", "346", "77137"])


class MadeUp(compare.Comparison):
    """kolm does not run; what PyTorch's script prints, or its trouble, is given."""

    def __init__(self, answers, ranks=1, precision="fp32,bf16"):
        super().__init__("kolm", "folder", compare.case_of("8x2x4"), ranks, 1, 30.0, compare.precisions_of(precision))
        self.answers, self.order = answers, []

    def time_kolm(self, precision):
        self.order.append(f"kolm_{precision}")
        return [1.0]

    def time_torch(self, precision):
        self.order.append(f"torch_{precision}")
        return super().time_torch(precision)

    def run(self, rounds):
        before = comparison.script
        comparison.script = self.answer
        try:
            for _ in range(rounds):
                self.run_round()
        finally:
            comparison.script = before
        return self

    def answer(self, _, *arguments):
        precision = arguments[arguments.index("--precision") + 1]
        if isinstance(self.answers[precision], Exception):
            raise self.answers[precision]
        return json.dumps({"update": "fused", "warm": True, **self.answers[precision]})

    def said(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.print()
        return out.getvalue()


class Rounds(unittest.TestCase):
    def test_in_turn(self):
        c = MadeUp({"fp32": {"step_ms": [2.0]}, "bf16": {"step_ms": [4.0]}}).run(3)
        self.assertEqual(c.order, 3 * CONTENDERS)
        self.assertIn("3 rounds", c.said())
        self.assertEqual(c.to_json()["ratios"]["bf16"]["median"], 4)

    def test_ranks_are_compared_in_fp32(self):
        c = MadeUp({"fp32": {"step_ms": [2.0]}}, ranks=2).run(1)
        self.assertEqual(c.order, ["kolm_fp32", "torch_fp32"])
        self.assertNotIn("bf16", c.said())

    def test_one_type_only(self):
        for chosen, other in ("fp32", "bf16"), ("bf16", "fp32"):
            c = MadeUp({chosen: {"step_ms": [2.0]}}, precision=chosen).run(1)
            self.assertEqual(c.order, [f"kolm_{chosen}", f"torch_{chosen}"])
            self.assertIn("2.00 (2.00..2.00)", c.said())
            self.assertNotIn(other, c.said())
        self.assertEqual(compare.precisions_of("bf16,fp32"), ["fp32", "bf16"])
        for word in "fp16", "", "fp32,,bf16":
            with self.assertRaises(compare.argparse.ArgumentTypeError):
                compare.precisions_of(word)

    def test_no_bf16(self):
        c = MadeUp({"fp32": {"step_ms": [2.0]}, "bf16": compare.Trouble("RuntimeError: no such type")}).run(2)
        self.assertEqual(c.order, CONTENDERS + CONTENDERS[:3])
        self.assertEqual(c.said().count("PyTorch can't train in bf16 here: RuntimeError: no such type"), 1)
        self.assertEqual(set(c.to_json()["ratios"]), {"fp32", "kolm"})

    def test_no_fp32(self):
        with self.assertRaisesRegex(compare.Trouble, "PyTorch, dim 8, depth 2, batch 4: killed"):
            MadeUp({"fp32": compare.Trouble("killed")}).run(1)

    def test_slow_ones_run_once(self):
        c = MadeUp({"fp32": {"step_ms": [2.0]}, "bf16": {"step_ms": [5e4], "warm": False}}).run(3)
        self.assertEqual(c.order, CONTENDERS + 2 * CONTENDERS[:3])
        self.assertIn("one step in round 1 and none in later ones, since --seconds 30 were over", c.said())
        self.assertEqual(c.to_json()["ratios"]["bf16"]["rounds"], 1)


class MadeUpGPT(comparison_gpt.GPTComparison):
    """PyTorch's two ways take what is given; kolm 1 ms and 100 MB."""

    def __init__(self, eager, compiled):
        super().__init__("kolm", "folder", compare.case_of("gpt-1x2x8x16x65x4"), 1, 1, 30.0, ["fp32", "bf16"])
        self.took, self.order = {False: eager, True: compiled}, []

    def time_kolm(self, precision):
        self.peaks[f"kolm_{precision}"].append(100 * 1024)
        self.shares[precision].append(0.5)
        return [1.0]

    def run_torch(self, precision, compiled):
        self.order.append((precision, compiled))
        if isinstance(self.took[compiled], Exception):
            raise self.took[compiled]
        return {"update": "fused", "warm": True, "step_ms": [self.took[compiled]], "peak_kb": 300 * 1024}


class GPT(unittest.TestCase):
    def run_rounds(self, eager, compiled, rounds):
        c = MadeUpGPT(eager, compiled)
        for _ in range(rounds):
            c.run_round()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            c.print()
        return c, c.to_json(), out.getvalue()

    def test_the_faster_way_goes_on(self):
        for eager, compiled in (2.0, 4.0), (4.0, 2.0):
            c, document, said = self.run_rounds(eager, compiled, 3)
            both, then = [False, True], [compiled < eager]
            self.assertEqual([way for p, way in c.order if p == "bf16"], both + then + then)
            self.assertEqual(document["ratios"]["fp32"], {"median": 2, "min": 2, "max": 2, "rounds": 3})
            self.assertEqual(document["tokens_per_s"]["torch_fp32"]["median"], 32000)
            self.assertEqual(document["torch_tried_ms"]["bf16"], {"eager": eager, "compiled": compiled})
            self.assertIn("64,000 (64,000..64,000)", said)

    def test_no_compiler(self):
        c, document, said = self.run_rounds(3.0, compare.Trouble("no g++"), 2)
        self.assertEqual(document["torch_ways"], {"fp32": "eager", "bf16": "eager"})
        self.assertEqual(said.count("torch.compile does not work here, in fp32: no g++"), 1)
        self.assertEqual(document["peak_mb"], {"kolm_fp32": 100, "torch_fp32": 300, "kolm_bf16": 100, "torch_bf16": 300})

    def test_memory_of_all_processes(self):
        hold = "import time; x = bytearray(%d << 20); time.sleep(0.5)"
        program = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', '{hold % 90}']); {hold % 60}; p.wait()"
        self.assertGreater(programs.peak_kb([sys.executable, "-c", program]), 150 << 10)
        with self.assertRaisesRegex(compare.Trouble, "^ValueError: no$"):
            programs.peak_kb([sys.executable, "-c", "raise ValueError('no')"])


class MadeUpWriters(generate.Writers):
    """kolm writes 200 tokens in 100 ms, transformers by its two ways in what is given; memory gives 1 GB/s."""

    def __init__(self, eager, compiled):
        super().__init__("kolm", "folder", generate.Case("tiny", 1, 2, 8, 16, 17), 200, 1)
        self.took, self.order = {"eager": eager, "compiled": compiled}, []

    def time_kolm(self, precision):
        self.ids[f"kolm_{precision}"] = [1] * 200
        return [100.0]

    def run_torch(self, precision, way):
        self.order.append((precision, way))
        if isinstance(self.took[way], Exception):
            raise self.took[way]
        return {"ms": [self.took[way]], "ids": [1] * 150 + [2] * 50}

    def run_rounds(self, n):
        before, generate.bandwidth = generate.bandwidth, lambda kolm: 1e9
        try:
            for _ in range(n):
                self.run_round()
        finally:
            generate.bandwidth = before
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.print()
        return self.to_json(), out.getvalue()


class Generating(unittest.TestCase):
    def test_speed_and_bandwidth(self):
        w = MadeUpWriters(400.0, 200.0)
        d, said = w.run_rounds(2)
        self.assertEqual([way for p, way in w.order if p == "fp32"], ["eager", "compiled", "compiled"])
        self.assertEqual(d["tokens_per_s"]["kolm_fp32"]["median"], 1990)  # the first is the prompt's
        self.assertEqual(d["ratios"]["fp32"]["median"], 2)
        self.assertEqual(d["same_tokens"], {"fp32": 150, "bf16": 150})
        # A block: 12 matrices of dim x dim, 13 vectors; the table, and the last norm.
        self.assertEqual(d["weights_read"], 12 * 64 + 13 * 8 + 17 * 8 + 2 * 8 + 8)
        self.assertAlmostEqual(d["share_of_bandwidth"]["kolm_bf16"], 1990 * d["weights_read"] * 2 / 1e9)
        self.assertIn("2.00 (2.00..2.00)", said)

    def test_no_compiler(self):
        d, said = MadeUpWriters(400.0, compare.Trouble("no g++")).run_rounds(1)
        self.assertEqual(d["torch_ways"], {"fp32": "eager", "bf16": "eager"})
        self.assertEqual(said.count("torch.compile does not work here, in fp32: no g++"), 1)


class Table(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, version, comparisons):
        path = os.path.join(self.folder.name, f"{version}.json")
        with open(path, "w") as f:
            json.dump({"schema": "kolm.peers/1", "cpu": "abacus", "kolm": {"version": "1", "cpu": "wood"},
                       "torch": {"version": version, "blas": "beads"},
                       "comparisons": [c.to_json() for c in comparisons]}, f)
        return path

    def test_a_column_per_pytorch(self):
        new = MadeUp({"fp32": {"step_ms": [2.0]}, "bf16": {"step_ms": [4.0]}}).run(1)
        old = MadeUp({"fp32": {"step_ms": [5.0]}, "bf16": compare.Trouble("none")}).run(1)
        before, sys.argv = sys.argv, ["table.py", self.file("2.0", [new]), self.file("1.0", [old])]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(table.main(), 0)
        sys.argv = before
        self.assertIn("| case | type | kolm | PyTorch 2.0 (beads) | ratio | PyTorch 1.0 (beads) | ratio |", out.getvalue())
        self.assertIn("| fp32 | 1.00 | 2.00 | 2.00 (2.00..2.00) | 5.00 | 5.00 (5.00..5.00) |", out.getvalue())
        self.assertIn("| bf16 | 1.00 | 4.00 | 4.00 (4.00..4.00) | - | - |", out.getvalue())

    def test_tokens_per_second(self):
        c = MadeUpGPT(2.0, 4.0)
        c.run_round()
        before, sys.argv = sys.argv, ["table.py", self.file("2.0", [c])]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(table.main(), 0)
        sys.argv = before
        self.assertNotIn("ms per step", out.getvalue())
        self.assertIn("| 1 / 2 / 8, context 16, batch 4, vocabulary 65 | fp32 | 64,000 (64,000..64,000) | 0.50 | 100 (300) | "
                      "32,000 (32,000..32,000), eager | 2.00 (2.00..2.00) |", out.getvalue())


@unittest.skipUnless("amx_tile" in open("/proc/cpuinfo").read(), "this CPU has no AMX")
class Tiles(unittest.TestCase):
    """A script that SIGILL ends unless it is told of tiles; and one that it always ends."""
    NEEDY = "if 'show_tiles.so' not in open('/proc/self/maps').read(): os.kill(os.getpid(), signal.SIGILL)\n"
    HOPELESS = "os.kill(os.getpid(), signal.SIGILL)\n"

    def run_script(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w") as f:
                f.write("import os, signal\n" + text + "print('done', end='')\n")
            programs.Tiles.folder, programs.Tiles.environment = folder, {}
            try:
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    return programs.script(path), out.getvalue()
            finally:
                programs.Tiles.folder, programs.Tiles.environment = None, {}

    def test_it_is_told_once(self):
        said, note = self.run_script(self.NEEDY)
        self.assertEqual(said, "done")
        self.assertIn("does not tell how large its tiles are", note)
        self.assertEqual(self.run_script(""), ("done", ""))
        with self.assertRaises(programs.Trouble):
            self.run_script(self.HOPELESS)


if __name__ == "__main__":
    unittest.main()
