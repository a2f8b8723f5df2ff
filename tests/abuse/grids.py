"""grids.py - random trainings on random grids, possible and impossible ones.

A possible one works, leaves a whole run folder and has the losses of one rank; an
impossible one is refused with a message that names values, and leaves nothing.
"""
import itertools
import json
import math
import shutil
import struct

from cage import Skip, flags

SCHEDULES = ["naive", "gpipe", "1f1b", "interleaved", "zb-h1"]
CLASSES, FEATURES = 6, 7
# What the order of sums can change in a few steps; an error changes far more.
TOLERANCE = {"fp32": 1e-4, "fp16": 0.03, "bf16": 0.1}
ONE_RANK = ("dp", "pp", "mp", "schedule", "chunks", "layers-per-stage", "engine", "zero", "grad-sync", "bucket-mb",
            "micro-batches", "micro-batch-size", "log-format", "breakdown", "trace")


def make_data(folder):
    """Files to train on: few features, so that the first layer differs from the others."""
    def rows(target):
        return "".join(",".join(f"{math.sin(i * (k + 2)):.4f}" for k in range(FEATURES)) + f",{target(i)}\n"
                       for i in range(90))

    (folder / "labels.csv").write_text("a,b,c,d,e,f,g,kind\n" + rows(lambda i: i * 5 % CLASSES))
    (folder / "targets.csv").write_text(rows(lambda i: f"{math.cos(i):.4f}").replace(",", ";"))
    images = bytes(i * 37 % 256 for i in range(80 * 12))
    (folder / "images.idx").write_bytes(struct.pack(">IIII", 0x803, 80, 3, 4) + images)
    (folder / "labels.idx").write_bytes(struct.pack(">II", 0x801, 80) + bytes(i * 7 % CLASSES for i in range(80)))


def random_data(case):
    """What to train on, and how many outputs that makes (None: as wide as the layers)."""
    shutil.copytree(case.world.fixture("data", make_data), case.work / "data", dirs_exist_ok=True)
    return case.random.choice([
        ("synthetic", None), ("synthetic", None), ("noise", None),
        ("csv:data/labels.csv", CLASSES), ("csv:data/targets.csv", 1),
        ("idx:data/images.idx,data/labels.idx", CLASSES)])


def random_grid(r, most):
    """All grids of up to so many ranks, those of two and three dimensions more often."""
    sizes = range(1, most + 1)
    all_grids = [grid for grid in itertools.product(sizes, repeat=3) if math.prod(grid) <= most]
    return r.choices(all_grids, [1 + 3 * sum(size > 1 for size in grid) ** 2 for grid in all_grids])[0]


def random_cut(r, depth, parts):
    """depth layers in parts, each with at least one."""
    cuts = sorted(r.sample(range(1, depth), parts - 1))
    return ",".join(str(b - a) for a, b in zip([0, *cuts], [*cuts, depth]))


def random_training(case, most=12, virtual=False):
    """Options of kolm train that must work."""
    r = case.random
    dp, pp, mp = random_grid(r, most)
    schedule = r.choice(SCHEDULES)
    chunks = r.choice([2, 2, 3]) if schedule == "interleaved" and pp > 1 else 1
    data, outputs = ("synthetic", None) if virtual else random_data(case)
    depth = r.randint(pp * chunks, max(pp * chunks, 3 * pp + 1))
    if outputs and outputs % mp:
        depth += depth % 2  # the last of an odd number of layers is split by its outputs
    micro_batches, size = r.choice([1, 1, 2, 3, 4, 5, 8]), r.choice([1, 2, 3, 4, 7])
    options = {"dp": dp, "pp": pp, "mp": mp, "depth": depth, "dim": mp * r.choice([1, 3, 8, 16, 24]), "data": data,
               "steps": r.choice([1, 2, 3, 4]), "warmup": 0, "schedule": schedule, "timeout": 30,
               "bucket-mb": r.choice([0.001, 0.001, 0.002, 0.01, 25]), "activation": r.choice(["none", "relu", "gelu"]),
               "optimizer": r.choice(["sgd", "momentum", "adamw"]), "seed": r.randint(0, 99)}
    options.update(r.choice([{"batch": dp * micro_batches * size, "micro-batches": micro_batches},
                             {"batch": dp * micro_batches * size, "micro-batch-size": size},
                             {"micro-batches": micro_batches, "micro-batch-size": size}]))
    if chunks > 1 and r.random() < 0.7 or chunks > 2:
        options["chunks"] = chunks
    if r.random() < 0.3:
        options["layers-per-stage"] = random_cut(r, depth, pp * chunks)
    if r.random() < 0.5:
        options["precision"] = r.choice(["fp32", "fp16", "bf16"])
    if pp == mp == 1 and r.random() < 0.4:
        options["grad-sync"] = "master"
    else:
        options.update(r.choice([{}, {"grad-sync": "flat"}, {"zero": 1}, {"zero": 1, "grad-sync": "flat"}]))
    options.update(r.choice([{}, {"engine": "base"}]) if schedule != "interleaved" else {})
    for name, values in {"clip-grad": [0.5], "trace": ["off", 1, 100], "breakdown": [True], "threads": [1, 2],
                         "log-format": ["jsonl"], "grad-dtype": ["fp32", "16"], "holdout": [0, 0.5]}.items():
        if r.random() < 0.2:
            options[name] = r.choice(values)
    return options


def losses(case, folder):
    lines = (case.work / folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def compare(case, options, outcome, folder="run"):
    """The losses of this run are those of one rank with the same options."""
    batch = options.get("batch") or options["dp"] * options["micro-batches"] * options["micro-batch-size"]
    one = {name: value for name, value in options.items() if name not in ONE_RANK}
    case.kolm("train", *flags({**one, "batch": batch, "run-dir": "one"}))
    tolerance = TOLERANCE[options.get("precision", "fp32")]
    for step, (ours, alone) in enumerate(zip(losses(case, folder), losses(case, "one"), strict=True)):
        outcome.demand("the losses of one rank", ours is not None and abs(ours - alone) <= tolerance * abs(alone) + 1e-7,
                       f"step {step}: {ours}, on one rank {alone}")


def random_env(r):
    return r.choice([{}, {}, {}, {"KOLM_CPU": "generic"}, {"KOLM_CPU": "reference"}])


# ---- scenarios ----

def grids(case):
    options = random_training(case)
    outcome = case.kolm("train", *flags(options), "--run-dir", "run", env=random_env(case.random))
    compare(case, options, outcome)


def grids_virtual(case):
    r = case.random
    options = random_training(case, most=24, virtual=True)
    ranks = options["dp"] * options["pp"] * options["mp"]
    options["device"] = "virtual:" + ",".join(
        [f"gflops={r.choice([1, 20, 500])}"] + [word for word in (
            "bandwidth=20GB/s", "link=1GB/s", "latency=50us", f"slow={r.randrange(ranks)}:3",
            f"slow-link=0-{ranks - 1}:4" if ranks > 1 else "mem=1GiB") if r.random() < 0.5])
    case.kolm("train", *flags(options), "--run-dir", "run")


def grids_mpi(case):
    if not case.world.mpiexec:
        raise Skip("no mpirun")
    r, options = case.random, random_training(case, most=6)
    ranks = options["dp"] * options["pp"] * options["mp"]
    how = {"mpi": ranks, "env": {"KOLM_MPI_HOSTS": r.choice(["1", "2", "3", "2,cyclic"])}}
    if r.random() < 0.2:  # one message, not one of every rank
        case.kolm("train", *flags({**options, "dp": options["dp"] + 1}), "--run-dir", "run", codes={2}, **how)
        return
    auto = r.choice([{}, {"dp": "auto"}, {"pp": "auto"}, {"mp": "auto"}])
    outcome = case.kolm("train", *flags({**options, **auto}), "--run-dir", "run", **how)
    compare(case, options, outcome)


def verified(case):
    """A right run is called right."""
    options = random_training(case, most=8)
    options["steps"] = case.random.choice([2, 5, 20])
    for name in ("log-format", "breakdown", "trace"):
        options.pop(name, None)
    outcome = case.kolm("verify", *flags(options), "--json")
    outcome.demand("verify says that it is the same run", json.loads(outcome.out)["ok"], outcome.out)


def spoil(r, o):
    """One thing that can't be, as options that replace those of a possible training."""
    dp, pp, mp = o["dp"], o["pp"], o["mp"]
    ways = [{"dim": 0}, {"depth": 0}, {"steps": 0}, {"batch": 0}, {"dp": 0}, {"pp": -1}, {"mp": "two"},
            {"warmup": o["steps"]}, {"inject": f"rank={dp * pp * mp},kill"}, {"inject": f"step={o['steps']},nan"},
            {"transport": "mpi"}, {"nproc-per-node": dp * pp * mp + 1}, {"dp": "auto", "pp": "auto"}, {"zero": 2},
            {"bucket-mb": 0}, {"holdout": 1}, {"precision": "fp8"}, {"device": "gpu"}, {"lr": "nan"}, {"seed": -1},
            {"layers-per-stage": f"{o['depth']},1"}, {"layers-per-stage": f"{o['depth'] + 1}"},
            {"batch": dp * 6 + 1, "micro-batches": 6, "micro-batch-size": 1},
            {"depth": 2, "pp": 3, "layers-per-stage": "1,1"}, {"schedule": "gpipe", "chunks": 2, "pp": 2, "depth": 8}]
    if mp > 1:
        ways.append({"dim": mp + 1, "depth": 4, "pp": 1, "schedule": "1f1b"})
    if pp > 1:
        ways += [{"depth": pp - 1, "layers-per-stage": ""}, {"grad-sync": "master", "zero": 0}]
    return r.choice(ways)


def grids_impossible(case):
    """Refused, with one line that says what would do, and without a trace."""
    options = random_training(case)
    options.update(spoil(case.random, options))
    outcome = case.kolm("train", *flags(options), "--run-dir", "run", codes={2})
    outcome.says("; .")
    outcome.demand("a refused command leaves no folder", not (case.work / "run").exists())


SCENARIOS = [grids, grids_virtual, grids_mpi, grids_impossible, verified]
