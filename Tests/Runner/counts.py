"""What a part of the tests says in its log: how many tests passed, failed and were skipped, and which."""

import dataclasses
import re

LONGEST_LINE, LONGEST_END = 600, 60


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = dataclasses.field(default_factory=list)  # lines that say what failed
    notes: list = dataclasses.field(default_factory=list)  # lines that are printed whatever the result: skips, figures

    def __add__(self, other):
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped,
                     self.failures + other.failures, self.notes + other.notes)

    @staticmethod
    def failure(lines):
        said = lines[-LONGEST_END:] or ["It failed without a word"]
        return Count(failed=1, failures=[line[:LONGEST_LINE] for line in said])


def tool(lines, status):
    """A tool that checks the whole repository counts as one test."""
    if status:
        return Count.failure(lines)
    return Count(passed=1, notes=[line for line in lines if line.startswith("notice: ")])


def unit_tests(lines, status):
    """unittest prints `Ran 12 tests in …`, then `OK (skipped=1)` or `FAILED (failures=1, errors=2)`."""
    ran, failures, errors, skipped = (
        _number(pattern, lines) for pattern in (r"Ran (\d+) tests? in", r"failures=(\d+)", r"errors=(\d+)", r"skipped=(\d+)"))
    notes = [line for line in lines if re.search(r"skipped ['\"]", line)]
    failed = failures + errors
    if failed:
        begins = next((number for number, line in enumerate(lines) if line.startswith("=====")), 0)
        return Count(max(0, ran - failed - skipped), failed, skipped, Count.failure(lines[begins:]).failures, notes)
    if status or not ran:  # what crashed says nothing, and what found no test proves nothing
        return Count.failure(lines)
    return Count(ran - skipped, 0, skipped, [], notes)


def checks(lines, status):
    """The last line of the end-to-end runner is `12 passed, 0 failed`, perhaps with `, 1 skipped`."""
    ends = [match for line in lines if (match := re.match(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", line))]
    notes = [line for line in lines if re.match(r"(figure:|flaky:|skip) ", line)]
    if not ends or (status and not int(ends[-1][2])):
        return Count.failure(lines)
    passed, failed, skipped = (int(number or 0) for number in ends[-1].groups())
    told = [line for line in lines if line not in notes and not re.match(r"\d+ passed, ", line)]
    return Count(passed, failed, skipped, told if failed else [], notes)


def _number(pattern, lines):
    """Returns the last number that the pattern captures, or 0."""
    found = [match[1] for line in lines if (match := re.search(pattern, line))]
    return int(found[-1]) if found else 0
