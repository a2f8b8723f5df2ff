"""invariants.py - what must hold when a command is over, whatever has happened to it.

An invariant takes the outcome of a command and returns what it saw that must not be, or
nothing. INVARIANTS is the list; check() asks them all.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

GRACE = 5  # seconds until the last process of a command that has ended is gone
DOCUMENTED = {0, 1, 2, 129, 130, 143}
CRASHES = {128 + number for number in (signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE,
                                       signal.SIGSEGV, signal.SIGSYS)}
WORDS_OF_A_CRASH = re.compile(r"Assertion|Sanitizer|runtime error:|\bBUG\b|stack smashing|double free|corrupted "
                              r"|free\(\): |malloc\(\): |core dumped|ended without a message")
RUN_FILES = ("config.json", "command.txt", "metrics.jsonl")


class Outcome:
    """How a command ended and what it said."""

    def __init__(self, process, code, seconds):
        self.process, self.case, self.seconds = process, process.case, seconds
        self.died = code is not None and code < 0  # of a signal, itself
        self.code = 128 - code if self.died else code
        self.out = read(process.out)
        self.err = read(process.err)

    @property
    def messages(self):
        return [line for line in self.err.splitlines()
                if line.startswith("kolm: ") and not line.startswith("kolm: warning: ")]

    @property
    def warnings(self):
        return [line for line in self.err.splitlines() if line.startswith("kolm: warning: ")]

    def demand(self, what, holds, seen=""):
        self.case.demand(what, holds, f"{seen or 'not so'}; it said: {self.err[-1500:]}")

    def says(self, pattern):
        said = " ".join(self.messages)
        self.demand(f"says {pattern!r}", re.search(pattern, said), f"said {said!r}")


def read(path):
    try:
        return path.read_bytes().decode(errors="surrogateescape")
    except OSError:
        return ""


def parse(text):
    """Strict JSON: one document, no NaN, no name twice."""
    def constant(name):
        raise ValueError(f"{name} is not JSON")

    def pairs(items):
        if len({name for name, _ in items}) < len(items):
            raise ValueError(f"a name twice: {[name for name, _ in items]}")
        return dict(items)

    return json.loads(text, parse_constant=constant, object_pairs_hook=pairs)


# ---- one by one ----

def ends_in_time(o):
    if o.code is None:
        o.process.end()
        return f"still running after {o.seconds:.0f} s"


def right_exit_code(o):
    if o.code is not None and o.code not in o.process.codes:
        return f"{o.code} instead of {' or '.join(map(str, sorted(o.process.codes)))}"


def documented_exit_code(o):
    if o.code is not None and o.code not in DOCUMENTED | o.process.codes:
        return str(o.code)


def no_crash(o):
    if o.code in CRASHES - o.process.codes:
        return f"exit code {o.code}"
    found = WORDS_OF_A_CRASH.search(o.err) or WORDS_OF_A_CRASH.search(o.out)
    if found:
        return f"{found.group()!r} in its output"


def one_message(o):
    """Of a failure exactly one line, with all that is to be said; else none."""
    if o.code is None or not o.process.readable_err:
        return None
    most = 0 if o.code == 0 else 1
    # What dies of a signal can't speak, and mpirun speaks for a rank that is killed.
    least = 0 if o.died or (o.process.mpi and o.code > 128) else most
    said = o.messages
    if o.process.mpi and len(said) > 1:  # on another machine nobody knows more than that they were asked to end
        said = [line for line in said if not line.startswith("kolm: stopped by SIGTERM")]
    if not least <= len(said) <= most:
        return f"{len(o.messages)} messages with exit code {o.code}: {o.messages[:5]}"
    others = [line for line in o.err.splitlines() if line not in o.messages + o.warnings]
    if o.code == 2 and others and not o.process.mpi and any(o.process.args[:1]):
        return f"more than the message of wrong usage: {others[:3]}"


def readable_message(o):
    found = re.search(r"[\x00-\x08\x0b-\x1f\x7f]", o.err) if not o.process.mpi else None
    if found:
        return f"control character {found.group()!r} in {o.err[max(0, found.start() - 60):found.end() + 20]!r}"


def output_parses(o):
    """--json: one document, or nothing where it failed; --log-format jsonl: one per line."""
    words, documents = o.process.args, []
    if "--json" in words and (o.code == 0 or o.out):
        documents = [o.out]
    elif words[:1] == ["train"] and "jsonl" in words and words[words.index("jsonl") - 1] == "--log-format":
        documents = o.out.splitlines()
    if not o.process.out.exists() or "--help" in words or o.died:
        return None
    for document in documents:
        try:
            parse(document)
        except ValueError as error:
            return f"{error}: {document[:200]!r}"


def no_process_left(o):
    end = time.monotonic() + GRACE
    while left := o.process.all():
        if time.monotonic() > end:
            names = [read(pathlib.Path(f"/proc/{pid}/cmdline")).replace("\0", " ")[:80] for pid in left]
            o.process.end()
            return f"{len(left)} after {GRACE} s: {names[:3]}"
        time.sleep(0.01)


def nothing_left(o):
    """No temporary file or folder, nothing in shared memory; but what dies of a signal leaves
    that to the next start, and others may still be at work."""
    if o.died or o.process.left or any(p.running() for p in o.case.processes):
        return None
    left = [path for path in o.case.tmp.iterdir() if not o.process.mpi or path.name.startswith("kolm")]
    for folder, _, names in os.walk(o.case.work):
        if pathlib.Path(folder) not in o.case.spoilt:
            left += [pathlib.Path(folder, name) for name in names if name == "job.json" or ".tmp" in name]
    if o.case.world.private and not o.process.mpi:
        left += pathlib.Path("/dev/shm").iterdir()
    if left:
        return ", ".join(str(path) for path in left[:5])


def run_folders_are_whole(o):
    """Every line of metrics.jsonl is a step, in order; where there is a summary.json, the run
    is complete: all files are there, and they agree."""
    if any(p.running() for p in o.case.processes):
        return None
    for folder, _, names in os.walk(o.case.work):
        folder = pathlib.Path(folder)
        if "metrics.jsonl" not in names or folder in o.case.spoilt:
            continue
        try:
            wrong = look_into(folder, names, o.case.world.kolm)
        except (ValueError, KeyError, TypeError) as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            return f"{folder.name}: {wrong}"


def look_into(folder, names, kolm):
    lines = read(folder / "metrics.jsonl").splitlines(keepends=True)
    steps = [parse(line)["step"] for line in lines]
    if steps != sorted(set(steps)) or (steps and steps[0] != 0):
        return f"steps {steps[:12]}... in metrics.jsonl"
    if lines and not lines[-1].endswith("\n"):
        return "half a line in metrics.jsonl"
    if "summary.json" not in names:
        return None
    missing = [name for name in RUN_FILES if name not in names]
    if missing:
        return f"a summary but no {missing}"
    summary, config = parse(read(folder / "summary.json")), parse(read(folder / "config.json"))
    if summary["schema"] != "kolm.summary/1":
        return f"schema {summary['schema']}"
    done, whole = summary["steps"], not summary["interrupted"]
    every = config["log_every"] or -(-config["steps"] // 10000)
    first = 0 if config["log_every"] else min(done, 1000)
    wanted = {*range(first), *range(0, done, every), *([done - 1] if whole and done else [])}
    if not wanted <= set(steps) <= set(range(done)) or (every == 1 and len(steps) != done):
        return f"{len(steps)} lines, {done} steps in the summary, of which each {every}th is written down"
    if whole and done != config["steps"] and not (summary["stopped_early"] or summary["diverged"]):
        return f"{done} steps in the summary, {config['steps']} wanted"
    grid = summary["grid"]
    if not len(summary["per_rank"]) == summary["ranks"] == grid["dp"] * grid["pp"] * grid["mp"]:
        return f"{len(summary['per_rank'])} of {summary['ranks']} ranks in the summary of {grid}"
    if config["trace"] and "timeline.json" not in names and not summary["interrupted"]:
        return "a summary, but no timeline.json"
    if "timeline.json" in names:
        parse(read(folder / "timeline.json"))
        traced = subprocess.run([kolm, "trace", folder, "--json"], capture_output=True, text=True, timeout=60)
        if traced.returncode:
            return f"kolm trace: exit code {traced.returncode}, {traced.stderr[-300:]}"
        parse(traced.stdout)


INVARIANTS = {
    "ends in time": ends_in_time,
    "the right exit code": right_exit_code,
    "a documented exit code": documented_exit_code,
    "no crash": no_crash,
    "one message": one_message,
    "readable messages": readable_message,
    "output that parses": output_parses,
    "no process left": no_process_left,
    "nothing left behind": nothing_left,
    "run folders are whole": run_folders_are_whole,
}


def check(outcome):
    """All that is broken, as (what must hold, what was seen)."""
    found = [(what, holds(outcome)) for what, holds in INVARIANTS.items()]
    return [(what, seen) for what, seen in found if seen]
