"""How the parts of a run are run side by side, and what is kept of them."""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest
import unittest.mock

from counts import Count
from kept_times import Times
from schedule import Part, Schedule


def count(lines, status):
    return Count.failure(lines) if status else Count(passed=1)


def is_running(process):
    """Whether a process is there, and is more than an exit code."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


class Scheduling(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.ends = folder.name, []

    def path(self, name):
        return os.path.join(self.folder, name)

    def part(self, name, script, **options):
        return Part(name, ("bash", "-c", script), count, **options)

    def run_parts(self, *parts, places=3):
        Schedule(parts, places, self.folder, lambda part, count, seconds: self.ends.append((part.name, count))).run()
        return {name: (count.passed, count.failed) for name, count in self.ends}

    def test_beside(self):
        """Parts for which there is room run at the same time"""
        os.mkfifo(self.path("pipe"))
        found = self.run_parts(
            self.part("writes", f"timeout 60 bash -c 'echo word >{self.path('pipe')}'"),
            self.part("reads", f"timeout 60 cat {self.path('pipe')}"))
        self.assertEqual(found, {"writes": (1, 0), "reads": (1, 0)})

    def test_places(self):
        """What needs more places than are free waits for them, and what is alone for all others"""
        mark = self.path("running")
        lonely = f"test ! -e {mark} && mkdir {mark} && sleep 0.05 && rmdir {mark}"
        found = self.run_parts(
            self.part("alone", lonely, is_alone=True), self.part("one", lonely, places=2),
            self.part("two", lonely, places=2), self.part("alone too", lonely, is_alone=True))
        self.assertEqual(set(found.values()), {(1, 0)}, self.ends)
        self.assertEqual([name for name, _ in self.ends][2:], ["alone", "alone too"])

    def test_needs(self):
        """What needs a part runs after it, and fails by name if that has failed, which no other part notices"""
        found = self.run_parts(
            self.part("uses", f"test -e {self.path('made')}", after=("makes",)), self.part("makes", f"touch {self.path('made')}"),
            self.part("lost", "true", after=("breaks",)), self.part("breaks", "exit 3"),
            self.part("lost too", "true", after=("lost",)))
        self.assertEqual(found, {"makes": (1, 0), "uses": (1, 0), "breaks": (0, 1), "lost": (0, 1), "lost too": (0, 1)})
        self.assertIn("breaks failed", dict(self.ends)["lost"].failures[0])

    def test_missing(self):
        """A command that does not exist is a failure of its part"""
        Schedule([Part("gone", ("/nowhere/command",), count)], 1, self.folder,
                 lambda part, count, seconds: self.ends.append((part.name, count))).run()
        self.assertEqual(self.ends[0][1].failed, 1)

    def test_interrupt(self):
        """An interrupt ends the parts that run, and starts no other"""
        os.mkfifo(self.path("started"))
        parts = [self.part("runs", f"echo >{self.path('started')}; sleep 600"), self.part("waits", "true", after=("runs",))]
        schedule = Schedule(parts, 1, self.folder, lambda part, count, seconds: self.ends.append((part.name, count)))

        def interrupt():
            with open(self.path("started"), encoding="ascii"):
                schedule.end()

        thread = threading.Thread(target=interrupt)
        thread.start()
        schedule.run()
        thread.join()
        self.assertEqual([(name, count.failed) for name, count in self.ends], [("runs", 1)])

    def test_unreported(self):
        """A count that cannot be reported ends the run with that error, and the other parts with it"""
        def report(*_):
            raise OSError("no terminal")

        parts = [self.part("one", "true"), self.part("other", "sleep 600")]
        with self.assertRaisesRegex(OSError, "no terminal"):
            Schedule(parts, 3, self.folder, report).run()

    def test_hangs(self):
        """A part that does not end within its limit is ended with all that it started, and failed"""
        script = f"trap '' INT TERM; (set -m; sleep 600 & echo $! >{self.path('child')}; wait)"
        part = self.part("hangs", script, limit=0.5)
        with unittest.mock.patch("schedule.PATIENCE", 0.5):
            self.assertEqual(self.run_parts(part), {"hangs": (0, 1)})
        self.assertIn("did not end within 0.5 s", self.ends[0][1].failures[0])
        with open(self.path("child"), encoding="ascii") as file:
            child = int(file.read())
        for _ in range(6000):  # the signal is on its way
            if not is_running(child):
                return
            time.sleep(0.01)
        self.fail("what it started runs on")

    def test_unplanned(self):
        """A part that needs one that does not exist is an error"""
        with self.assertRaisesRegex(ValueError, "lost needs a part that does not exist"):
            self.run_parts(self.part("lost", "true", after=("nothing",)))

    def test_log(self):
        """The output of a part is in a log of its name"""
        self.run_parts(self.part("says", "echo word; echo other >&2"))
        with open(self.path("says.log"), encoding="ascii") as file:
            self.assertEqual(file.read(), "word\nother\n")


class Keeping(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "logs", "times.json")

    def test_kept(self):
        """Times of a run take the place of earlier ones, and those of what did not run stay"""
        for name, seconds in (("one", 1.0), ("two", 2.0), ("one", 3.0)):
            times = Times(self.path)
            times.add("modules", name, seconds)
            times.keep()
        times = Times(self.path)
        self.assertEqual([times.of("modules", name, 7.0) for name in ("one", "two", "new")], [3.0, 2.0, 7.0])

    def test_beside(self):
        """Two parts of one run keep their times in one file"""
        one, other = Times(self.path), Times(self.path)
        one.add("parts", "one", 1.0)
        other.add("checks", "other", 2.0)
        one.keep()
        other.keep()
        kept = Times(self.path)
        self.assertEqual((kept.of("parts", "one"), kept.of("checks", "other")), (1.0, 2.0))

    def test_slowest(self):
        """The slowest are those of this run, the longest first"""
        earlier = Times(self.path)
        earlier.add("modules", "before", 99.0)
        earlier.keep()
        times = Times(self.path)
        for name, seconds in (("a", 1.0), ("b", 3.0), ("c", 2.0)):
            times.add("modules", name, seconds)
        self.assertEqual(times.slowest(2, "modules"), [("b", 3.0), ("c", 2.0)])
        other = Times(self.path)  # another process of this run
        other.add("modules", "d", 2.5)
        other.keep()
        self.assertEqual(times.slowest(2, "modules"), [("b", 3.0), ("d", 2.5)])

    def test_unwritable(self):
        """Times that cannot be written are lost, and nothing fails"""
        os.makedirs(self.path)
        times = Times(self.path)
        times.add("modules", "a", 1.0)
        times.keep()
        self.assertEqual(times.slowest(1, "modules"), [("a", 1.0)])

    def test_damaged(self):
        """A damaged file is as good as none"""
        os.makedirs(os.path.dirname(self.path))
        for text in ("", "[]", "{", '{"parts": 1}', '{"parts": {}, "modules": {"a": "b"}, "checks": {}}', "\x00"):
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text)
            times = Times(self.path)
            self.assertEqual(times.of("modules", "a", 5.0), 5.0, text)
            times.add("modules", "a", 1.0)
            times.keep()
            with open(self.path, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["modules"], {"a": 1.0})
