"""Unlock methods with the real command and service: every method, both readers of the format, and sudden kills."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

from harness.case import KILLS, ROOT, SEED, VaultCase, each
from harness.full_vault import CATALOGS
from harness.offline_viewer import LOCKED, OfflineViewer
from harness.repeated_player import RepeatedPlayer
from harness.sudden_death import Edge
from harness.terminal import Terminal
from harness.waiting import eventually

NAME = "moov-first.mp4"
READER = os.path.join(ROOT, "Tests", "IndependentReader", "read_vault.py")
sys.path.insert(0, os.path.dirname(READER))
from vaultformat import keyring  # noqa: E402
USAGE = 2
patience = 600 + 20 * KILLS


class SlotCase(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.new_vault()
        cls.url = cls.origin.url(NAME)
        cls.media.path(NAME)
        cls.vault.result("fetch", cls.url)

    def file(self, name, content=None, mode=0o600):
        path = os.path.join(self.scratch, name)
        with open(path, "wb") as file:
            file.write(os.urandom(32) if content is None else content)
        os.chmod(path, mode)
        return path

    def opens(self, **way):
        """Whether an unlock method, given in the environment, opens the vault; if so, also checks the bytes that it
        yields."""
        done = self.vault.run("cat", self.url, "--offline", **{"MEDIAVAULT_KEY_FILE": None, **way})
        if done.returncode == 0:
            self.assertTrue(done.stdout == self.media.bytes(NAME, 0, self.media.size(NAME)), "the bytes differ")
            return True
        self.assertEqual(done.returncode, LOCKED, done.stderr)
        return False

    def read_independently(self, keyring, *way):
        """Returns the report of the reader that was written from the format document alone."""
        done = subprocess.run([sys.executable, READER, self.vault.folder, keyring, *way], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr[-500:])
        report = json.loads(done.stdout)
        self.assertEqual(report["damage"], [])
        self.assertEqual([item["sha256"] for item in report["resources"]], [[self.media.sha256(NAME)]])

    def slots(self):
        return json.loads(self.vault.result("keys", "slot", "list", "--json", MEDIAVAULT_KEY_FILE=None))["slots"]


class OlderVersions(SlotCase):
    def test_past_the_bound(self):
        """A keyring of an older version, with one entry per retired generation and larger than 1 MiB, opens and then
        shrinks"""
        with open(self.vault.key, "rb") as file:
            key = file.read()
        with open(self.vault.keyring, "rb") as file:
            members = keyring.read(file.read())
        members["generations"] += [{"number": number, "created": 1_700_000_000, "state": "retired", "backups": 0}
                                   for number in range(2, 20_000)]
        with open(self.vault.keyring, "wb") as file:
            file.write(keyring.finished(members, keyring.root_key(members, key)))
        self.assertGreater(os.path.getsize(self.vault.keyring), 1 << 20)
        self.assertTrue(self.opens(MEDIAVAULT_KEY_FILE=self.vault.key))
        self.vault.result("keys", "rotate")
        self.assertLess(os.path.getsize(self.vault.keyring), 20_000)
        self.assertTrue(self.opens(MEDIAVAULT_KEY_FILE=self.vault.key))
        self.read_independently(self.vault.keyring, "--key-file", self.vault.key)


class Methods(SlotCase):
    def add(self, *options, **environment):
        self.vault.result("keys", "slot", "add", *options, **environment)

    def test_every_method(self):
        """A key file, a passphrase, a key command and a credential each open the vault, for both readers of the
        format"""
        key = self.file("more-key")
        self.add("--new-key-file", key)
        self.assertTrue(self.opens(MEDIAVAULT_KEY_FILE=key))
        self.read_independently(self.vault.keyring, "--key-file", key)
        phrase = self.file("phrase", "Schlüssel über Bord\n".encode())
        self.add("--new-passphrase-file", phrase)
        self.assertTrue(self.opens(MEDIAVAULT_PASSPHRASE_FILE=phrase))
        self.read_independently(self.vault.keyring, "--passphrase-file", phrase)
        command = f"echo {os.urandom(32).hex()}"
        self.add("--new-key-command", command)
        self.assertTrue(self.opens(MEDIAVAULT_KEY_COMMAND=command))
        self.read_independently(self.vault.keyring, "--key-command", command)
        credential = self.file("mediavault.key", mode=0o440)
        self.add("--new-credential", "mediavault.key", CREDENTIALS_DIRECTORY=self.scratch)
        self.assertTrue(self.opens(CREDENTIALS_DIRECTORY=self.scratch))
        self.read_independently(self.vault.keyring, "--credential", credential)
        self.assertEqual([slot["method"] for slot in self.slots()],
                         ["key-file", "key-file", "passphrase", "command", "credential"])

    def test_sensitive(self):
        """A passphrase with the sensitive profile opens the vault, for both readers of the format"""
        phrase = self.file("sensitive", b"at any cost\n")
        self.add("--new-passphrase-file", phrase, "--sensitive")
        with open(self.vault.keyring, "rb") as file:
            slot = json.load(file)["slots"][-1]
        self.assertEqual((slot["opsLimit"], slot["memLimit"]), (4, 1 << 30))
        self.assertTrue(self.opens(MEDIAVAULT_PASSPHRASE_FILE=phrase))
        self.read_independently(self.vault.keyring, "--passphrase-file", phrase)
        self.vault.result("keys", "slot", "remove", str(slot["number"]))

    def test_backup(self):
        """A backup opens the vault with its own passphrase and with nothing else, for both readers of the format"""
        phrase, backup = self.file("drawer", b"in the drawer\n"), os.path.join(self.scratch, "backup.json")
        self.vault.result("keys", "backup", backup, "--backup-passphrase-file", phrase)
        self.assertEqual(os.stat(backup).st_mode & 0o777, 0o600)
        self.read_independently(backup, "--passphrase-file", phrase)
        self.assertTrue(self.opens(MEDIAVAULT_KEYRING=backup, MEDIAVAULT_PASSPHRASE_FILE=phrase))
        self.assertFalse(self.opens(MEDIAVAULT_KEYRING=backup, MEDIAVAULT_KEY_FILE=self.vault.key))
        with open(self.vault.keyring, "rb") as file:
            generations = json.load(file)["generations"]
        self.assertEqual([item["backups"] for item in generations], [1])


class Revocation(SlotCase):
    def test_what_has_to_stay(self):
        """--revoke destroys each older generation that nothing needs; if one is still needed, it names that one and
        exits 1"""
        other = self.file("other-key")
        self.vault.result("keys", "slot", "add", "--new-key-file", other)
        # In both backups, too, from which it would come back.
        for name in ("index.sqlite", *CATALOGS):
            with sqlite3.connect(os.path.join(self.vault.folder, name)) as connection:
                connection.execute("UPDATE resourceKey SET wrapped = randomblob(60)")
            connection.close()
        self.vault.result("keys", "rotate")
        done = self.vault.run("keys", "slot", "remove", "2", "--revoke")
        self.assertEqual(done.returncode, 1, done.stderr)
        for word in (b"generation 1", b"had to stay", b"slot 2 removed"):
            self.assertIn(word, done.stderr)
        self.assertNotIn(b"no longer opens anything", done.stderr)
        states = json.loads(self.vault.result("keys", "list", "--json"))["generations"]
        self.assertEqual([item["state"] for item in states], ["active", "retired", "current"])
        self.assertEqual([slot["number"] for slot in self.slots()], [1])


class BrokenRevocation(SlotCase):
    # A folder in place of a copy that a step must remove makes that step fail.
    STEPS = {"rewrap": "continue with keys rewrap, and keys retire", "retire": "then run keys retire for each"}

    def setUp(self):
        self.vault = self.new_vault()
        self.vault.result("fetch", self.url)

    def obstacle(self, step):
        if step == "rewrap":
            return os.path.join(self.vault.folder, "index.sqlite.damaged")
        return self.vault.keyring + ".replaced"

    @each(*STEPS)
    def test_broken_off(self, step):
        """--revoke that fails in {} exits 1 and reports what is done, and the commands that it names finish the rest"""
        self.vault.result("keys", "slot", "add", "--new-key-file", self.file(f"other-{step}"))
        os.mkdir(self.obstacle(step))
        done = self.vault.run("keys", "slot", "remove", "2", "--revoke")
        self.assertEqual(done.returncode, 1, done.stderr)
        said = done.stderr.decode()
        for word in ("slot 2 removed", "created a new root key"):
            self.assertIn(word, said)
        for other, remedy in self.STEPS.items():
            self.assertEqual(remedy in said, step == other, said)
        self.assertNotIn("no longer opens anything", said)
        self.assertEqual([slot["number"] for slot in self.slots()], [1])
        os.rmdir(self.obstacle(step))
        if step == "rewrap":
            self.vault.result("keys", "rewrap")
        self.vault.result("keys", "retire", "1")
        states = json.loads(self.vault.result("keys", "list", "--json"))["generations"]
        self.assertEqual([item["state"] for item in states], ["retired", "current"])
        self.assertTrue(self.opens(MEDIAVAULT_KEY_FILE=self.vault.key))


class Secrets(SlotCase):
    def test_nothing_is_sent(self):
        """No secret, old or new, crosses the control socket or appears in the arguments or environment of a process"""
        self.vault.serve()
        new = self.file("sent-key")
        trace = os.path.join(self.scratch, "trace")
        done = subprocess.run(
            ["strace", "-f", "-xx", "-s", "100000", "-e", "trace=execve,write,writev,sendto,sendmsg", "-o", trace,
             self.vault.binary, "keys", "slot", "add", "--new-key-file", new],
            env=self.vault.environment, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(trace, encoding="ascii") as file:
            told = file.read()
        self.assertIn("".join(f"\\x{byte:02x}" for byte in b"/api/v1/keyring"), told, "the trace misses the request")
        for path in (self.vault.key, new):
            with open(path, "rb") as file:
                secret = file.read()
            self.assertNotIn("".join(f"\\x{byte:02x}" for byte in secret[:8]), told)


class Typed(SlotCase):
    def typed(self, *answers, ending):
        """Runs change-passphrase at a terminal, types each answer after its question, and checks that no answer is
        shown."""
        environment = {name: value for name, value in self.vault.environment.items() if name != "MEDIAVAULT_KEY_FILE"}
        terminal, shown = Terminal([self.vault.binary, "keys", "change-passphrase"], environment), b""
        for question, answer in answers:
            terminal.wait_for(question)
            shown, terminal.shown = shown + terminal.shown, b""
            terminal.type(answer)
        terminal.wait_for(b"mediavault: ")
        self.assertEqual(terminal.end(), ending, terminal.shown)
        for _, answer in answers:
            self.assertNotIn(answer.strip(), shown + terminal.shown)

    def test_typed_twice(self):
        """A new passphrase is typed twice and never shown; if the two differ, or the old one is wrong, nothing
        changes"""
        words = [self.file(f"typed-{word}", f"{word}\n".encode()) for word in ("före", "nach")]
        old, new = "före\n".encode(), b"nach\n"
        self.vault.result("keys", "change-passphrase", "--new-passphrase-file", words[0])
        asked, first, again = b"assphrase: ", b"New passphrase: ", b"Repeat passphrase: "
        self.typed((asked, old), (first, new), (again, b"noch\n"), ending=USAGE)
        self.typed((asked, b"vor\n"), ending=LOCKED)
        self.assertTrue(self.opens(MEDIAVAULT_PASSPHRASE_FILE=words[0]))
        self.typed((asked, old), (first, new), (again, new), ending=0)
        self.assertFalse(self.opens(MEDIAVAULT_PASSPHRASE_FILE=words[0]))
        self.assertTrue(self.opens(MEDIAVAULT_PASSPHRASE_FILE=words[1]))


class Killed(SlotCase):
    """Each check kills a process with SIGKILL at random moments; a failure prints the seed."""

    def command(self, *arguments, **environment):
        changed = {**self.vault.environment, **environment}
        return subprocess.Popen([self.vault.binary, *arguments], env={k: v for k, v in changed.items() if v is not None},
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self, process, after):
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def duration(self, run):
        started = time.monotonic()
        self.assertEqual(run().wait(), 0)
        return time.monotonic() - started

    def test_change_passphrase(self):
        """A kill of the command or the service at any moment of a change leaves exactly one key that opens the vault,
        old or new, and a player gets right bytes"""
        dice = random.Random(SEED)
        keys = [self.file("slot-a"), self.file("slot-b")]
        self.vault.result("keys", "slot", "add", "--new-key-file", keys[0])
        service = self.vault.serve()
        player = RepeatedPlayer(self.vault.address(self.url), self.media.bytes(NAME, 0, self.media.size(NAME)))
        self.addCleanup(player.end)

        def change():
            return self.command("keys", "change-passphrase", "--new-key-file", keys[1], MEDIAVAULT_KEY_FILE=keys[0])
        edge = Edge(dice, self.duration(change))
        keys.reverse()
        outcomes = [0, 0]
        for moment in range(KILLS):
            process = change()
            self.kill(service.process if moment % 2 else process, edge.delay())
            process.wait()
            if moment % 2:
                service = self.vault.serve()
            # A service that has received the request completes it even if the command is killed, possibly
            # between the two calls of `opens`.
            found = eventually(
                lambda: [self.opens(MEDIAVAULT_KEY_FILE=key) for key in keys], lambda found: sum(found) == 1)
            self.assertEqual(sum(found), 1, f"moment {moment} of seed {SEED}: old and new open {found}")
            outcomes[found.index(True)] += 1
            edge.note(was_done=found[1])
            if found[1]:
                keys.reverse()
        self.assertTrue(self.opens(MEDIAVAULT_KEY_FILE=self.vault.key))
        self.vault.result("keys", "change-passphrase", "--new-key-file", keys[1], MEDIAVAULT_KEY_FILE=keys[0])
        player.end()
        self.assertEqual(player.wrong, 0)
        self.assertGreater(player.whole, 0)
        self.figure("kills of a change: old way left, new way there", f"{outcomes[0]}, {outcomes[1]}", "both > 0")
        self.assertTrue(all(outcomes), "all kills came before the change, or all after it")
        self.vault.stop()

    def test_restore(self):
        """A kill at any moment of a restore leaves exactly one key that opens the vault, old or new; a player of held
        bytes always gets right bytes, and the restore can be repeated"""
        dice = random.Random(SEED + 1)
        phrase, backup = self.file("drawer", b"in the drawer\n"), os.path.join(self.scratch, "kill-backup.json")
        self.vault.result("keys", "backup", backup, "--backup-passphrase-file", phrase)
        old, new = self.vault.key, self.file("restored")

        def restore():
            return self.command("keys", "restore", backup, "--backup-passphrase-file", phrase, "--drop-slots",
                                "--new-key-file", new)
        viewer = OfflineViewer(self.vault, self.url, self.media.bytes(NAME, 0, self.media.size(NAME)), old, new)
        self.addCleanup(viewer.end)
        # Most of the time is spent on the passphrase; the critical part is the end.
        edge = Edge(dice, self.duration(restore))
        outcomes = [0, 0]
        for moment in range(KILLS):
            old, new = (new if self.opens(MEDIAVAULT_KEY_FILE=new) else old), self.file(f"restored-{moment}")
            viewer.use(old, new)
            self.kill(restore(), edge.delay())
            found = [self.opens(MEDIAVAULT_KEY_FILE=key) for key in (old, new)]
            self.assertEqual(sum(found), 1, f"moment {moment} of seed {SEED}: old and new open {found}")
            outcomes[found.index(True)] += 1
            edge.note(was_done=found[1])
        self.assertEqual(restore().wait(), 0)
        self.assertTrue(self.opens(MEDIAVAULT_KEY_FILE=new))
        viewer.end()
        self.assertEqual(viewer.wrong, [])
        self.assertGreater(viewer.whole, 0)
        self.figure("whole plays of what is held, during kills of a restore", viewer.whole, "> 0, 0 wrong")
        self.figure("kills of a restore: old keyring left, new one there", f"{outcomes[0]}, {outcomes[1]}", "both > 0")
        self.assertTrue(all(outcomes), "all kills came before the restore, or all after it")
