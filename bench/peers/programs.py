"""Programs that a comparison starts, and what becomes of them."""
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LOOK_SECONDS = 0.02


class Trouble(Exception):
    """Why it ends here, for the user, and with which exit code; or the signal that ended a program."""

    def __init__(self, message, code=1, by_signal=0):
        super().__init__(message)
        self.code, self.signal = code, by_signal


def failure(command, code, said):
    """Trouble with the last line that a program said."""
    if code < 0:
        return Trouble(f"{os.path.basename(command[0])} was ended by signal {-code}", by_signal=-code)
    return Trouble((said.strip().splitlines() or [f"exit code {code}"])[-1])


def output(command, **more):
    """What a program prints; more: variables of its environment."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **more})
    except OSError as e:
        raise Trouble(f"{command[0]}: {e.strerror}")
    if done.returncode:
        raise failure(command, done.returncode, done.stderr)
    return done.stdout


class Tiles:
    """Whether PyTorch has to be told how large AMX's tiles are: see show_tiles.c."""
    folder = None  # for the library, which is made when it is wanted
    environment = {}

    @classmethod
    def show(cls):
        """From now on; False where that does not work, or was done."""
        with open("/proc/cpuinfo") as f:
            if cls.environment or not cls.folder or "amx_tile" not in f.read():
                return False
        library = os.path.join(cls.folder, "show_tiles.so")
        try:
            output(["cc", "-O1", "-shared", "-fPIC", "-o", library, os.path.join(HERE, "show_tiles.c")])
        except Trouble:
            return False
        cls.environment = {"LD_PRELOAD": " ".join(filter(None, [library, os.environ.get("LD_PRELOAD")]))}
        print("PyTorch was ended by SIGILL: this machine has AMX, but does not tell how large its tiles are; "
              "from here on PyTorch is told (bench/peers/show_tiles.c)", flush=True)
        return True


def script(name, *arguments):
    command = [sys.executable, os.path.join(HERE, name), *arguments]
    try:
        return output(command, **Tiles.environment)
    except Trouble as t:
        if t.signal == signal.SIGILL and Tiles.show():
            return output(command, **Tiles.environment)
        raise


def family(pid):
    """A process and all that it and its children have started."""
    found = [pid]
    for one in found:  # grows while it is walked
        try:
            with open(f"/proc/{one}/task/{one}/children") as f:
                found += map(int, f.read().split())
        except OSError:
            pass  # it has just ended
    return found


def most_memory(pid):
    """KiB that a process has had at most, so far."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def peak_kb(command):
    """Run a program; the sum of what it and its processes have had at most. What they share
    counts for each."""
    peaks = {}
    with tempfile.TemporaryFile("w+") as said:
        try:
            run = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=said)
        except OSError as e:
            raise Trouble(f"{command[0]}: {e.strerror}")
        while run.poll() is None:
            for pid in family(run.pid):
                peaks[pid] = max(peaks.get(pid, 0), most_memory(pid))
            try:
                run.wait(LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        if run.returncode:
            said.seek(0)
            raise failure(command, run.returncode, said.read())
    return sum(peaks.values())


def run_comparison(name, parse, compare):
    """The exit code of compare(arguments, a folder that is gone afterwards)."""
    try:
        a = parse()
        with tempfile.TemporaryDirectory() as folder:
            Tiles.folder = folder
            return compare(a, folder)
    except Trouble as t:
        print(f"{name}: {t}", file=sys.stderr)
        return t.code
    except KeyboardInterrupt:
        return 130
