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
            "micro-batches", "micro-batch-size", "log-format", "breakdown", "trace", "recompute", "sequence-parallel")


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
    (folder / "text.txt").write_text("".join(f"{i} and {i + 1} are {2 * i + 1}, \u00fcber {i % 7}.\n" for i in range(150)))


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


def random_stack(case, parts, mp, virtual):
    """Equal layers, and what they are trained on; how many there are."""
    r = case.random
    data, outputs = ("synthetic", None) if virtual else random_data(case)
    depth = r.randint(parts, max(parts, 3 * parts + 1))
    if outputs and outputs % mp:
        depth += depth % 2  # the last of an odd number of layers is split by its outputs
    return depth, {"depth": depth, "dim": mp * r.choice([1, 3, 8, 16, 24]), "data": data, "activation": r.choice(["none", "relu", "gelu"])}


def random_language(case, parts, mp, virtual):
    """A language model; its list of layers has an embedding and a head too."""
    r = case.random
    layers, heads = max(1, parts - 2) + r.randint(0, 3), mp * r.choice([1, 1, 2, 3])
    options = {"model": r.choice(["gpt", "llama"]), "layers": layers, "heads": heads, "dim": heads * r.choice([2, 4, 6, 16]),
               "context": r.choice([1, 2, 5, 9, 17]), "vocab": mp + r.choice([1, 2, 5, 13, 31, 64]), "recompute": r.choice(["none", "attention", "block"]),
               "dropout": r.choice([0, 0, 0.1, 0.5]), "data": r.choice(["synthetic", "noise"])}
    if mp > 1 and r.random() < 0.5:
        options.update({"sequence-parallel": True, "context": mp * r.choice([1, 2, 3])})
    if options["model"] == "llama":
        options.update(r.choice([{}, {"kv-heads": mp}, {"kv-heads": heads, "ffn": mp * 5, "rope-theta": 100}]))
    else:
        options.update(r.choice([{}, {"no-bias": True}, {"gelu": "exact", "norm-eps": 1e-3, "ffn": mp * 7}]))
    if not virtual and r.random() < 0.3:
        shutil.copytree(case.world.fixture("data", make_data), case.work / "data", dirs_exist_ok=True)
        options.update({"data": "text:data/text.txt", "tokenizer": r.choice(["byte", "char", "bpe"])})
        options.pop("vocab")
        if options["tokenizer"] == "bpe":
            options["vocab"] = r.choice([257, 280, 301])
    return layers + 2, options


def random_training(case, most=12, virtual=False):
    """Options of kolm train that must work."""
    r = case.random
    dp, pp, mp = random_grid(r, most)
    schedule = r.choice(SCHEDULES)
    chunks = r.choice([2, 2, 3]) if schedule == "interleaved" and pp > 1 else 1
    micro_batches, size = r.choice([1, 1, 2, 3, 4, 5, 8]), r.choice([1, 2, 3, 4, 7])
    depth, model = r.choice([random_stack, random_language])(case, pp * chunks, mp, virtual)
    options = {"dp": dp, "pp": pp, "mp": mp, **model, "steps": r.choice([1, 2, 3, 4]), "warmup": 0, "schedule": schedule, "timeout": 30,
               "bucket-mb": r.choice([0.001, 0.001, 0.002, 0.01, 25]), "optimizer": r.choice(["sgd", "momentum", "adamw"]), "seed": r.randint(0, 99)}
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
    ways = [{"dim": 0}, {"steps": 0}, {"batch": 0}, {"dp": 0}, {"pp": -1}, {"mp": "two"},
            {"warmup": o["steps"]}, {"inject": f"rank={dp * pp * mp},kill"}, {"inject": f"step={o['steps']},nan"},
            {"transport": "mpi"}, {"nproc-per-node": dp * pp * mp + 1}, {"as-if": "dp=3"}, {"as-if": "mp"}, {"zero": 2},
            {"bucket-mb": 0}, {"holdout": 1}, {"precision": "fp8"}, {"device": "quantum"}, {"device": "opencl:99"}, {"lr": "nan"}, {"seed": -1},
            {"batch": dp * 6 + 1, "micro-batches": 6, "micro-batch-size": 1}]
    if pp > 1:
        ways.append({"grad-sync": "master", "zero": 0})
    return r.choice(ways + (spoil_language(o) if "model" in o else spoil_stack(o)))


def spoil_stack(o):
    pp, mp = o["pp"], o["mp"]
    ways = [{"depth": 0}, {"layers-per-stage": f"{o['depth']},1"}, {"layers-per-stage": f"{o['depth'] + 1}"},
            {"depth": 2, "pp": 3, "layers-per-stage": "1,1"}, {"schedule": "gpipe", "chunks": 2, "pp": 2, "depth": 8},
            {"heads": 2}, {"vocab": 100}, {"recompute": "block"}, {"sequence-parallel": True}, {"tokenizer": "byte"}]
    if mp > 1:
        ways.append({"dim": mp + 1, "depth": 4, "pp": 1, "schedule": "1f1b"})
    if pp > 1:
        ways.append({"depth": pp - 1, "layers-per-stage": ""})
    return ways


def spoil_language(o):
    pp, mp, heads = o["pp"], o["mp"], o["heads"]
    ways = [{"layers": 0}, {"heads": 0}, {"heads": o["dim"] + 1}, {"vocab": 1}, {"context": 0}, {"context": "all"}, {"recompute": "all"},
            {"depth": 3}, {"widths": "3,4"}, {"activation": "relu"}, {"norm": "rms"}, {"residual": True}, {"preset": "gpt3"}, {"model": "bert"},
            {"layers-per-stage": f"{o['layers'] + 2},1"}, {"layers-per-stage": f"{o['layers'] + 3}"}, {"data": "csv:nothing.csv"}, {"loss": "mse"},
            {"data": "synthetic", "tokenizer": "byte"}, {"data": "text:nowhere"}, {"dropout": 1}, {"target": "x"}]
    ways += [{"kv-heads": 2}, {"rope-theta": 10}] if o["model"] == "gpt" else [{"kv-heads": heads + 1}, {"no-bias": True}, {"gelu": "tanh"}, {"dim": heads * 3}]
    if mp > 1:
        ways += [{"heads": mp + 1, "dim": 4 * (mp + 1), "kv-heads": None}, {"ffn": mp + 1}, {"vocab": mp - 1, "data": "noise", "tokenizer": None},
                 {"sequence-parallel": True, "context": mp + 1}]
    if pp > 3:
        ways.append({"layers": pp - 3, "layers-per-stage": ""})
    return ways


def grids_impossible(case):
    """Refused, with one line that says what would do, and without a trace."""
    options = random_training(case)
    options.update(spoil(case.random, options))
    options = {name: value for name, value in options.items() if value is not None}
    outcome = case.kolm("train", *flags(options), "--run-dir", "run", codes={2})
    outcome.says("; .")
    outcome.demand("a refused command leaves no folder", not (case.work / "run").exists())


SCENARIOS = [grids, grids_virtual, grids_mpi, grids_impossible, verified]
