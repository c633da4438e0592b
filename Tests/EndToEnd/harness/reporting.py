"""Runs checks in this process, and reports the outcome of each as soon as it is known."""

import sys
import time
import unittest

from .case import Settings
from .outcome import Outcome


class _Result(unittest.TestResult):
    """Passes each outcome on."""

    def __init__(self, report):
        super().__init__()
        self._report = report
        self._started = time.monotonic()

    def startTest(self, test):
        super().startTest(test)
        Settings.figures.clear()
        self._started = time.monotonic()

    def addSuccess(self, test):
        self._tell("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._tell("skip", test, reason)

    def addExpectedFailure(self, test, err):
        self._failed(test, err)  # nothing may be expected to fail

    def addUnexpectedSuccess(self, test):
        self._tell("FAIL", test, "It passed, and was expected to fail.")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._failed(test, err)

    def _failed(self, test, err):
        details = self._exc_info_to_string(err, test).strip().splitlines()
        self._tell("FAIL", test, "\n".join(details[-12:]))

    def _tell(self, word, test, details=""):
        sentence = " ".join((getattr(test, "_testMethodDoc", None) or str(test)).split())
        figures = list(Settings.figures)
        Settings.figures.clear()
        self._report(Outcome(word, test.id(), sentence, time.monotonic() - self._started, details, figures))


def run(tests, report):
    """Runs the checks in order. Ends the processes that they started, even after an interrupt."""
    try:
        unittest.TestSuite(tests).run(_Result(report))
    finally:
        for case in {type(test) for test in tests}:
            case.doClassCleanups()


def fail(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(2)
