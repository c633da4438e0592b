"""Benchmarks of the library: separate programs, built beside the command, that print figures with their bounds."""

import os
import re
import subprocess

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, os.pardir))
_FIGURE = re.compile(r"figure: (.+) = (\S+)( \w+)? \((<=|>=) (\S+?)( \w+)?\)")
MISSED = 1


class Program:
    """A program that runs once, when the first of its figures is requested."""

    def __init__(self, name, *arguments):
        self._path = os.path.join(ROOT, ".build", "release", name)
        self._arguments, self._lines = arguments, None

    def figure(self, name, folder):
        """Returns the row of the figure whose name contains `name`."""
        if self._lines is None:
            self._lines = self._run(folder)
        match, = (match for match in map(_FIGURE.match, self._lines) if match and name in match[1])
        value, bound, unit = float(match[2]), float(match[5]), match[3] or ""
        is_met = value <= bound if match[4] == "<=" else value >= bound
        return match[2] + unit, "", match[2] + unit, f"{match[4]} {match[5]}{unit}", is_met

    def _run(self, folder):
        if not os.access(self._path, os.X_OK):
            raise RuntimeError(f"{self._path} is not there: Scripts/bench without --binary builds it")
        done = subprocess.run(
            [self._path, *self._arguments], env={**os.environ, "TMPDIR": folder}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=1800)
        if done.returncode not in (0, MISSED):
            raise RuntimeError(f"{os.path.basename(self._path)} exited {done.returncode}: {done.stderr[-400:]}")
        return done.stdout.splitlines()
