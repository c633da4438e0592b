"""Prints one line per check, the details of a failure below it, the figures, and a count at the end."""

import sys
import time
import unittest

from .case import Settings


class LineResult(unittest.TestResult):
    def __init__(self, quiet):
        super().__init__()
        self.passed, self._quiet = 0, quiet
        self._started = time.monotonic()

    def startTest(self, test):
        super().startTest(test)
        Settings.figures.clear()
        self._started = time.monotonic()

    def addSuccess(self, test):
        self.passed += 1
        self._line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line("skip", test)
        print(f"      {reason}")

    def _failed(self, test, err):
        self._line("FAIL", test)
        details = self._exc_info_to_string(err, test).strip().splitlines()
        print("\n".join("      " + line[:400] for line in details[-12:]), flush=True)

    def _line(self, word, test):
        sentence = " ".join((getattr(test, "_testMethodDoc", None) or str(test)).split())
        if word != "ok" or not self._quiet:
            print(f"{word:<4}  {sentence}  [{time.monotonic() - self._started:.1f} s]", flush=True)
        while Settings.figures:
            print(Settings.figures.pop(0), flush=True)

    def summary(self):
        failed, skipped = len(self.failures) + len(self.errors), len(self.skipped)
        return f"{self.passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


def run(tests, quiet):
    """Runs the checks and returns whether all passed. Ends the processes that they started, even after an interrupt."""
    result = LineResult(quiet)
    try:
        unittest.TestSuite(tests).run(result)
    finally:
        for case in {type(test) for test in tests}:
            case.doClassCleanups()
    print(result.summary())
    return result.wasSuccessful() and result.testsRun > 0


def fail(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(2)
