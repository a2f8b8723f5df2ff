"""faults.py - what happens to processes: killed, stopped, signalled, injected, at any moment."""
import json
import signal
import time

import grids
from cage import Skip, flags

ENDLESS = 1000000
FATAL = [signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL]
ASKING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def long_training(case, most=8, **more):
    """A small training that does not end by itself."""
    options = grids.random_training(case, most=most)
    for name in ("log-format", "breakdown", "threads"):
        options.pop(name, None)
    return {**options, "steps": ENDLESS, "quiet": True, **more}


def ranks_of(options):
    return options["dp"] * options["pp"] * options["mp"]


def place_of(options, rank):
    """The name of a rank in a message; mp goes fastest, then dp, then pp."""
    dp, mp = options["dp"], options["mp"]
    place = f" (dp{rank // mp % dp} pp{rank // mp // dp} mp{rank % mp})" if ranks_of(options) > 1 else ""
    return f"rank {rank} of {ranks_of(options)}{place} on ".replace("(", r"\(").replace(")", r"\)")


def wait_for_moment(case, process, ranks, folder="run"):
    """Any moment since the ranks exist, or after some steps, or while a file is written."""
    r, path = case.random, case.work / folder
    process.wait_for(lambda: len(process.ranks()) == ranks)
    moment = r.choice(["time", "steps", "writing"])
    if moment == "time":
        time.sleep(r.random() ** 3 / 2)
    elif moment == "steps":
        wanted = r.choice([1, 2, 5, 20])
        process.wait_for(lambda: process.steps(folder) >= wanted)
    else:
        process.wait_for(lambda: path.is_dir() and any(".tmp" in entry.name for entry in path.iterdir()), seconds=0.3)


# ---- scenarios ----

def kill_rank(case):
    """The supervisor names the rank and its place, ends the rest and exits with its code."""
    options, number = long_training(case), case.random.choice(FATAL)
    rank = case.random.randrange(ranks_of(options))
    process = case.start("train", *flags(options), "--run-dir", "run", codes={128 + number})
    wait_for_moment(case, process, ranks_of(options))
    process.signal(number, rank)
    outcome = process.finish(20)
    outcome.says(place_of(options, rank) + rf".* was ended by signal {int(number)} ")
    case.again(options)


def kill_rank_at_the_end(case):
    """When the last files are written, many of them large."""
    r = case.random
    options = {**long_training(case, most=4), "steps": r.choice([50, 300]), "trace": 1000}
    process = case.start("train", *flags(options), "--run-dir", "run", codes={0, 137})
    path = case.work / "run"
    process.wait_for(lambda: process.steps() >= options["steps"] - 1)
    process.wait_for(lambda: any(".tmp" in entry.name for entry in path.iterdir()), seconds=0.5)
    process.signal(signal.SIGKILL, r.choice([0, 0, r.randrange(ranks_of(options))]))
    process.finish(20)
    case.again(options)


def ask_rank(case):
    """A rank that is asked to end by somebody else goes on: it is the supervisor who decides."""
    options, asked = long_training(case), case.random.choice(ASKING)
    process = case.start("train", *flags(options), "--run-dir", "run", codes={143})
    process.wait_for(lambda: process.steps() >= 2)
    process.signal(asked, case.random.randrange(ranks_of(options)))
    before = process.steps()
    process.wait_for(lambda: process.steps() > before + 2)
    process.signal(signal.SIGTERM)
    process.finish(20).says("stopped by SIGTERM")


def ask(case):
    """Ctrl-C, SIGTERM, SIGHUP: what was measured is kept and the message says where."""
    r = case.random
    options, number = long_training(case), r.choice(ASKING)
    process = case.start("train", *flags(options), "--run-dir", "run", codes={128 + number})
    if r.random() < 0.9:
        wait_for_moment(case, process, ranks_of(options))
    else:
        time.sleep(r.random() / 50)  # before there are ranks
    process.signal(number)
    if r.random() < 0.3:
        time.sleep(r.random())
        process.signal(r.choice(ASKING))
    outcome = process.finish(20)
    if not outcome.died:
        outcome.says("stopped by " + ("Ctrl-C" if number == signal.SIGINT else number.name))
        if "what was measured is in run" in outcome.err:
            summary = json.loads((case.work / "run" / "summary.json").read_text())
            outcome.demand("the summary says that it was interrupted", summary["interrupted"])
    case.again(options)


def kill_supervisor(case):
    """The ranks end with it; what it could not clean up does not stop the next run, which
    does."""
    options = long_training(case)
    process = case.start("train", *flags(options), "--run-dir", "run", codes={137})
    wait_for_moment(case, process, ranks_of(options))
    process.signal(signal.SIGKILL)
    process.finish(20)
    case.again(options)


def stop_rank(case):
    """Stopped for a moment: nothing happens. For longer than --timeout: it is named."""
    r = case.random
    forever, rank = r.random() < 0.5, 0
    options = long_training(case, timeout=2 if forever else 30)
    rank = r.randrange(ranks_of(options))
    process = case.start("train", *flags(options), "--run-dir", "run", codes={1} if forever else {143})
    wait_for_moment(case, process, ranks_of(options))
    stopped = process.signal(signal.SIGSTOP, rank)
    if forever:
        outcome = process.finish(20)
        outcome.says(place_of(options, rank) + r".*hangs \(it is stopped\)")
    else:
        time.sleep(r.random() / 4)
        if stopped:
            process.signal(signal.SIGCONT, rank)
        before = process.steps()
        process.wait_for(lambda: process.steps() > before + 1)
        process.signal(signal.SIGTERM)
        process.finish(20)
    case.again(options)


def stop_supervisor(case):
    """The whole job stopped for longer than --timeout, and going on: that is no hang."""
    options = long_training(case, most=4, timeout=1)
    process = case.start("train", *flags(options), "--run-dir", "run", codes={143})
    process.wait_for(lambda: process.steps() >= 2)
    everybody = [None, *range(len(process.ranks()))]
    for rank in everybody:
        process.signal(signal.SIGSTOP, rank)
    time.sleep(1.4)
    for rank in everybody if case.random.random() < 0.5 else reversed(everybody):
        process.signal(signal.SIGCONT, rank)
    before = process.steps()
    process.wait_for(lambda: process.steps() > before + 2)
    process.signal(signal.SIGTERM)
    process.finish(20)


def inject(case):
    """Trouble on purpose gives just that trouble."""
    r = case.random
    options = {**grids.random_training(case, most=8), "steps": r.choice([1, 3, 6])}
    ranks, steps = ranks_of(options), options["steps"]
    rank, step = r.randrange(ranks), r.randrange(steps)
    action = r.choice(["kill", "hang", "nan", "sleep=5ms"])
    at = r.choice(["", "at=forward,", "at=backward,", "at=optimizer,"])
    if action == "hang":
        options["timeout"] = 1
    code = {"kill": 137, "hang": 1}.get(action, 0)
    outcome = case.kolm("train", *flags(options), "--inject", f"rank={rank},step={step},{at}{action}",
                        "--run-dir", "run", codes={code}, bound=30)
    if action in ("kill", "hang"):
        what = "was ended by signal 9" if action == "kill" else "hangs"
        outcome.says(place_of(options, rank) + f".*{what}.* step {step}")
        case.again({**options, "timeout": 30})


def mpi_fault(case):
    """Under mpirun: a rank that hangs is named; whatever is sent, all of it ends."""
    if not case.world.mpiexec:
        raise Skip("no mpirun")
    r = case.random
    options = long_training(case, most=4, timeout=2)
    ranks = ranks_of(options)
    rank, fault = r.randrange(ranks), r.choice(["hang", "kill", "ask", "stop" if ranks > 1 else "ask"])
    args = [*flags(options), "--run-dir", "run"]
    if fault in ("hang", "kill"):
        args += ["--inject", f"rank={rank},step=2,{fault}"]
    codes = {"hang": {1}, "kill": {137}, "stop": {1}, "ask": {143, 130, 1}}[fault]
    # Nobody outlives the ranks there: what is left goes with the next start.
    process = case.start("train", *args, mpi=ranks, codes=codes, left=fault != "ask",
                         env={"KOLM_MPI_HOSTS": r.choice(["1", "2", "3"])})
    if fault in ("stop", "ask"):
        process.wait_for(lambda: process.steps() >= 2)
    if fault == "ask":
        process.signal(r.choice([signal.SIGTERM, signal.SIGINT]))
    elif fault == "stop":
        process.signal(signal.SIGSTOP, rank)
    outcome = process.finish(40)
    if fault in ("hang", "stop"):
        outcome.says(place_of(options, rank) + ".*hangs")
    if fault == "ask":
        outcome.says("stopped by")
        outcome.demand("what was measured is kept", (case.work / "run" / "summary.json").exists())
    case.again({**options, "timeout": 30})


def kill_others(case):
    """verify, max-batch: what they have put into the folder for temporary files goes away,
    at the latest when they are started again."""
    r = case.random
    command = r.choice([["verify", "--dim", "64", "--depth", "4", "--dp", "2", "--steps", "2000"],
                        ["max-batch", "--dim", "64", "--depth", "4", "--dp", "2", "--device-memory", "20MB"]])
    number = r.choice([signal.SIGKILL, *ASKING])
    process = case.start(*command, codes={128 + number, 0})
    if r.random() < 0.7:
        process.wait_for(lambda: any(case.tmp.iterdir()), seconds=1)
    time.sleep(r.random() / 10)
    process.signal(number)
    process.finish(20)
    case.kolm(*(word if word != "2000" else "2" for word in command))


SCENARIOS = [kill_rank, kill_rank_at_the_end, ask_rank, ask, kill_supervisor, stop_rank, stop_supervisor, inject,
             mpi_fault, kill_others]
