"""Prints one line per check, the details of a failure below it, the figures, and a count at the end."""

import sys
import time
import unittest

from .case import Settings


class LineResult(unittest.TestResult):
    def __init__(self, quiet):
        super().__init__()
        self.passed, self._quiet, self.times = 0, quiet, []
        self._started = self._ended = time.monotonic()

    def startTest(self, test):
        super().startTest(test)
        Settings.figures.clear()
        self._started = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        now = time.monotonic()
        self.times.append((test.id(), now - self._started, now - self._ended))
        self._ended = now

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

    def failed(self, tests):
        """Returns those of the tests that failed, or that did not run because their class could not be set up."""
        names = {test.id() for test, _ in self.failures + self.errors}
        classes = {name.removeprefix("setUpClass (").rstrip(")") for name in names if name.startswith("setUpClass (")}
        return [test for test in tests if test.id() in names or unittest.util.strclass(type(test)) in classes]

    def can_be_retried(self, most):
        """Returns whether there are few failures, and all of them before or in a test."""
        failures = self.failures + self.errors
        return 0 < len(failures) <= most and not any(test.id().startswith(("setUpModule", "tearDown")) for test, _ in failures)

    def durations(self):
        """Returns a line for each module, with what prepares its classes, and one for each check, the longest first."""
        modules = {}
        for name, _, whole in self.times:
            module = name.partition(".")[0]
            modules[module] = modules.get(module, 0) + whole
        longest = sorted(modules.items(), key=lambda item: -item[1])
        checks = sorted(((name, alone) for name, alone, _ in self.times), key=lambda item: -item[1])
        return [f"time: {seconds:.1f} s {name}" for name, seconds in [*longest, *checks]]


def run(tests, quiet, times=False, most_retried=0):
    """Runs the checks and returns whether all passed. Ends the processes that they started, even after an interrupt.

    After at most `most_retried` failures, tries the failed once more: those that pass then are reported as flaky and
    count as passed.
    """
    result = LineResult(quiet)
    try:
        unittest.TestSuite(tests).run(result)
        if result.can_be_retried(most_retried):
            again = result.failed(tests)
            second = LineResult(quiet)
            unittest.TestSuite(again).run(second)
            lasting = second.failed(again)
            for test in again:
                if test not in lasting:
                    print(f"flaky: {test.id()} passed at the second try")
            second.passed += result.passed
            second.skipped += result.skipped
            second.times = result.times + second.times
            result = second
    finally:
        for case in {type(test) for test in tests}:
            case.doClassCleanups()
    if times:
        print("\n".join(result.durations()))
    print(result.summary())
    return result.wasSuccessful() and result.testsRun > 0


def fail(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(2)
