"""A vault on a full disk: commands that only read work, and key operations report that space is missing."""

import json
import os
import re
import subprocess

from harness.case import ROOT, VaultCase
from harness.small_disk import SmallDisk

SIZE = 3 << 20
LOOKS = (("status",), ("list",), ("keys", "list"), ("keys", "audit"))


class FullDiskKeys(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.url = cls.origin.add("film.mp4", size=SIZE, seed=3)

    def setUp(self):
        self.vault = self.new_vault()
        self.vault.result("fetch", self.url)
        self.vault.result("keys", "rotate")
        self.disk = SmallDisk(self, self.vault, 12)
        # Without the reserve, because with it some of these key operations would find space.
        os.unlink(os.path.join(self.vault.folder, "reserve"))

    def fill(self):
        self.disk.fill()
        self.assertEqual(self.disk.free(), 0)

    def looks(self):
        """Returns the JSON output of each command that only reads."""
        found = {}
        for look in LOOKS:
            done = self.vault.run(*look, "--json")
            self.assertEqual(done.returncode, 0, (look, done.stderr[-400:]))
            found[look] = json.loads(done.stdout)
        # That the disk is full is the one thing that differs.
        found["status",].pop("storeFailure")
        return found

    def script(self, name, *options):
        return subprocess.run(
            [os.path.join(ROOT, "Scripts", name), *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300, env={**self.vault.environment, "MEDIAVAULT_BINARY": self.vault.binary})

    def states(self):
        return [item["state"] for item in json.loads(self.vault.result("keys", "list", "--json"))["generations"]]

    def test_looking(self):
        """Without a service, status, list, keys list and keys audit report the same on a full disk as before"""
        expected = self.looks()
        for _ in range(2):
            self.fill()
            self.assertEqual(self.looks(), expected)
            self.disk.empty()
        self.vault.result("keys", "rewrap")

    def test_looking_after_a_kill(self):
        """On a full disk commands that only read see the last commits of a killed service, which are only in the WAL"""
        service = self.vault.serve()
        self.vault.result("keys", "rotate")
        service.process.kill()
        service.process.wait()
        wal = os.path.join(self.vault.folder, "index.sqlite-wal")
        self.assertGreater(os.path.getsize(wal), 0)
        expected = self.looks()
        self.assertEqual([item["state"] for item in expected["keys", "list"]["generations"]],
                         ["active", "active", "current"])
        self.fill()
        self.assertEqual(self.looks(), expected)

    def test_scripts(self):
        """Both scripts exit with 1 if the disk is full, report what they did, and succeed once there is space"""
        for options in (("rotate-keys", "--min-age", "0", "--sample", "0"),
                        ("respond-to-leak", "--yes", "--limit-rate", "500M")):
            before = self.states()
            self.fill()
            done = self.script(*options)
            self.assertEqual(done.returncode, 1, done.stdout[-1000:] + done.stderr[-1000:])
            self.assertIn("no space left on the disk", done.stderr)
            self.assertRegex(done.stderr, rf"fix that, then run \S*/{' '.join(options)}( --\S+)* to continue")
            # The space that is left in SQLite's side files can be enough for the first step.
            made = len(re.findall("rotating( the root)?: done", done.stdout))
            self.assertEqual(len(self.states()), len(before) + made, done.stdout + done.stderr)
            self.assertEqual(self.states().count("retired"), before.count("retired"))
            self.assertEqual(json.loads(self.vault.result("keys", "audit", "--json"))["sound"], True)
            self.disk.empty()
            done = self.script(*options)
            self.assertEqual(done.returncode, 0, done.stdout[-1000:] + done.stderr[-1000:])
        self.assertEqual(set(self.states()), {"retired", "current"})
