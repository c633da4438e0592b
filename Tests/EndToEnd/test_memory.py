"""Keys in memory: where they are while in use, and that they are wiped afterwards."""

import base64
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from harness import client, key_needles, process_memory, unprivileged
from harness.case import Settings, VaultCase, each
from harness.terminal import Terminal
from harness.waiting import eventually

SIZE = 20 << 20
REMEDY = "LimitMEMLOCK="
LIMITS = {"8 MiB": 8 << 20, "64 KiB": 64 << 10, "0": 0}


@unittest.skipUnless(sys.platform == "linux" and os.geteuid() == 0, "only root reads the memory of another process")
class MemoryCase(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.public = tempfile.mkdtemp(prefix="mediavault-memory-")
        cls.addClassCleanup(shutil.rmtree, cls.public, ignore_errors=True)
        cls.binary = unprivileged.install(Settings.binary, cls.public)

    def vault_of_user(self, name, limit):
        vault = unprivileged.vault(self.binary, os.path.join(self.public, name), limit)
        self.addCleanup(vault.stop)
        return vault

    def playing(self, vault, name, receive_buffer=None, **script):
        """Returns a player that has read the first MiB of a title and then stops reading."""
        stream = client.Stream(vault.address(self.origin.add(name, size=SIZE, **script)), receive_buffer=receive_buffer)
        self.addCleanup(stream.close)
        stream.read(1 << 20)
        return stream

    def finds(self, vault, keys):
        return process_memory.search(vault.service.process.pid, keys)

    def assert_each_found_locked(self, vault, keys):
        for name, finds in self.finds(vault, keys).items():
            self.assertTrue(finds, f"the search does not find the {name}, which is in use")
            for find in finds:
                self.assertIn("lo", find.mapping.flags, f"the {name} is in memory that is not locked")
                self.assertIn("dd", find.mapping.flags, f"the {name} is in memory that a core file would contain")

    def assert_none_found(self, vault, keys):
        self.assertEqual({name: finds for name, finds in self.finds(vault, keys).items() if finds}, {})


@contextlib.contextmanager
def repeating(act):
    """Does something at the pace of a player. If a reader pauses for a second, the service closes its segment and wipes
    the key."""
    is_over = threading.Event()

    def repeat():
        while not is_over.wait(0.05):
            act()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class KeysInMemory(MemoryCase):
    def keys(self, vault):
        """Returns the keys in use while two titles play, and the keys that are used only for a moment."""
        always, once = key_needles.of_keyring(vault)
        used, derived = key_needles.of_resources(vault)
        in_use = {**always, **{name: key for name, key in used.items() if "segment" not in name or " at 0 " in name}}
        return in_use, {**once, **derived, **used}

    def playing_vault(self, name):
        """Starts a vault with one title that is held and read repeatedly, and another that is being received."""
        vault = self.vault_of_user(name, LIMITS["8 MiB"])
        vault.serve()
        held = vault.address(self.origin.add("held", size=SIZE))
        self.assertEqual(len(client.get(held).body), SIZE)
        growing = self.playing(vault, "growing", receive_buffer=64 << 10, hold_at=12 << 20)
        return vault, held, growing

    def test_lock(self):
        """While media plays, each key is in locked memory and nowhere else; after keys lock, no key is in memory"""
        vault, held, growing = self.playing_vault("lock")
        with repeating(lambda: growing.read(16 << 10)):
            # A title's key is in the index once the title's first bytes are durable.
            self.assert_eventually(lambda: len(vault.result("list").splitlines()), 3)
            in_use, every = self.keys(vault)
            self.assertTrue(any("segment" in name for name in in_use) and len(in_use) >= 9, list(in_use))
            with repeating(lambda: client.get(held, "bytes=0-99")):
                self.assert_each_found_locked(vault, in_use)
            self.assert_none_found(vault, {name: key for name, key in every.items() if name not in in_use})
        # "keys lock" itself needs no key.
        vault.result("keys", "lock", MEDIAVAULT_KEY_FILE="/nowhere/key", MEDIAVAULT_KEYRING="/nowhere/keyring.json")
        self.assertLess(len(growing.read(SIZE)), SIZE)
        self.assert_none_found(vault, {**every, **in_use})
        self.assert_in_no_file(vault, {**every, **in_use})
        self.assertEqual(client.get(held).status, 404)
        self.assertIn(b"locked", vault.result("status"))
        refused = vault.run("config", "get")
        self.assertEqual((refused.returncode, b"locked" in refused.stderr), (3, True), refused.stderr)
        # Locking again changes nothing, and the received bytes are kept.
        vault.result("keys", "lock")
        vault.service.stop()
        vault.serve("--offline")
        self.assertEqual(len(client.get(held).body), SIZE)

    def assert_in_no_file(self, vault, keys):
        searched = 0
        for parent, _, names in os.walk(vault.base):
            for name in names:
                path = os.path.join(parent, name)
                if path == vault.key or not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                searched += 1
                for what, key in keys.items():
                    forms = (key, key.hex().encode(), key.hex().upper().encode(), base64.b64encode(key))
                    self.assertFalse(any(form in data for form in forms), f"the {what} is in {path}")
        self.assertGreater(searched, 5)

    def test_nothing_to_lock(self):
        """keys lock reports that there is nothing to lock if no service is running"""
        done = self.new_vault().run("keys", "lock")
        self.assertEqual((done.returncode, b"nothing to lock" in done.stderr), (0, True), done.stderr)


class TypedPassphrase(MemoryCase):
    TEXT = b"Quendel, Wermut, Beifuss, Liebstoeckel"

    def test_forgotten(self):
        """After the service has started, a typed passphrase and the keys derived from it are nowhere in its memory;
        after keys lock, the other keys are gone as well"""
        vault = self.vault_of_user("typed", LIMITS["8 MiB"])
        path = os.path.join(vault.base, "phrase")
        with open(path, "wb") as file:
            file.write(self.TEXT)
        os.chmod(path, 0o600)
        shutil.chown(path, unprivileged.USER)
        vault.result("keys", "slot", "add", "--new-passphrase-file", path)
        environment = {name: value for name, value in vault.environment.items() if name != "MEDIAVAULT_KEY_FILE"}
        terminal = Terminal([vault.binary, "serve"], environment)
        terminal.wait_for(b"assphrase: ")
        terminal.type(self.TEXT + b"\n")
        terminal.wait_for(b"serving")
        used, (in_use, _) = key_needles.of_passphrase(vault, self.TEXT), key_needles.of_keyring(vault)
        self.assertEqual(len(used), 2)
        found = process_memory.search(terminal.pid, {**used, **in_use})
        self.assertEqual({name for name, finds in found.items() if finds}, set(in_use))
        vault.result("keys", "lock", MEDIAVAULT_KEY_FILE=None)
        found = process_memory.search(terminal.pid, {**used, **in_use})
        self.assertEqual({name for name, finds in found.items() if finds}, set())
        os.kill(terminal.pid, signal.SIGTERM)
        self.assertEqual(terminal.end(), 0)


class MediaInMemory(MemoryCase):
    def test_wiped(self):
        """After verify and keys reseal, no plaintext of the title is in the service's memory; after a player reads
        the title, some is"""
        vault = self.vault_of_user("wiped", LIMITS["8 MiB"])
        url = self.origin.add("wiped", size=SIZE)
        vault.result("fetch", url)
        content = self.origin.film("wiped").content
        # At the end of a segment, no later block overwrites the plaintext that was opened last.
        places = [end - back for end in (8 << 20, 16 << 20, SIZE) for back in (700 << 10, 200 << 10, 100 << 10, 10 << 10)]
        media = {f"bytes at {place}": content[place:place + 32] for place in places + list(range(0, SIZE, 2 << 20))}
        vault.serve("--offline")
        for act in (["verify"], ["keys", "reseal"]):
            vault.result(*act)
            self.assert_none_found(vault, media)
        with client.Stream(vault.address(url)) as player:
            player.read(SIZE)
            self.assertTrue(any(self.finds(vault, media).values()), "the search does not find media that is in memory")


class LockLimits(MemoryCase):
    @each(*LIMITS)
    def test_limit(self, limit):
        """The service of an ordinary user who may lock {} of memory plays titles and reports whether its keys are
        locked"""
        vault = self.vault_of_user(f"limit-{LIMITS[limit]}", LIMITS[limit])
        vault.serve()
        self.playing(vault, f"film-{LIMITS[limit]}")
        keys = key_needles.of_keyring(vault)[0]
        status, shown = vault.status(), vault.result("status").decode()
        if limit == "0":
            self.assertFalse(status["keysLocked"])
            self.assertEqual(vault.service.log().count(REMEDY), 1)
            self.assertIn(REMEDY, shown)
            self.assertTrue(all(self.finds(vault, keys).values()))
        else:
            self.assertTrue(status["keysLocked"])
            self.assertNotIn(REMEDY, vault.service.log() + shown)
            self.assert_each_found_locked(vault, keys)
        vault.result("keys", "lock")
        self.assert_none_found(vault, keys)

    def test_limit_reached(self):
        """If the service reaches the memory lock limit while it runs, it logs that once, and playback continues"""
        vault = self.vault_of_user("limit-reached", 16 << 10)
        vault.serve()
        self.assertEqual((vault.status()["keysLocked"], vault.service.log().count(REMEDY)), (True, 0))
        # One link for the whole folder: a command takes time, and the service wipes a key that has not been used for a
        # second.
        films = [f"part-{number}" for number in range(300)]
        urls = [self.origin.add(film, size=5000, seed=number) for number, film in enumerate(films)]
        folder = vault.address(urls[0]).removesuffix(films[0])
        for number, film in enumerate(films):
            self.assertEqual(len(client.get(folder + film).body), 5000)
            if vault.service.log().count(REMEDY):
                break
        self.assertFalse(vault.status()["keysLocked"])
        self.assert_eventually(lambda: vault.service.log().count(REMEDY), 1)
        self.figure("titles in use when 16 KiB of locked memory were full", number + 1, "told once")


class CoreFiles(MemoryCase):
    def test_core_file(self):
        """A crashing service writes no core file, although another program with the same limits does, and prints
        nothing from its memory"""
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        other = subprocess.Popen(
            [sys.executable, "-c", "import os; os.abort()"], cwd=self.scratch,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, unlimited), stderr=subprocess.DEVNULL)
        if not os.WCOREDUMP(os.waitpid(other.pid, 0)[1]):
            self.skipTest("this system makes no core files")
        vault = self.vault_of_user("core", 8 << 20)
        vault.launcher = ("prlimit", "--core=unlimited:unlimited")
        service = vault.serve()
        with open(f"/proc/{service.process.pid}/limits", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("Max core file size"))
        self.assertEqual(line.split()[4:6], ["0", "0"])
        service.process.send_signal(signal.SIGSEGV)
        ended, status = eventually(lambda: os.waitpid(service.process.pid, os.WNOHANG), lambda ended: ended[0])
        service.process.returncode = -os.WTERMSIG(status) if ended else None
        self.assertEqual((service.process.returncode, os.WCOREDUMP(status)), (-signal.SIGSEGV, False))
        self.assertEqual(len(service.log().splitlines()), 2, "a crash logs more than the start of the service")

    def test_same_user(self):
        """Another program of the same user cannot read the service's memory, although it can read that user's other
        processes"""
        vault = self.vault_of_user("other", 8 << 20)
        service = vault.serve()
        user = {"user": unprivileged.USER, "cwd": "/"}
        idle = subprocess.Popen(["sleep", "600"], **user)
        self.addCleanup(idle.wait)
        self.addCleanup(idle.kill)

        def can_read(pid):
            return subprocess.run(["cat", f"/proc/{pid}/environ"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, **user).returncode == 0
        self.assertTrue(eventually(lambda: can_read(idle.pid)), "no process of this user can be read")
        self.assertFalse(can_read(service.process.pid))
