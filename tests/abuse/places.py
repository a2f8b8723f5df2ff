"""places.py - where kolm runs: disks that are full, folders that are forbidden, vanish or are
shared, limits that are too small, streams that are closed."""
import os
import pty
import resource
import shutil
import signal
import subprocess
import termios
import time

import faults
import grids
from cage import NOBODY, Skip, flags

FAILED = {0, 1, 2}  # it may have been enough after all
SMALL = {"dim": 16, "depth": 4, "dp": 2, "pp": 2, "batch": 16, "steps": 4, "warmup": 0, "quiet": True}
READING = [["grid", "--dp", "2"], ["schedule", "--json"], ["devices"], ["doctor", "--json"], ["man"], ["completion"],
           ["--help"], ["train", "--help"], ["--version"], ["study", "list"], ["study", "show", "delay"]]


def finished(process, seconds=5):
    """Its outcome; what is not done by then is asked to end."""
    process.wait_for(lambda: False, seconds)
    if process.running():
        process.codes |= {143}
        process.signal(signal.SIGTERM)
    return process.finish()


# ---- scenarios ----

def full_disk(case):
    """A message that says so, no half file, and the same works when there is space."""
    r, small = case.random, case.work / "small"
    case.mount(small, f"{r.choice([4, 8, 16, 24, 40, 64, 200])}k")
    options = {**grids.random_training(case, most=4), "trace": r.choice([1, 8, 100]),
               "steps": r.choice([2, 20, 20, 200])}
    if options["steps"] <= 20 and r.random() < 0.5:
        options["dump-check"] = "small/dump"
    outcome = case.kolm("train", *flags(options), "--run-dir", "small/run", codes={0, 1})
    if outcome.code == 1:
        outcome.says("No space left|full")
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    case.again(options, "small/run")


def forbidden(case):
    """A folder that can't be written, a file that can't be read: exit code 2 or 1, and said."""
    r = case.random
    options, how = {**SMALL, "run-dir": "shut/run"}, {}
    shut, way = case.work / "shut", r.choice(["read-only", "owner", "mode", "config", "data"])
    if way == "read-only":
        case.mount(shut, "1m")
        subprocess.run(["mount", "-o", "remount,ro", shut], check=True)
    else:
        if not case.world.nobody:
            raise Skip("another user is needed, whom root can be")
        shut.mkdir()
        (shut / "file").write_text("{}")
        (shut / "file").chmod(0o600 if way in ("config", "data") else 0o644)
        shut.chmod({"owner": 0o755, "mode": 0o000}.get(way, 0o777))
        how = {"user": NOBODY}
    if way in ("config", "data"):
        options.update({"config": "shut/file"} if way == "config" else {"data": "csv:shut/file"})
    outcome = case.kolm("train", *flags(options), codes={1, 2}, **how)
    outcome.says("Permission denied|Read-only|may not|not permitted")
    if way == "read-only":
        subprocess.run(["mount", "-o", "remount,rw", shut], check=True)
    shut.chmod(0o777)
    case.again(SMALL, "shut/run", **how) if way != "mode" else None


def limits(case):
    """A limit that is too small: one message, or it was enough."""
    r, user = case.random, None
    if not case.world.limited:
        raise Skip("a sanitizer does not go with limits")
    what, values = r.choice([
        (resource.RLIMIT_AS, [10**8, 4 * 10**8, 10**9, 4 * 10**9, 2 * 10**10, 6 * 10**10]),
        (resource.RLIMIT_FSIZE, [0, 100, 4096, 20000, 10**6]),
        (resource.RLIMIT_NOFILE, [3, 4, 5, 6, 8, 12, 20]),
        (resource.RLIMIT_NPROC, [0, 1, 2, 3, 5]),
        (resource.RLIMIT_STACK, [256 << 10, 1 << 20]),
        (resource.RLIMIT_DATA, [10**6, 10**7, 10**8]),
        (resource.RLIMIT_MEMLOCK, [0])])
    value = r.choice(values)
    if what == resource.RLIMIT_NPROC:
        if not case.world.nobody:
            raise Skip("another user is needed, whom root can be")
        user = NOBODY
    if not case.world.answers([(what, value)], user):
        return
    options = grids.random_training(case, most=8)
    case.kolm("train", *flags(options), "--run-dir", "run", codes=FAILED, limits=[(what, value)], user=user,
              stdout="pipe", stderr="pipe")
    case.again(options, user=user)


def streams(case):
    """Nothing is lost silently: output that can't be written is an error; input and messages
    do not matter."""
    r = case.random
    command = r.choice([*READING, ["train", *flags({**SMALL, "quiet": False}), "--run-dir", "run"],
                        ["train", *flags({**SMALL, "quiet": False}), "--log-format", "jsonl", "--run-dir", "run"],
                        ["verify", "--dim", "8", "--dp", "2", "--steps", "2"],
                        ["max-batch", "--dim", "8", "--device-memory", "1MB"]])
    stream, kind = r.choice(["stdin", "stdout", "stdout", "stderr"]), r.choice(["closed", "full", "broken"])
    spoils = stream == "stdout"
    outcome = case.kolm(*command, codes={1} if spoils else {0}, **{stream: kind})
    if spoils:
        outcome.says("standard output")


def vanish(case):
    """The run folder goes away, or something else comes to be in its place."""
    r, run = case.random, case.work / "run"
    options = faults.long_training(case, most=4)
    process = case.start("train", *flags(options), "--run-dir", "run", codes={1, 143})
    process.wait_for(lambda: process.steps() >= r.choice([1, 4]))
    way = r.choice(["remove", "move", "file", "metrics", "link"])
    case.note(f"the run folder: {way}")
    if way == "metrics":
        (run / "metrics.jsonl").unlink(missing_ok=True)
    elif run.exists():
        run.rename(case.work / "moved")
        case.spoilt.add(case.work / "moved")  # its summary is written elsewhere
        if way == "remove":
            shutil.rmtree(case.work / "moved")
        elif way == "file":
            run.write_text("mine\n")
        elif way == "link":
            (case.work / "other").mkdir()
            run.symlink_to("other")
            case.spoilt.add(case.work / "other")
    time.sleep(r.random() / 10)
    process.signal(signal.SIGTERM)
    process.left = way != "metrics"  # its job.json is where it was moved to
    process.finish(20)
    if way == "file":
        case.demand("the file that was there is kept", run.read_text() == "mine\n", run.read_text()[:80])
        run.unlink()
    if way == "link":
        run.unlink()
    shutil.rmtree(case.work / "moved", ignore_errors=True)
    case.again(options)


def two_runs(case):
    """The second one into the same folder is refused and told by whom; the first goes on."""
    r = case.random
    options = faults.long_training(case, most=4)
    first = case.start("train", *flags(options), "--run-dir", "run", codes={143})
    if r.random() < 0.7:
        first.wait_for(lambda: first.steps() >= 1)
    else:
        first.wait_for((case.work / "run").exists)
    over = ["--overwrite"] if "--overwrite" in case.world.train_help and r.random() < 0.5 else []
    second = case.start("train", *flags({**options, "steps": 3}), "--run-dir", "run", *over, codes={1, 2})
    outcome = second.finish(20)
    outcome.says(rf"\b({first.popen.pid}|{'|'.join(map(str, first.ranks() or [0]))})\b")
    before = first.steps()
    first.wait_for(lambda: first.steps() > before + 1)
    first.signal(signal.SIGTERM)
    first.finish(20)


def race(case):
    """Several at the same moment: one of them has the folder, and has it for itself."""
    r = case.random
    options = {**grids.random_training(case, most=2), "steps": r.choice([3, 50])}
    over = ["--overwrite"] if "--overwrite" in case.world.train_help and r.random() < 0.5 else []
    runs = [case.start("train", *flags({**options, "seed": k}), "--run-dir", "run", *over, codes=FAILED)
            for k in range(r.choice([2, 3, 4]))]
    outcomes = [run.finish() for run in runs]
    case.demand("one of them trains", any(o.code == 0 for o in outcomes), str([o.code for o in outcomes]))


def symlinks(case):
    """A link in the place of a file of the run: what it points to is not touched."""
    r, run, victim = case.random, case.work / "run", case.work / "victim"
    run.mkdir()
    precious = '{"step": 0}\n'  # it could be anybody's
    victim.write_text(precious)
    name = r.choice(["config.json", "command.txt", "metrics.jsonl", "summary.json", "timeline.json", "job.json", "lock",
                     ".lock", "dump/initial.safetensors", "dump/check.json", "dump"])
    target = r.choice([victim, case.work / "nowhere", case.work, run / name])
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).symlink_to(target)
    case.note(f"run/{name} -> {target.name}")
    before = sorted(os.listdir(case.work))
    over = {"overwrite": True} if "--overwrite" in case.world.train_help and r.random() < 0.5 else {}
    if name == "metrics.jsonl" and not over:
        case.spoilt.add(run)  # refused: what is there is the link
    process = case.start("train", *flags({**SMALL, **over}), "--run-dir", "run", "--dump-check", "run/dump",
                         codes=FAILED)
    outcome = process.finish()
    outcome.demand("what a link points to is kept", victim.read_text() == precious, f"{name} -> {target}")
    outcome.demand("nothing comes to be behind a link", sorted(os.listdir(case.work)) == before or name == "dump",
                   f"{name} -> {target}: {sorted(os.listdir(case.work))}")


def terminal(case):
    """A screen on a terminal of any size, which changes, and which may go away."""
    r = case.random
    master, slave = pty.openpty()
    sizes = [(24, 80), (0, 0), (1, 1), (3, 20), (200, 500)]
    termios.tcsetwinsize(master, r.choice(sizes))
    options = {**faults.long_training(case, most=6), "quiet": False}
    process = case.start("train", *flags(options), "--progress", r.choice(["auto", "screen", "ranks"]), "--run-dir", "run",
                         env={"TERM": r.choice(["xterm", "linux", "vt100"])}, codes={129, 130, 1},
                         stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    os.set_blocking(master, False)
    wanted, change = r.choice([1, 10, 50]), r.choice([True, False])

    def watch():
        try:
            os.read(master, 65536)
        except OSError:  # nothing there, or nobody any more
            pass
        if change:
            termios.tcsetwinsize(master, r.choice(sizes))
        return process.steps() >= wanted

    process.wait_for(watch)
    case.note(f"the terminal: {'Ctrl-C' if (asked := r.random() < 0.5) else 'closed'}")
    if asked:
        os.write(master, b"\x03")
        process.wait_for(lambda: watch() and False, 10)
    os.close(master)
    process.finish(20)
    case.again({**options, "quiet": True})


SCENARIOS = [terminal, full_disk, forbidden, limits, streams, vanish, two_runs, race, symlinks]
