"""Cases of gpt and llama for run: options of kolm train by name, {"no-bias": True} for those without a value."""
import itertools

# Steps that are large enough to see what goes wrong. What AdamW makes of a gradient that is next to
# nothing is its rounding; eps keeps that small.
OPTIMIZERS = {"sgd": {"lr": 0.1}, "momentum": {"lr": 0.02}, "adamw": {"lr": 0.001, "eps": 1e-6}}
BASE = {"steps": 20, "threads": 1, "layers": 2, "heads": 4, "dim": 32, "context": 17, "vocab": 101, "batch": 6,
        "optimizer": "adamw", "weight-decay": 0.1}
GPT, LLAMA = {"model": "gpt"}, {"model": "llama"}
SHORT = [
    GPT,
    {**GPT, "no-bias": True, "gelu": "exact", "dropout": 0.2, "micro-batches": 3, "clip-grad": 0.5},
    {**GPT, "optimizer": "momentum", "layers": 3, "heads": 3, "dim": 15, "context": 29, "vocab": 17},
    {**LLAMA, "kv-heads": 2, "ffn": 43, "dropout": 0.2},
    {**LLAMA, "kv-heads": 1, "optimizer": "sgd", "rope-theta": 500, "norm-eps": 1e-3},
    # A matrix of one column decays as others do.
    {**GPT, "no-bias": True, "ffn": 1, "layers": 1},
    # The tied embedding on the first and the last stage; every mask on a grid.
    {**GPT, "pp": 2, "mp": 2, "micro-batches": 3, "dropout": 0.2, "sequence-parallel": True, "recompute": "block", "context": 22},
    {**GPT, "dp": 2, "mp": 4, "optimizer": "momentum", "zero": 1, "vocab": 65, "recompute": "attention"},
    {**LLAMA, "dp": 2, "pp": 2, "micro-batches": 3, "schedule": "zb-h1", "dropout": 0.2, "zero": 1},
    {**LLAMA, "pp": 4, "mp": 2, "kv-heads": 2, "micro-batches": 2, "sequence-parallel": True, "dropout": 0.2, "context": 14},
]
WITNESS = {**GPT, "gelu": "tanh", "dropout": 0.2, "weight-decay": 0.1, "clip-grad": 0.5, "micro-batches": 2, "optimizer": "adamw"}
WITNESSES = [WITNESS, {**LLAMA, "kv-heads": 2, "optimizer": "momentum"}]


def one_model(r, mp=1):
    """A random model that splits mp ways."""
    case = {"model": r.choice(["gpt", "llama"]), "layers": r.randint(1, 4), "heads": mp * r.randint(1, 4 if mp < 4 else 1),
            "context": r.randint(1, 40), "vocab": r.choice([17, 65, 101, 257, 300]), "dropout": r.choice([0, 0, 0.1, 0.3]),
            "norm-eps": r.choice([1e-5, 1e-3]), "optimizer": r.choice(list(OPTIMIZERS)), "weight-decay": r.choice([0, 0.1]),
            "clip-grad": r.choice(["off", 0.3]), "seed": r.randrange(1000)}
    if r.random() < 0.5:
        case["ffn"] = mp * r.randint(1, 40)
    if case["model"] == "gpt":
        case.update({"no-bias": r.random() < 0.4, "gelu": r.choice(["tanh", "exact"]), "dim": case["heads"] * r.randint(3, 17)})
        return case
    kv_heads = [k for k in range(mp, case["heads"] + 1, mp) if case["heads"] % k == 0]
    case.update({"kv-heads": r.choice(kv_heads), "rope-theta": r.choice([10000, 500]), "dim": case["heads"] * 2 * r.randint(2, 9)})
    return case


def on_one_rank(r):
    case = one_model(r)
    micro = r.choice([1, 2, 3])
    case.update({"micro-batches": micro, "batch": micro * r.randint(1, 5), "threads": r.choice([1, 2]),
                 "recompute": r.choice(["none", "none", "attention", "block"])})
    return case


def on_grid(r):
    """A random model on a random grid of 2 to 8 ranks."""
    dp, pp, mp = r.choice([g for g in itertools.product(range(1, 9), repeat=3) if 2 <= g[0] * g[1] * g[2] <= 8])
    case = one_model(r, mp)
    micro = r.choice([1, 2, 3, 4])
    schedule = r.choice(["naive", "gpipe", "1f1b", "zb-h1"] + ["interleaved"] * (pp > 1 and micro % pp == 0))
    # Embedding, blocks and head are what a pipeline cuts between.
    least = pp * (2 if schedule == "interleaved" else 1) - 2
    case.update({"dp": dp, "pp": pp, "mp": mp, "micro-batches": micro, "schedule": schedule, "zero": r.choice([0, 0, 1]),
                 "layers": max(case["layers"], least, 1), "batch": dp * micro * r.randint(1, 3),
                 "grad-sync": r.choice(["ddp", "flat"]), "bucket-mb": r.choice([25, 0.001]),
                 "sequence-parallel": mp > 1 and r.random() < 0.6, "recompute": r.choice(["none", "attention", "block"])})
    if case["sequence-parallel"]:
        case["context"] += -case["context"] % mp
    return case


def random_case(r):
    return on_one_rank(r) if r.random() < 0.4 else on_grid(r)


def words(case):
    """The options of kolm train for a case."""
    o = {**BASE, **case}
    o.update(OPTIMIZERS[o["optimizer"]])
    return [f"--{name}" if value is True else f"--{name}={value}" for name, value in o.items() if value is not False]
