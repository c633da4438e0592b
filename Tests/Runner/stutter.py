"""Stops all processes of a run for moments, at random, as a busy machine does: what then fails waits too briefly."""

import contextlib
import os
import random
import threading

RUNS, STOPS = (0.3, 3.0), (0.1, 2.0)  # seconds: bounds of how long the processes run, and stand still


class Stutter:
    """A control group whose processes are frozen again and again while a `with` block runs."""

    def __init__(self, seed):
        self._dice, self._is_over, self.stops = random.Random(seed), threading.Event(), 0
        self.folder = os.path.join(_hierarchy(), f"mediavault-stutter-{os.getpid()}")
        os.mkdir(self.folder)

    @property
    def prefix(self):
        """The beginning of a command that runs another one in the group."""
        return ("sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', self.folder)

    def __enter__(self):
        self._thread = threading.Thread(target=self._work)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        with contextlib.suppress(OSError):  # a process that is still ending
            os.rmdir(self.folder)

    def _work(self):
        while not self._is_over.wait(self._dice.uniform(*RUNS)):
            self._write("cgroup.freeze", "1")
            self._is_over.wait(self._dice.uniform(*STOPS))
            self._write("cgroup.freeze", "0")
            self.stops += 1

    def _write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(text)


def _hierarchy():
    """Returns where the system has its control groups of the second version, which can be frozen."""
    with open("/proc/mounts", encoding="ascii") as file:
        for line in file:
            _, folder, kind, *_ = line.split()
            if kind == "cgroup2" and os.access(folder, os.W_OK):
                return folder
    raise OSError("this user cannot create control groups here, and so cannot stop all processes of a run")
