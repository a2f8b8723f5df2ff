"""files.py - files that are spoilt, read by every command that reads them: exit code 0, 1 or 2,
and one message that names what is wrong."""
import json
import mmap
import os
import pathlib
import re
import shutil
import signal

import grids
import mutate
import places
from cage import flags

SOURCE = pathlib.Path(__file__).parents[2] / "studies"
READ = {0, 1, 2}
CALIBRATION = {"link_latency_us": 0.4, "link_gb_per_s": 16, "memory_gb_per_s": 36, "gflops_fp32_16": 20}
STUDY = {"name": "mine", "title": "Mine | <b>", "about": "What is varied.", "repetitions": 1, "devices": "both",
         "base": {"dim": 16, "depth": 2, "batch": 16, "steps": 4, "warmup": 1, "threads": 1},
         "quick": {"base": {"steps": 3, "warmup": 0}, "repetitions": 1},
         "axes": [{"name": "ranks", "option": "dp", "values": [1, 2]}],
         "columns": [{"key": "speedup", "label": "speed-up", "formula": "step_ms[ranks=1] / step_ms"}],
         "tables": [{"id": "all", "title": "All", "columns": ["device", "ranks", "step_ms", "speedup"], "note": "Note."}],
         "charts": [{"id": "c", "table": "all", "kind": "line", "title": "C", "x": "ranks", "y": ["speedup"], "ideal": "x"}]}


def make_run(world):
    def make(folder):
        world.prepare(folder, "train", *flags({**places.SMALL, "run-dir": "run", "micro-batches": 2}))
    return world.fixture("run", make) / "run"


def make_study(world):
    """A finished study, and the file that it came from."""
    def make(folder):
        (folder / "out").mkdir()
        (folder / "out" / "calibration.json").write_text(json.dumps(CALIBRATION))
        (folder / "mine.json").write_text(json.dumps(STUDY, indent=1))
        world.prepare(folder, "study", "mine.json", "--out", "out")
    return world.fixture("study", make)


def spoil(case, path):
    data = path.read_bytes()
    new = (mutate.spoil_json if path.suffix == ".json" else mutate.spoil_bytes)(case.random, data)
    path.write_bytes(new)
    for folder in path.parents:
        case.spoilt.add(folder)
    case.note(f"spoilt {path.relative_to(case.work)}: {new[:300]!r}{'...' if len(new) > 300 else ''}")


def harmless_page(case, folder):
    page = folder / "report.html"
    if page.exists():
        case.demand("what files say is text in the report", "<script>abuse" not in page.read_text(errors="replace"),
                    "a script")


# ---- scenarios ----

def config_file(case):
    shutil.copy(make_run(case.world) / "config.json", case.work)
    spoil(case, case.work / "config.json")
    process = case.start("train", "--config", "config.json", "--quiet", "--device-memory", "50MB", "--run-dir", "run",
                         codes=READ)
    places.finished(process)


def data_file(case):
    """CSV and IDX."""
    shutil.copytree(case.world.fixture("data", grids.make_data), case.work / "data")
    name = case.random.choice(sorted(os.listdir(case.work / "data")))
    spoil(case, case.work / "data" / name)
    data = "idx:data/images.idx,data/labels.idx" if name.endswith("idx") else f"csv:data/{name}"
    process = case.start("train", "--data", data, "--dim", "8", "--depth", "2", "--batch", "8", "--steps", "3",
                         "--device-memory", "100MB", "--run-dir", "run", codes=READ)
    places.finished(process)


def run_folder(case):
    """Files of a finished run, through trace, report and top."""
    r = case.random
    shutil.copytree(make_run(case.world), case.work / "run")
    name = r.choice(["timeline.json", "timeline.json", "summary.json", "config.json", "metrics.jsonl", "command.txt"])
    spoil(case, case.work / "run" / name)
    commands = [["trace", "run", *r.choice([[], ["--json"], ["--svg", "a.svg"], ["--all-ranks"], ["--step", "1"]])],
                ["report", "run", "--out", "report"], ["top", "run", "--once"]]
    case.kolm(*r.choice(commands if name != "timeline.json" else commands[:2]), codes=READ)
    harmless_page(case, case.work / "report")


def study_file(case):
    """A study can fail, but writes to its folder only."""
    r, inside = case.random, case.work / "inside"
    shutil.copytree(make_study(case.world), inside)
    shutil.rmtree(inside / "out" / "mine")
    path, short = inside / "mine.json", []
    if r.random() < 0.4:
        name = r.choice(sorted(SOURCE.glob("*.json")))
        shutil.copy(name, path)
        short = ["--quick", "--only", "virtual", "--steps", "2", "--reps", "1"]
        case.note(f"{name.name} as mine.json")
        spoil(case, path)
    elif r.random() < 0.4:
        study = json.loads(path.read_text())
        way = r.choice(["run-dir", "dump-check", "svg", "config", "out", "inject"])
        study["base"][way] = r.choice(["../escape", str(case.work / "escape"), "escape", "out/../escape"])
        path.write_text(json.dumps(study))
        case.spoilt |= {inside, case.work}
        case.note(f"base: {study['base']}")
    else:
        spoil(case, path)
    process = case.start("study", "mine.json", "--out", "out", "--quiet", *(short or r.choice([[], ["--quick"]])),
                         cwd=inside, codes=READ)
    outcome = places.finished(process, 3)
    outside = set(os.listdir(case.work)) - {"inside"} | set(os.listdir(inside)) - {"mine.json", "out"}
    outcome.demand("a study writes to its folder only", not outside, str(outside))


def study_results(case):
    """Spoilt results of a study: going on with it, and a report of it."""
    r = case.random
    shutil.copytree(make_study(case.world), case.work, dirs_exist_ok=True)
    out = case.work / "out"
    runs = [path for path in (out / "mine" / "runs").glob("*/*") if path.suffix in (".json", ".jsonl")]
    spoil(case, r.choice([out / "calibration.json", out / "mine" / "result.json", r.choice(sorted(runs))]))
    case.spoilt |= {folder for folder, _, _ in os.walk(out)} | {path.parent for path in runs}
    if r.random() < 0.5:
        case.kolm("report", "out", "--out", "report", codes=READ)
        harmless_page(case, case.work / "report")
    else:
        process = case.start("study", "mine.json", "--out", "out", "--quiet", codes=READ)
        places.finished(process, 15)


def study_failing(case):
    """Some cases fail: it says so. All of them: it has failed."""
    r, inside = case.random, case.work
    good = r.randint(0, 2)
    values = [{"name": f"good{k}"} for k in range(good)]
    values += [{"name": f"bad{k}", "set": {"inject": f"step={k},kill"}} for k in range(r.randint(1, 2))]
    study = {**STUDY, "devices": "real", "axes": [{"name": "kind", "values": values}], "columns": [], "charts": [],
             "tables": [{"id": "all", "title": "All", "columns": ["kind", "step_ms"]}]}
    (inside / "mine.json").write_text(json.dumps(study))
    steps = r.choice([[], ["--steps", "3"], ["--steps", "2"]])
    outcome = case.kolm("study", "mine.json", "--out", "out", "--quiet", *steps, codes={0} if good else {1})
    outcome.demand("a case that fails is told", "failed" in outcome.err)


def study_stopped(case):
    """Stopped or killed at any moment, it goes on and is complete."""
    r = case.random
    shutil.copytree(make_study(case.world), case.work, dirs_exist_ok=True)
    shutil.rmtree(case.work / "out" / "mine")
    number = r.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
    process = case.start("study", "mine.json", "--out", "out", codes={0, 128 + number})
    process.wait_for(lambda: False, r.random() / 3)
    process.signal(number)
    process.finish(20)
    case.kolm("study", "mine.json", "--out", "out", "--quiet")
    result = json.loads((case.work / "out" / "mine" / "result.json").read_text())
    case.demand("a study that goes on gets complete", result["complete"], "it is not")


def board(case):
    """kolm top looks at a run, or at something that only says that it is one: job.json or the
    memory that it names are spoilt."""
    r, run = case.random, case.work / "run"
    process = case.start("train", *flags({**places.SMALL, "steps": 1000000}), "--run-dir", "run", codes={143})
    process.wait_for(lambda: process.steps() >= 2 and (run / "job.json").exists())
    job = json.loads((run / "job.json").read_text())
    fake = case.work / "fake"
    fake.mkdir()
    case.spoilt.add(fake)
    source = f"/proc/{job['pid']}/fd/{job['fd']}"
    memory = os.memfd_create("fake")
    with open(source, "rb") as file:
        size = min(os.fstat(file.fileno()).st_size, 16 << 20)
        data = bytearray(mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)[:])
    used = len(data.rstrip(b"\0"))
    for _ in range(r.choice([0, 1, 10, 1000])):
        data[r.randrange(used)] = r.choice([0, 255, r.randrange(256)])
    os.write(memory, data[:r.choice([0, 100, 4096, used // 2, used, size])])
    job.update(r.choice([{"pid": os.getpid(), "fd": memory}] * 3 + [{"pid": 1}, {"fd": 0}, {"fd": 99}, {"pid": 2**31 - 1}]))
    (fake / "job.json").write_text(json.dumps(job))
    if r.random() < 0.3:
        spoil(case, fake / "job.json")
    looked = case.kolm("top", r.choice(["fake", "fake", "run"]), r.choice(["--once", "--json"]), codes=READ, bound=20)
    os.close(memory)
    looked.demand("the table is readable", not re.search(r"[\x00-\x08\x0b-\x1f]", looked.out), repr(looked.out[:300]))
    process.signal(signal.SIGTERM)
    process.finish(20)


def watched(case):
    """kolm top at every moment of a run, from before it begins until after its end."""
    r, steps = case.random, case.random.choice([1, 100, 500])
    process = case.start("train", *flags({**places.SMALL, "steps": steps, "trace": r.choice(["off", 8])}), "--run-dir", "run")
    ended = False
    while not ended:
        ended = not process.running()
        case.kolm("top", *r.choice([["run"], []]), r.choice(["--once", "--json"]), codes=READ)
    process.finish()


SCENARIOS = [watched, config_file, data_file, run_folder, study_file, study_results, study_failing, study_stopped, board]
