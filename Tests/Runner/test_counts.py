"""What the logs of parts mean."""

import json
import os
import tempfile
import unittest

import counts
from swift_events import SwiftRun


class Logs(unittest.TestCase):
    def assert_counted(self, counter, lines, status, passed, failed, skipped=0):
        count = counter(lines, status)
        self.assertEqual((count.passed, count.failed, count.skipped), (passed, failed, skipped), lines)
        self.assertEqual(bool(count.failures), failed > 0, "what failed is named")
        return count

    def test_tool(self):
        """A tool counts as one test, and its notices are passed on"""
        count = self.assert_counted(counts.tool, ["notice: it can go", "fine"], 0, 1, 0)
        self.assertEqual(count.notes, ["notice: it can go"])
        self.assert_counted(counts.tool, ["a.sh:3: error"], 1, 0, 1)

    def test_unit_tests(self):
        """The results of unittest are counted, and a run that crashed or found no test has failed"""
        self.assert_counted(counts.unit_tests, ["Ran 12 tests in 3.1s", "OK"], 0, 12, 0)
        self.assert_counted(counts.unit_tests, ["Ran 12 tests in 3.1s", "OK (skipped=2)"], 0, 10, 0, 2)
        self.assert_counted(
            counts.unit_tests, ["Ran 12 tests in 3.1s", "FAILED (failures=1, errors=2, skipped=1)"], 1, 8, 3, 1)
        self.assert_counted(counts.unit_tests, ["Segmentation fault"], 139, 0, 1)
        self.assert_counted(counts.unit_tests, ["Ran 0 tests in 0.0s", "OK"], 0, 0, 1)
        self.assert_counted(counts.unit_tests, [], 0, 0, 1)

    def test_checks(self):
        """The results of the end-to-end runner are counted, its figures and skips passed on"""
        count = self.assert_counted(
            counts.checks, ["figure: waits = 1 s", "skip  no root", "12 passed, 0 failed, 1 skipped"], 0, 12, 0, 1)
        self.assertEqual(count.notes, ["figure: waits = 1 s", "skip  no root"])
        self.assert_counted(counts.checks, ["FAIL  it plays", "2 passed, 3 failed"], 1, 2, 3)
        self.assert_counted(counts.checks, ["2 passed, 0 failed"], 1, 0, 1)
        self.assert_counted(counts.checks, ["Traceback"], 1, 0, 1)
        self.assert_counted(counts.checks, [], 0, 0, 1)


class Events(unittest.TestCase):
    def run_of(self, *payloads):
        file = tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False)
        self.addCleanup(os.remove, file.name)
        with file:
            for number, payload in enumerate(payloads):
                if isinstance(payload, str):
                    file.write(payload)
                    continue
                kind = "test" if "name" in payload else "event"
                if kind == "event":
                    payload = {"instant": {"absolute": float(number)}, "messages": [], **payload}
                file.write(json.dumps({"kind": kind, "payload": payload, "version": 0}) + "\n")
        return SwiftRun(file.name)

    @staticmethod
    def declared(name):
        return {"id": f"M.S/{name}()", "kind": "function", "name": f"{name}()", "displayName": f"It {name}"}

    @staticmethod
    def event(kind, name, symbol=None, text="", **more):
        messages = [{"symbol": symbol, "text": text}] if symbol else []
        return {"kind": kind, "testID": f"M.S/{name}()", "messages": messages, **more}

    def case(self, name, argument, kind):
        return self.event(kind, name, _testCase={"id": argument})

    END = {"kind": "runEnded"}

    def test_counts(self):
        """Tests pass, fail and are skipped; one with many arguments counts once, and its cases add up"""
        run = self.run_of(
            {"id": "M.S", "kind": "suite", "name": "S"}, self.declared("works"), self.declared("breaks"), self.declared("rests"),
            self.case("works", 1, "testCaseStarted"), self.case("works", 2, "testCaseStarted"),
            self.case("works", 1, "testCaseEnded"), self.case("works", 2, "testCaseEnded"),
            self.event("testEnded", "works", "pass"),
            self.event("issueRecorded", "breaks", "fail", "the bytes differ", issue={"isKnown": False}),
            self.event("testEnded", "breaks", "fail"), self.event("testSkipped", "rests", "skip", "no root"), self.END)
        count = run.count()
        self.assertEqual((count.passed, count.failed, count.skipped), (1, 1, 1))
        self.assertEqual(count.failures, ["It breaks: the bytes differ"])
        self.assertIn("It rests", count.notes[0])
        self.assertEqual(run.seconds, {"M.S/works()": 4.0})
        self.assertEqual(run.suites(), {"M.S": 4.0})

    def test_crash(self):
        """A run that is cut off has failed, and names what was running"""
        run = self.run_of(
            self.declared("works"), self.declared("crashes"), self.event("testEnded", "works", "pass"),
            self.case("crashes", 1, "testCaseStarted"), '{"kind": "ev')
        count = run.count()
        self.assertEqual((count.passed, count.failed), (1, 1))
        self.assertIn("It crashes", count.failures[0])

    def test_nothing(self):
        """A run without a test has failed"""
        self.assertEqual(self.run_of(self.END).count().failed, 1)
        self.assertEqual(SwiftRun("/nowhere/events").count().failed, 1)
