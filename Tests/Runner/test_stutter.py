"""A run whose processes are stopped for moments."""

import os
import subprocess
import unittest

from stutter import Stutter


class Stops(unittest.TestCase):
    def setUp(self):
        try:
            self.stutter = Stutter(seed=1)
        except OSError as error:
            self.skipTest(str(error))

    def test_frozen(self):
        """A process of the group and what it starts stand still again and again, go on, and end as they would"""
        with self.stutter:
            # The inner shell notices a pause of its own: two looks at the clock that are far apart.
            script = """
bash -c 'last=$(date +%s%N); while :; do now=$(date +%s%N); [ $((now - last)) -lt 100000000 ] || exit 7; last=$now; done'
"""
            # A busy machine makes a pause, too: only one after a stop shows that the group was stopped.
            while not self.stutter.stops:
                done = subprocess.run([*self.stutter.prefix, "bash", "-c", script], timeout=120, check=False)
                self.assertEqual(done.returncode, 7)

    def test_removed(self):
        """The group is gone afterwards, and a program outside never was in it"""
        with self.stutter:
            folder = self.stutter.folder
            self.assertTrue(os.path.isdir(folder))
            with open("/proc/self/cgroup", encoding="ascii") as file:
                self.assertNotIn(os.path.basename(folder), file.read())
        self.assertFalse(os.path.exists(folder))
