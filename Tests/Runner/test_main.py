"""What a run prints in its end, and which options it takes."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import main
import parts
from counts import Count
from kept_times import Times
from schedule import Part


class Reports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.times, self.part = Times(os.path.join(folder.name, "times.json")), Part("some", (), None)

    def report(self, *counts, is_strict=False):
        """Returns the exit code and the last line."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            report = main.Report(self.times, is_strict)
            for count in counts:
                report(self.part, count, 1.0)
            return report.finish(), said.getvalue().splitlines()[-1]

    def test_sums(self):
        """The last line has the sums, and the run fails if a test has"""
        self.assertEqual(self.report(Count(2), Count(3, 0, 1)), (0, "5 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.report(Count(2), Count(3, 1)), (1, "5 passed, 1 failed"))

    def test_strict(self):
        """In CI, a skipped test counts as failed"""
        self.assertEqual(self.report(Count(2, 0, 1), is_strict=True), (1, "2 passed, 1 failed"))

    def test_unprinted(self):
        """A count whose note cannot be printed is in the sum all the same"""
        report = main.Report(self.times, False)
        with unittest.mock.patch("builtins.print", side_effect=OSError), self.assertRaises(OSError):
            report(self.part, Count(failed=2, notes=["figure: …"]), 1.0)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(report.finish(), 1)


class Options(unittest.TestCase):
    def test_refused(self):
        """A revision that is empty or unknown, and options that exclude each other, are refused before anything runs"""
        for options in (["--changed", ""], ["--changed", "no-such-revision"], ["--nightly", "--quick"],
                        ["--nightly", "--debug"], ["--changed", "--quick"], ["--changed=HEAD", "--debug"], ["--unknown"]):
            done = subprocess.run([sys.executable, os.path.join(parts.ROOT, "Tests", "Runner", "main.py"), *options],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertEqual(done.stdout, "", options)
            self.assertNotIn("Traceback", done.stderr, options)
