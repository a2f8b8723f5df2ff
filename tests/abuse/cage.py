"""cage.py - kolm in a cage: a place of its own to run in, signals and limits to meet there.

World is what all cases share, Case is one attack, Process is one command of it. When a
command is over, the invariants (invariants.py) are asked, whatever has happened to it.
"""
import ctypes
import fcntl
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import termios
import time

import invariants

BOUND = 60  # seconds: nothing here takes nearly as long, so whatever does is a hang
NOBODY = 65534
FOR_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "ASAN_OPTIONS": "detect_leaks=0"}  # MPI libraries leave some


class Finding(Exception):
    """Something is broken: a list of (what must hold, what was seen instead)."""

    def __init__(self, broken):
        super().__init__("; ".join(f"{what}: {seen}" for what, seen in broken))
        self.broken = broken


class Skip(Exception):
    """This machine can't do what the case needs."""


def flags(options):
    """{"dp": 2, "quiet": True} as words of a command line."""
    words = []
    for name, value in options.items():
        if value is not False:
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return words


class World:
    def __init__(self, kolm, mpiexec, root):
        self.root = pathlib.Path(root)
        self.root.chmod(0o755)  # others must get in, to be refused further inside
        self.kolm = self.root / "kolm"  # a build meanwhile must not change what is tested
        shutil.copy(kolm, self.kolm)
        self.kolm.chmod(0o755)
        self.original, self.mpiexec = kolm, mpiexec
        self.private = enter_namespace()
        self.nobody = os.getuid() == 0 and self.answers(user=NOBODY)
        self.limited = self.answers([(resource.RLIMIT_AS, 4 << 30)])  # not with a sanitizer
        self.train_help = subprocess.run([self.kolm, "train", "--help"], capture_output=True, text=True).stdout

    def answers(self, limits=(), user=None):
        """Can a program that does next to nothing run like that?"""
        try:
            return subprocess.run([self.kolm, "--version"], capture_output=True, timeout=BOUND,
                                  preexec_fn=lambda: enter(limits, user)).returncode == 0
        except (OSError, subprocess.SubprocessError):
            return False

    def fixture(self, name, make):
        """A folder that make() fills once and that cases copy from."""
        folder, half = self.root / "fixtures" / name, self.root / "half"
        if not folder.exists():
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir()
            make(half)
            folder.parent.mkdir(exist_ok=True)
            half.rename(folder)
        return folder

    def prepare(self, folder, *args):
        """A command of a fixture: it must work."""
        done = subprocess.run([self.kolm, *map(str, args)], cwd=folder, capture_output=True, text=True, timeout=BOUND)
        if done.returncode:
            raise Finding([("ordinary commands work", f"kolm {shlex.join(map(str, args))}: exit code {done.returncode}: {done.stderr[-500:]}")])


def enter_namespace():
    """As root: mounts that nobody else sees and that end with us; an empty /dev/shm."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, private = 0x20000, (1 << 18) | (1 << 14)  # CLONE_NEWNS; MS_PRIVATE | MS_REC
    return (os.getuid() == 0 and libc.unshare(new_mounts) == 0 and libc.mount(None, b"/", None, private, None) == 0
            and libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, None) == 0)


def enter(limits=(), user=None, closed=()):
    """In the new process, before it becomes the command."""
    # A shell has its background jobs ignore Ctrl-C, nohup a hang-up: that is not passed on.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    # Whoever takes all memory goes first, before anybody else on this machine.
    pathlib.Path("/proc/self/oom_score_adj").write_text("1000")
    for what, value in limits:
        hard = resource.getrlimit(what)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for fd in closed:
        os.close(fd)


class Case:
    def __init__(self, world, scenario, seed, number):
        self.world, self.scenario, self.number = world, scenario, number
        self.random = random.Random(f"{seed}/{scenario}/{number}")
        self.folder = world.root / f"{scenario}-{number}"
        self.work, self.tmp, self.streams = (self.folder / name for name in ("work", "tmp", "streams"))
        for folder in (self.work, self.tmp, self.streams):
            folder.mkdir(parents=True)
            folder.chmod(0o777)
        self.processes, self.log = [], []
        self.spoilt = set()  # folders that we have written nonsense to: not kolm's fault
        self.mounts = []

    def note(self, text):
        self.log.append(text)

    def demand(self, what, holds, seen):
        if not holds:
            raise Finding([(what, seen)])

    def start(self, *args, **how):
        return Process(self, [str(arg) for arg in args], **how)

    def kolm(self, *args, **how):
        return self.start(*args, **how).finish()

    def again(self, options, folder="run", **how):
        """After the attack the same command works in the same place."""
        options = {**options, "steps": 3, "warmup": 0, "run-dir": folder}
        if "--overwrite" in self.world.train_help:
            options["overwrite"] = True
        for name in ("inject", "dump-check"):
            options.pop(name, None)
        done = self.kolm("train", *flags(options), codes={0}, **how)
        self.demand("the same command works again", (self.work / folder / "summary.json").exists(), "no summary.json")
        return done

    def mount(self, folder, size):
        """A small file system of its own."""
        if not self.world.private:
            raise Skip("small file systems need root")
        folder.mkdir()
        self.note(f"mount -t tmpfs -o size={size} tmpfs {folder.name}")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
        self.mounts.append(folder)
        folder.chmod(0o777)

    def close(self):
        for process in self.processes:
            process.end()
        for folder in self.mounts:
            subprocess.run(["umount", "-l", folder], check=False)


class Process:
    """One command. codes: the exit codes that are right; left: it may leave files behind;
    mpi: number of processes for mpirun; streams: see open_stream."""

    def __init__(self, case, args, codes=(0,), env=None, limits=(), user=None, stdin="null", stdout="file",
                 stderr="file", cwd=None, mpi=0, left=False, bound=BOUND):
        self.case, self.args, self.codes, self.left, self.mpi, self.bound = case, args, set(codes), left, mpi, bound
        self.number = len(case.processes)
        self.out, self.err = case.streams / f"{self.number}.out", case.streams / f"{self.number}.err"
        self.readable_err = stderr in ("file", "pipe")
        self.mark = f"{case.folder}/{self.number}"
        env = env or {}
        argv = ([case.world.mpiexec, "-n", str(mpi)] if mpi else []) + [str(case.world.kolm), *args]
        self.describe(args, env, limits, user, (stdin, stdout, stderr), cwd, mpi)
        own = {name: value for name, value in os.environ.items() if not name.startswith("KOLM")}
        own.update({"TMPDIR": str(case.tmp), "LC_ALL": "C", **(FOR_MPI if mpi else {}), **env, "KOLM_ABUSE": self.mark})
        closed = [fd for fd, kind in enumerate((stdin, stdout, stderr)) if kind == "closed"]
        files, self.pipes = [], {}
        for kind, path in ((stdin, None), (stdout, self.out), (stderr, self.err)):
            file, reader = open_stream(kind, path)
            files.append(file)
            if reader is not None:
                self.pipes[reader] = path
        self.started = time.monotonic()
        self.popen = subprocess.Popen(argv, cwd=cwd or case.work, env=own, stdin=files[0], stdout=files[1],
                                      stderr=files[2], start_new_session=True,
                                      preexec_fn=lambda: enter(limits, user, closed))
        for file in files:
            file.close()
        case.processes.append(self)

    def describe(self, args, env, limits, user, streams, cwd, mpi):
        words = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
        words += [f"[{name} {value}]" for name, value in
                  [(LIMIT_NAMES[what], value) for what, value in limits] + ([("as user", user)] if user else [])]
        words += [f"mpirun -n {mpi}"] if mpi else []
        words += ["kolm", shlex.join(args)]
        words += [f"[standard {name}: {'terminal' if isinstance(kind, int) else kind}]" for name, kind in zip(("input", "output", "error"), streams)
                  if kind not in ("file", "null", "pipe")]
        words += [f"[in {cwd}]"] if cwd else []
        self.command = " ".join(words)
        self.case.note(self.command)

    def running(self):
        return self.popen.poll() is None

    def wait_for(self, condition, seconds=30):
        """Until it holds; False if that takes too long or the command has ended before."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.running():
            if condition():
                return True
            time.sleep(0.002)
        return False

    def steps(self, folder="run"):
        try:
            return (self.case.work / folder / "metrics.jsonl").read_bytes().count(b"\n")
        except OSError:
            return 0

    def ranks(self):
        """The ranks' processes in their order: the supervisor has no other children."""
        if self.mpi:
            numbered = {}
            for pid in self.all():
                found = re.search(rb"\0(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)\0", environment(pid))
                if found:
                    numbered[int(found.group(1))] = pid
            return [numbered[rank] for rank in sorted(numbered)]
        try:
            path = f"/proc/{self.popen.pid}/task/{self.popen.pid}/children"
            return [int(word) for word in pathlib.Path(path).read_text().split()]
        except OSError:
            return []

    def signal(self, number, rank=None):
        """To the command itself, or to one of its ranks; False if it is gone."""
        try:
            pid = self.popen.pid if rank is None else self.ranks()[rank]
            os.kill(pid, number)
        except (ProcessLookupError, IndexError):
            return False
        self.case.note(f"{signal.Signals(number).name} to {'it' if rank is None else f'rank {rank}'} "
                       f"after {time.monotonic() - self.started:.3f} s")
        return True

    def all(self):
        """Whatever was started from it, however, and still lives: it carries the mark."""
        mark = f"\0KOLM_ABUSE={self.mark}\0".encode()
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and mark in environment(entry)]

    def end(self):
        for pid in self.all():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.popen.wait()

    def finish(self, bound=None):
        """Wait for its end and ask the invariants."""
        try:
            code = self.popen.wait(bound or self.bound)
        except subprocess.TimeoutExpired:
            code = None
        while self.pipes:
            reader, path = self.pipes.popitem()
            with open(reader, "rb") as file:
                os.set_blocking(reader, False)
                path.write_bytes(file.read() or b"")
        outcome = invariants.Outcome(self, code, time.monotonic() - self.started)
        broken = invariants.check(outcome)
        if broken:
            raise Finding(broken)
        return outcome


LIMIT_NAMES = {getattr(resource, name): name for name in dir(resource) if name.startswith("RLIMIT_")}


def open_stream(kind, path):
    """The stream, and where to read later what went into it, if that is a pipe.

    file: to be looked at later; pipe: the same where files may not grow; full: a disk with no
    space; broken: a pipe that nobody reads; closed: enter() closes it; null; or a terminal.
    """
    if isinstance(kind, int):
        return os.fdopen(os.dup(kind), "r+b", buffering=0), None
    if kind == "file":
        return open(path, "wb"), None
    if kind == "full":
        return open("/dev/full", "r+b", buffering=0), None
    if kind in ("pipe", "broken"):
        reader, writer = os.pipe()
        if kind == "broken":
            os.close(reader)
        else:
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
        return os.fdopen(writer, "wb"), reader if kind == "pipe" else None
    return open("/dev/null", "r+b"), None


def environment(pid):
    try:
        return b"\0" + pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
