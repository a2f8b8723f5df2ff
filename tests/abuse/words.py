"""words.py - random command lines from the words that --help gives, names of folders,
environments."""
import os
import re
import shutil
import subprocess

import files
import places
from cage import flags

COMMANDS = ["train", "verify", "max-batch", "grid", "schedule", "trace", "study", "report", "top", "bench", "doctor",
            "devices"]
# Beyond every limit, or small: nothing in between could take hours or all memory.
VALUES = ["-1", "0", "1", "2", "3", "1.5", "0.5", "99999999999", "1e400", "nan", "inf", "", " ", "x", "auto", "off", "--dim", "run",
          "1,1", "2MB", "3ms", "é", "\x1b[31m", "a" * 3000, "/dev/null", "../up", ".", "-", "--", "0x2", "+1", "1e-3", "=", "%s"]
FIRST = {"train": ["--steps", "2"], "verify": ["--steps", "2"], "max-batch": [], "bench": ["--seconds", "0.01"],
         "top": ["--once"]}
SMALL = [["--dim", "8", "--depth", "4"],
         ["--model", "gpt", "--dim", "8", "--layers", "2", "--heads", "2", "--context", "5", "--vocab", "19"],
         ["--model", "llama", "--dim", "8", "--layers", "1", "--heads", "4", "--context", "4", "--vocab", "23"]]


def options_of(world, command):
    """{name: the values that its help names}."""
    known = world.__dict__.setdefault("words", {})
    if command not in known:
        text = subprocess.run([world.kolm, command, "--help"], capture_output=True, text=True, check=False).stdout
        known[command] = {name: re.findall(r"[\w.-]+", values) for name, values in
                          re.findall(r"^  --([\w-]+)((?: [^ \n]+)?)", text, re.MULTILINE)}
    return known[command]


def random_words(case, command):
    r, words = case.random, []
    known = options_of(case.world, command)
    if command in ("verify", "max-batch"):
        known = {**known, **options_of(case.world, "train")}
    for _ in range(r.choice([0, 1, 1, 2, 3, 6])):
        if r.random() < 0.1 or not known:
            words.append(r.choice(VALUES))
            continue
        name = r.choice(sorted(known))
        value = r.choice(known[name] + VALUES if known[name] else VALUES)
        dashed = "--" + (name.replace("-", "_") if r.random() < 0.1 else name[:-1] if r.random() < 0.05 else name)
        words += r.choice([[dashed, value]] * 4 + [[f"{dashed}={value}"], [dashed]])
    return words


def command_line(case):
    """Done, refused or failed, in a few seconds; asked to end if not."""
    r, world = case.random, case.world
    command = r.choice(COMMANDS)
    (case.work / "run").symlink_to(files.make_run(world))
    target = {"trace": ["run"], "report": ["run"], "top": ["run"], "bench": [r.choice(["peak", "comm"])],
              "study": [r.choice(["list", "show"])]}.get(command, [])
    words = [command, *(target if r.random() < 0.9 else []), *random_words(case, command)]
    if command in ("train", "verify", "max-batch"):
        words[1:1] = [*r.choice(SMALL), "--batch", "12", "--device-memory", "50MB", *FIRST[command]]
    elif r.random() < 0.8:
        words += FIRST.get(command, [])
    process = case.start(*words, codes={0, 1, 2})
    places.finished(process, 3)


def no_command(case):
    """The first word is wrong."""
    r = case.random
    word = r.choice(VALUES + [command[:-1] for command in COMMANDS])
    if word in ("--help", "--version"):
        return
    case.kolm(word, *(r.choice(VALUES) for _ in range(r.randint(0, 2))), codes={2})


def names(case):
    """A run in a folder of any name can be looked at by that name, or the name is refused."""
    r = case.random
    name = r.choice(["a b", "a'b\"c", "-x", "--", "a\nb", "\x1b[31m", "é", b"\xff\xfe", "%s%n", "a/b/c", "./a/../b", "a//b/", ".", "..",
                     "x" * 255, "x" * 256, "/".join(["y" * 200] * 12), "/".join(["z"] * 2040), "", " ", "~", "$HOME", "run.json"])
    name = os.fsdecode(name)
    done = case.kolm("train", *flags({**places.SMALL, "run-dir": name}), codes={0, 1, 2})
    if done.code == 0 and name:
        case.kolm("trace", f"./{name}" if name.startswith("-") else name, "--json")


def environment(case):
    """Variables that a user, a batch system or nobody has set."""
    r = case.random
    number = ["", "0", "1", "3", "-1", "x", "99999999999"]
    variable, values = r.choice([
        ("KOLM_CPU", ["", "avx", "reference", "x" * 300, "\x1b[31m"]), ("KOLM_MPI_HOSTS", number + ["2,cyclic", "2,x"]),
        ("TMPDIR", ["", "nowhere", "/dev/null", "/proc", "x" * 5000]), ("HOME", ["", "/nowhere"]), ("TERM", ["", "x" * 300]),
        ("LC_ALL", ["de_DE.UTF-8", "xx"]), ("COLUMNS", number), ("OMP_NUM_THREADS", number), ("PATH", ["", "/nowhere"]),
        ("OMPI_COMM_WORLD_SIZE", number), ("PMI_SIZE", number), ("SLURM_STEP_NUM_TASKS", number), ("RANK", number)])
    env = {variable: r.choice(values)}
    if number is values and r.random() < 0.7:  # the first of so many, says somebody
        env.update({"OMPI_COMM_WORLD_RANK": "0", "PMI_RANK": "0", "SLURM_PROCID": "0"})
    command = r.choice([["train", *flags(places.SMALL), "--run-dir", "run"], ["verify", "--dim", "8", "--steps", "2"],
                        ["doctor"], ["schedule"], ["report", "given", "--out", "report"]])
    shutil.copytree(files.make_run(case.world), case.work / "given")
    case.kolm(*command, env=env, codes={0, 1, 2})


SCENARIOS = [command_line, no_command, names, environment]
