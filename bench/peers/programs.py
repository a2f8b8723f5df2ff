"""Programs that a comparison starts, and what becomes of them."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LOOK_SECONDS = 0.02


class Trouble(Exception):
    """Why it ends here, for the user, and with which exit code."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


def failure(command, code, said):
    """Trouble with the last line that a program said."""
    if code < 0:
        return Trouble(f"{os.path.basename(command[0])} was ended by signal {-code}")
    return Trouble((said.strip().splitlines() or [f"exit code {code}"])[-1])


def output(command):
    """What a program prints."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    except OSError as e:
        raise Trouble(f"{command[0]}: {e.strerror}")
    if done.returncode:
        raise failure(command, done.returncode, done.stderr)
    return done.stdout


def script(name, *arguments):
    return output([sys.executable, os.path.join(HERE, name), *arguments])


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
            return compare(a, folder)
    except Trouble as t:
        print(f"{name}: {t}", file=sys.stderr)
        return t.code
    except KeyboardInterrupt:
        return 130
