"""The scripts that change keys: the scheduled rotation, and the response to a leak."""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import threading

from harness import client, stored_records
from harness.case import ROOT, VaultCase, each
from harness.full_vault import CATALOGS
from harness.terminal import Terminal
from harness.waiting import eventually

SCRIPTS = os.path.join(ROOT, "Scripts")
SIZE = 9 << 20


class RotationScripts(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def setUp(self):
        self.vault = self.new_vault()
        self.titles = []

    def script(self, name, *options, stdin=subprocess.DEVNULL, **environment):
        return subprocess.run(
            [os.path.join(SCRIPTS, name), *options], stdin=stdin, capture_output=True, text=True,
            timeout=300, env={**self.vault.environment, "MEDIAVAULT_BINARY": self.vault.binary, **environment})

    def report(self):
        """Returns a path for a report, which a shell command has to quote."""
        return os.path.join(self.vault.base, "the report")

    def lines(self, path):
        """Returns the lines of a log, without their times."""
        with open(path, encoding="utf-8") as file:
            return [line.rstrip("\n").partition(": ")[2] for line in file]

    def is_resealing(self):
        with sqlite3.connect(f"file:{self.vault.folder}/index.sqlite?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM resourceKey").fetchone()[0] > len(self.titles)

    def assert_continues(self, said, *options):
        """Checks that the script stated its own command line as the one that continues."""
        stated = re.search(r"run (.+) to continue", said)
        self.assertTrue(stated, said)
        self.assertEqual(shlex.split(stated[1]), [os.path.join(SCRIPTS, "respond-to-leak"), *options])

    def wrong_key(self):
        other = os.path.join(self.vault.base, "other")
        with open(os.open(other, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(bytes(32))
        return other

    def assert_done(self, done):
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])

    def fetch(self):
        """Fetches another title completely."""
        target = f"{self.id().rpartition('.')[2]}-{len(self.titles)}"
        url = self.origin.add(target, size=SIZE, seed=len(self.titles))
        self.vault.result("fetch", url)
        self.titles.append((url, self.origin.film(target).content))

    def states(self):
        """Returns the state of each generation, by its number."""
        found = json.loads(self.vault.result("keys", "list", "--json"))
        return {item["number"]: item["state"] for item in found["generations"]}

    def assert_all_play(self):
        for url, content in self.titles:
            self.assertTrue(client.get(self.vault.address(url)).body == content, f"the bytes of {url} differ")

    def test_rotation(self):
        """Each rotation creates a generation and destroys all but the last two, while the service plays every title"""
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
        """A second run on the same day rotates nothing, and logs that"""
        self.fetch()
        log = os.path.join(self.vault.base, "rotation.log")
        self.assert_done(self.script("rotate-keys", "--min-age", "0", "--log", log))
        before = self.states()
        self.assert_done(self.script("rotate-keys", "--log", log))
        self.assertEqual(self.states(), before)
        with open(log, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertTrue(any("younger than 1 day;" in line for line in lines), lines)
        self.assertTrue(all(line[:2] == "20" and " rotate-keys: " in line for line in lines), lines)
        self.assertEqual(os.stat(log).st_mode & 0o777, 0o600)

    def test_damage(self):
        """If held data does not open, rotate-keys destroys nothing and exits 4"""
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
        """The scripts exit 3 if the key does not open the vault, and 2 if an option is unknown"""
        other = self.wrong_key()
        for options in (("rotate-keys",), ("respond-to-leak", "--yes"), ("respond-to-leak", "--yes", "--resume")):
            self.assertEqual(self.script(*options, MEDIAVAULT_KEY_FILE=other).returncode, 3, options)
        for name in ("rotate-keys", "respond-to-leak"):
            self.assertEqual(self.script(name, "--no-such-option").returncode, 2)
            help_text = self.script(name, "--help")
            self.assertEqual((help_text.returncode, help_text.stderr), (0, ""))
            self.assertIn(f"Scripts/{name}", help_text.stdout)
        self.assertEqual(self.script("rotate-keys", "--keep", "0").returncode, 2)
        self.assertEqual(self.states(), {1: "current"})

    def test_leak(self):
        """After respond-to-leak only one generation is left, old links are void, every title plays by new links, and
        the keyring that leaked opens no record"""
        self.fetch()
        self.fetch()
        leaked = stored_records.keys_of(self.vault.keyring, self.vault.key)
        self.vault.serve()
        old = self.vault.address(self.titles[0][0])
        report = os.path.join(self.vault.base, "report")
        self.assert_done(self.script("respond-to-leak", "--yes", "--limit-rate", "500M", "--report", report))
        self.assertEqual(self.states(), {1: "retired", 2: "current"})
        self.assertEqual(client.get(old).status, 404)
        self.assertEqual(stored_records.opened(stored_records.of_vault(self.vault), leaked), 0)
        self.assert_all_play()
        with open(report, encoding="utf-8") as file:
            said = file.read()
        for step in ("1. rotate", "2. rewrap", "3. reseal", "4. retire", "5. report", "generation 1: retired",
                     "keys rotate --locator"):
            self.assertIn(step, said)
        # A response that was interrupted at its end resumes, and creates no further generation.
        self.assert_done(self.script("respond-to-leak", "--yes", "--resume", "--no-reseal"))
        self.assertEqual(self.states(), {1: "retired", 2: "current"})

    def test_root_revocation(self):
        """After keys revoke-root a copied keyring and the key that opened it open nothing in the folder, with a service
        and without one, and every title plays"""
        self.fetch()
        copied = os.path.join(self.vault.base, "copied.json")
        shutil.copy(self.vault.environment["MEDIAVAULT_KEYRING"], copied)
        keys = stored_records.keys_of(copied, self.vault.key)
        said = self.vault.run("keys", "revoke-root")
        self.assertEqual((said.returncode, self.states()), (0, {1: "retired", 2: "current"}), said.stderr)
        self.assertIn("created a new root key", said.stderr.decode())
        opened = self.vault.run("list", MEDIAVAULT_KEYRING=copied)
        self.assertEqual(opened.returncode, 3, opened.stderr)
        self.assertEqual(stored_records.opened(stored_records.of_vault(self.vault), keys), 0)
        self.vault.serve()
        said = self.vault.run("keys", "revoke-root")
        self.assertEqual((said.returncode, self.states()), (0, {1: "retired", 2: "retired", 3: "current"}), said.stderr)
        self.assert_all_play()

    def test_nothing_to_resume(self):
        """On a vault that was never rotated --resume does nothing, reports why and exits 2, whatever other receipts
        there are"""
        self.fetch()
        for _ in range(2):
            done = self.script("respond-to-leak", "--yes", "--resume", "--no-reseal")
            self.assertEqual((done.returncode, self.states()), (2, {1: "current"}), done.stdout + done.stderr)
            self.assertIn("nothing to resume", done.stderr)
            self.assertNotIn("already done", done.stdout)
            self.vault.result("keys", "revoke-links")
        # A new generation alone does not replace the root key; it is enough for a response that keeps the root key.
        self.vault.result("keys", "rotate")
        self.assertEqual(self.script("respond-to-leak", "--yes", "--resume", "--no-reseal").returncode, 2)
        self.assertEqual(self.states(), {1: "active", 2: "current"})
        self.assert_done(self.script("respond-to-leak", "--yes", "--resume", "--keep-root", "--no-reseal"))
        self.assertEqual(self.states(), {1: "retired", 2: "current"})

    def test_nobody_to_ask(self):
        """Without a terminal to ask at, respond-to-leak does nothing unless --yes is given"""
        self.assertEqual(self.script("respond-to-leak").returncode, 2)
        self.assertEqual(self.states(), {1: "current"})

    def test_wrong_key_for_service(self):
        """A running service creates no new root key if the given key opens no slot; the script does nothing else and
        exits 3"""
        self.fetch()
        self.vault.serve()
        done = self.script("respond-to-leak", "--yes", MEDIAVAULT_KEY_FILE=self.wrong_key())
        self.assertEqual((done.returncode, self.states()), (3, {1: "current"}), done.stderr[-1000:])
        self.assert_all_play()

    def test_title_that_does_not_open(self):
        """A title whose key does not open prevents only its own generation from being retired: exit code 4 until the
        title is removed by verify --repair, as all messages say, then 0"""
        self.fetch()
        # In both backups, too: what opens there could be restored.
        for name in ("index.sqlite", *CATALOGS):
            with sqlite3.connect(os.path.join(self.vault.folder, name)) as connection:
                connection.execute("UPDATE resourceKey SET wrapped = randomblob(60)")
            connection.close()
        self.vault.result("keys", "rotate")
        self.fetch()
        done = self.script("rotate-keys", "--min-age", "0", "--sample", "0", "--keep", "1")
        self.assertEqual(done.returncode, 4, done.stderr[-1000:])
        self.assertEqual(self.states(), {1: "active", 2: "active", 3: "current"}, "a generation was destroyed")
        done = self.script("respond-to-leak", "--yes")
        self.assertEqual(done.returncode, 4, done.stderr[-1000:])
        self.assertIn("--resume --yes", done.stderr)
        self.assertEqual(self.states(), {1: "active", 2: "retired", 3: "retired", 4: "current"})
        self.assertIn("run verify --repair", done.stderr)
        listed = self.vault.run("list")
        self.assertEqual((listed.returncode, listed.stderr.count(b"mediavault verify --repair")), (4, 1), listed.stderr)
        self.vault.result("verify", "--repair")
        self.vault.result("list")
        del self.titles[0]
        self.assert_done(self.script("respond-to-leak", "--yes", "--resume"))
        self.assertEqual(set(self.states().values()), {"retired", "current"})
        self.vault.serve()
        self.assert_all_play()

    def test_killed_service(self):
        """If the service is killed during a response, the script exits 1, and the command that it names resumes the
        response"""
        self.fetch()
        self.fetch()
        service = self.vault.serve()
        killer = threading.Thread(target=lambda: eventually(self.is_resealing, within=60) and service.process.kill())
        killer.start()
        report = self.report()
        done = self.script("respond-to-leak", "--yes", "--report", report, "--limit-rate", "5M")
        killer.join()
        service.process.wait()
        self.assertEqual(done.returncode, 1, done.stderr[-1000:])
        resumed = ("--report", report, "--resume", "--yes", "--limit-rate", "5M")
        self.assert_continues(done.stderr, *resumed)
        self.assertEqual(self.states(), {1: "active", 2: "current"})
        self.vault.serve()
        self.assert_done(self.script("respond-to-leak", *resumed))
        self.assertEqual(self.states(), {1: "retired", 2: "current"})
        self.assert_all_play()

    def test_log(self):
        """If the log cannot be created, the script fails before it changes anything; if it cannot be written later, the
        script goes on"""
        self.fetch()
        done = self.script("rotate-keys", "--min-age", "0", "--log", os.path.join(self.vault.base, "none", "log"))
        self.assertEqual((done.returncode, self.states()), (1, {1: "current"}), done.stderr)
        done = self.script("rotate-keys", "--min-age", "0", "--log", "/dev/full")
        self.assert_done(done)
        self.assertEqual(done.stderr.count("cannot write to /dev/full"), 1, done.stderr)
        self.assertEqual(self.states(), {1: "active", 2: "current"})

    def test_link_and_command(self):
        """A symbolic link to a script works; a MEDIAVAULT_BINARY that is no program is named, and nothing is changed"""
        link = os.path.join(self.vault.base, "rotate")
        os.symlink(os.path.join(SCRIPTS, "rotate-keys"), link)
        done = self.script(link, "--min-age", "0")
        self.assert_done(done)
        self.assertIn("back up the keyring again", done.stderr)
        for wrong in ("/nowhere/mediavault", self.vault.folder):
            done = self.script("rotate-keys", "--min-age", "0", MEDIAVAULT_BINARY=wrong)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"MEDIAVAULT_BINARY is {wrong}", done.stderr)
        self.assertEqual(self.states(), {1: "active", 2: "current"})

    def test_order(self):
        """The log has results and messages in the order in which the command printed them"""
        command = os.path.join(self.vault.base, "command")
        with open(os.open(command, os.O_WRONLY | os.O_CREAT, 0o700), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nfor i in $(seq 100); do echo result $i; echo mediavault: message $i >&2; done; exit 5")
        log = os.path.join(self.vault.base, "rotation.log")
        done = self.script("rotate-keys", "--log", log, MEDIAVAULT_BINARY=command)
        both = [text for i in range(1, 101) for text in (f"result {i}", f"mediavault: message {i}")]
        self.assertEqual((done.returncode, self.lines(log)), (5, both))
        for output, lines in ((done.stdout, both[::2]), (done.stderr, both[1::2])):
            self.assertEqual([line.partition("rotate-keys: ")[2] for line in output.splitlines()], lines)

    def test_interrupted_question(self):
        """Ctrl-C at a question ends the script with exit code 130; the report ends with how to continue"""
        self.fetch()
        report = self.report()
        terminal = Terminal([os.path.join(SCRIPTS, "respond-to-leak"), "--report", report, "--no-reseal"],
                            {**self.vault.environment, "MEDIAVAULT_BINARY": self.vault.binary})
        terminal.wait_for(b"continue? type y and press Enter")
        terminal.type(b"y\n")
        terminal.wait_for(b"continue? type y and press Enter", after=b"2. rewrap")
        terminal.type(b"\x03")
        self.assertEqual(terminal.end(), 128 + signal.SIGINT, terminal.shown)
        lines = self.lines(report)
        self.assert_continues(lines[-2], "--report", report, "--resume", "--no-reseal")
        self.assertIn("interrupted; keys list shows what is done", lines[-1])
        self.assertEqual(self.states(), {1: "active", 2: "current"})

    @each("the script", "the script and its command")
    def test_terminated(self, receiver):
        """SIGTERM to {} ends both with exit code 143; the report ends with how to continue"""
        self.fetch()
        report = self.report()
        run = subprocess.Popen(
            [os.path.join(SCRIPTS, "respond-to-leak"), "--yes", "--report", report, "--limit-rate", "1M"],
            env={**self.vault.environment, "MEDIAVAULT_BINARY": self.vault.binary}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(eventually(self.is_resealing, within=60))
        if receiver == "the script":
            run.terminate()
        else:
            os.killpg(run.pid, signal.SIGTERM)
        self.assertEqual(run.wait(60), 128 + signal.SIGTERM)
        lines = self.lines(report)
        self.assert_continues(lines[-2], "--report", report, "--resume", "--yes", "--limit-rate", "1M")
        self.assertIn("interrupted; keys list shows what is done", lines[-1])
        # Nothing goes on in the background: the vault has no owner.
        self.assert_done(self.script("respond-to-leak", "--yes", "--resume"))
        self.assertEqual(self.states(), {1: "retired", 2: "current"})

    def test_stopped(self):
        """If the user stops before the first step, the script does not advise resuming after it"""
        terminal, end = pty.openpty()
        os.write(terminal, b"n\n")
        done = self.script("respond-to-leak", stdin=end)
        os.close(end)
        os.close(terminal)
        self.assertEqual((done.returncode, self.states()), (1, {1: "current"}), done.stderr)
        self.assertIn("stopped before this step; run ", done.stderr)
        self.assert_continues(done.stderr)

    def test_busy(self):
        """While another key operation runs, both scripts name it, change nothing and exit 1"""
        self.fetch()
        self.vault.serve()
        act = subprocess.Popen(
            [self.vault.binary, "keys", "reseal", "--limit-rate", "1M"], env=self.vault.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(act.wait)
        self.addCleanup(act.kill)
        self.assertTrue(eventually(lambda: json.loads(self.vault.result("keys", "list", "--json"))["act"] == "keys reseal"))
        for options in (("rotate-keys", "--min-age", "0"), ("respond-to-leak", "--yes")):
            done = self.script(*options)
            self.assertEqual((done.returncode, "a reseal is running" in done.stderr), (1, True), done.stderr)
        self.assertEqual(self.states(), {1: "current"})
