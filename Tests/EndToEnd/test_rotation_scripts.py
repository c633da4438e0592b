"""The scripts that change keys: the scheduled rotation, and the answer to a leak."""

import json
import os
import subprocess

from harness import client
from harness.case import ROOT, VaultCase

SCRIPTS = os.path.join(ROOT, "Scripts")
SIZE = 9 << 20


class RotationScripts(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def setUp(self):
        self.vault = self.new_vault()
        self.titles = []

    def script(self, name, *options, **environment):
        return subprocess.run(
            [os.path.join(SCRIPTS, name), *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300, env={**self.vault.environment, "MEDIAVAULT_BINARY": self.vault.binary, **environment})

    def assert_done(self, done):
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])

    def fetch(self):
        """Another title, held whole."""
        target = f"{self.id().rpartition('.')[2]}-{len(self.titles)}"
        url = self.origin.add(target, size=SIZE, seed=len(self.titles))
        self.vault.result("fetch", url)
        self.titles.append((url, self.origin.film(target).content))

    def states(self):
        """The state of each generation, by its number."""
        found = json.loads(self.vault.result("keys", "list", "--json"))
        return {item["number"]: item["state"] for item in found["generations"]}

    def assert_all_play(self):
        for url, content in self.titles:
            self.assertTrue(client.get(self.vault.address(url)).body == content, f"{url} does not play as it was sent")

    def test_rotation(self):
        """Each rotation makes a generation, and all but the last two are destroyed, while the service plays everything"""
        self.vault.serve()
        for expected in [{1: "active", 2: "current"}, {1: "retired", 2: "active", 3: "current"},
                         {1: "retired", 2: "retired", 3: "active", 4: "current"}]:
            self.fetch()
            self.assert_done(self.script("rotate-keys", "--min-age", "0", "--sample", "100"))
            self.assertEqual(self.states(), expected)
            self.assert_all_play()
        kept = json.loads(self.vault.result("keys", "list", "--json"))["generations"]
        self.assertEqual([item["resources"] for item in kept], [0, 0, 0, len(self.titles)])

    def test_repetition(self):
        """Run again the same day nothing is rotated, and the log says so"""
        self.fetch()
        log = os.path.join(self.vault.base, "rotation.log")
        self.assert_done(self.script("rotate-keys", "--min-age", "0", "--log", log))
        before = self.states()
        self.assert_done(self.script("rotate-keys", "--log", log))
        self.assertEqual(self.states(), before)
        with open(log, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertTrue(any("younger than 1 days" in line for line in lines), lines)
        self.assertTrue(all(line[:2] == "20" and " rotate-keys: " in line for line in lines), lines)
        self.assertEqual(os.stat(log).st_mode & 0o777, 0o600)

    def test_damage(self):
        """Where what is held does not open nothing is destroyed, and the exit code is 4"""
        self.fetch()
        self.assert_done(self.script("rotate-keys", "--min-age", "0"))
        path = next(os.path.join(parent, names[0]) for parent, _, names in os.walk(
            os.path.join(self.vault.folder, "segments")) if names)
        with open(path, "r+b") as file:
            file.seek(5000)
            file.write(b"damage")
        done = self.script("rotate-keys", "--min-age", "0", "--sample", "100")
        self.assertEqual((done.returncode, self.states()[1]), (4, "active"), done.stderr[-1000:])

    def test_wrong_key(self):
        """A key that does not open the vault is exit code 3, and an option that is none is 2"""
        other = os.path.join(self.vault.base, "other")
        with open(os.open(other, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(bytes(32))
        self.assertEqual(self.script("rotate-keys", MEDIAVAULT_KEY_FILE=other).returncode, 3)
        for name in ("rotate-keys", "respond-to-leak"):
            self.assertEqual(self.script(name, "--no-such-option").returncode, 2)
        self.assertEqual(self.script("rotate-keys", "--keep", "0").returncode, 2)
        self.assertEqual(self.states(), {1: "current"})

    def test_leak(self):
        """After respond-to-leak one generation is left, older addresses are void, and everything plays by new ones"""
        self.fetch()
        self.fetch()
        self.vault.serve()
        old = self.vault.address(self.titles[0][0])
        report = os.path.join(self.vault.base, "report")
        self.assert_done(self.script("respond-to-leak", "--yes", "--limit-rate", "500M", "--report", report))
        self.assertEqual(self.states(), {1: "retired", 2: "current"})
        self.assertEqual(client.get(old).status, 404)
        self.assert_all_play()
        with open(report, encoding="utf-8") as file:
            said = file.read()
        for step in ("1. rotate", "2. rewrap", "3. reseal", "4. retire", "5. report", "generation 1: retired"):
            self.assertIn(step, said)
        # A response that was broken off at its end goes on, and makes no further generation.
        self.assert_done(self.script("respond-to-leak", "--yes", "--resume", "--no-reseal"))
        self.assertEqual(self.states(), {1: "retired", 2: "current"})

    def test_nobody_to_ask(self):
        """Where nobody can be asked, respond-to-leak does nothing without --yes"""
        self.assertEqual(self.script("respond-to-leak").returncode, 2)
        self.assertEqual(self.states(), {1: "current"})
