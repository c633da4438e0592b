"""Reads the events that Swift Testing writes as a run goes on: what became of each test, and how long each took."""

import contextlib
import json

from counts import LONGEST_LINE, Count


class SwiftRun:
    """A run, whole or cut off by a crash. Tests are counted as Swift Testing does: a test with many arguments is one."""

    def __init__(self, path):
        self.seconds, self._begun, self._ended, self._is_complete = {}, {}, {}, False
        self._functions, self._names, self._skipped, self._said = set(), {}, {}, {}
        for event in _read(path):
            self._take(event["kind"], event["payload"])

    def _take(self, kind, payload):
        if kind == "test":
            self._names[payload["id"]] = payload.get("displayName") or payload["name"]
            if payload["kind"] == "function":
                self._functions.add(payload["id"])
            return
        test, what, now = payload.get("testID"), payload["kind"], payload["instant"]["absolute"]
        case = (test, json.dumps(payload.get("_testCase", {}).get("id")))
        said = [message["text"] for message in payload.get("messages", [])]
        if what == "testCaseStarted":
            self._begun[case] = now
        elif what == "testCaseEnded" and case in self._begun:
            self.seconds[test] = self.seconds.get(test, 0.0) + now - self._begun.pop(case)
        elif what == "testSkipped":
            self._skipped[test] = " ".join(said)
        elif what == "issueRecorded" and not payload["issue"].get("isKnown") and payload["issue"].get("severity") != "warning":
            self._said.setdefault(test, []).extend(said)
        elif what == "testEnded":
            self._ended[test] = payload["messages"][0]["symbol"] if payload.get("messages") else "pass"
        elif what == "runEnded":
            self._is_complete = True

    def failed(self):
        """Returns the ids of the tests that failed."""
        return sorted(test for test in self._functions if self._ended.get(test) == "fail")

    def count(self):
        failed = self.failed()
        failures = [f"{self._names[test]}: {line}"[:LONGEST_LINE] for test in failed for line in self._said.get(test, ["failed"])]
        skipped = sorted(self._functions & self._skipped.keys())
        passed = (self._functions & self._ended.keys()) - set(failed) - set(skipped)
        notes = [f"skip  {self._names[test]}: {self._skipped[test]}" for test in skipped]
        count = Count(len(passed), len(failed), len(skipped), failures, notes)
        if not self._is_complete:
            running = sorted({self._names.get(test, "a test") for test, _ in self._begun})
            count.failed += 1
            count.failures.append(f"The run was cut off during: {'; '.join(running) or 'nothing'}"[:LONGEST_LINE])
        elif not count.passed and not failed:
            count += Count.failure(["No Swift test was run"])
        return count

    def suites(self):
        """Returns how long the tests of each suite took, one after the other."""
        sums = {}
        for test, seconds in self.seconds.items():
            suite = test.partition("/")[0]
            sums[suite] = sums.get(suite, 0.0) + seconds
        return sums


def _read(path):
    """Yields the events of a file; the last one is lost if the run crashed as it wrote it."""
    with contextlib.suppress(FileNotFoundError, ValueError), open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
