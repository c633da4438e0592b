"""Wrong keys, damaged files and malformed URLs: a clear one-line error, the documented exit code, no held byte lost."""

import os
import pathlib
import shutil
import subprocess
import unittest

from harness import client
from harness.case import Settings, VaultCase, each
from harness.nginx_origin import free_port

NAME = "moov-first.mp4"
NOBODY = 65_534
FAILED, USAGE, LOCKED, DAMAGED, ORIGIN, NOT_HELD = range(1, 7)


class BadInput(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.scripted, cls.vault = cls.new_origin(), cls.new_scripted_origin(), cls.new_vault()
        cls.url = cls.origin.url(NAME)
        cls.media.path(NAME)
        cls.vault.result("fetch", cls.url)

    def tearDown(self):
        """Checks that all held bytes still open, whatever the check did."""
        self.assertEqual(self.vault.info(self.url)["held"], [[0, self.media.size(NAME)]])
        self.assertTrue(self.vault.result("cat", self.url, "--offline", "--range", "0-99999")
                        == self.media.bytes(NAME, 0, 100_000), "held bytes have changed")

    def assert_refused(self, code, *arguments, **environment):
        done = self.vault.run(*arguments, **environment)
        told = done.stderr.decode().strip("\n")
        self.assertEqual(done.returncode, code, told)
        self.assertEqual(len(told.split("\n")), 1, f"more than one line: {told}")
        self.assertGreater(len(told), 20, "the message is too short to be clear")
        self.assertEqual(done.stdout, b"")
        return told

    def file(self, name, content, mode=0o600):
        path = os.path.join(self.scratch, name)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    @each("list", "status", "serve")
    def test_wrong_key(self, verb):
        """A wrong key is refused by {} with exit code 3"""
        self.assert_refused(LOCKED, verb, MEDIAVAULT_KEY_FILE=self.file("wrong-key", os.urandom(32)))

    @each(0, 31, 33, 64)
    def test_key_size(self, size):
        """A key file of {} bytes is refused with exit code 3"""
        self.assert_refused(LOCKED, "list", MEDIAVAULT_KEY_FILE=self.file("odd-key", os.urandom(size)))

    @each(0o644, 0o640, 0o604)
    def test_loose_mode(self, mode):
        """A key file that others can read is refused with exit code 3 unless allowed by an option (decimal mode {})"""
        with open(self.vault.key, "rb") as file:
            loose = self.file("loose-key", file.read(), mode)
        self.assert_refused(LOCKED, "list", MEDIAVAULT_KEY_FILE=loose)
        self.vault.result("list", "--allow-loose-key-file", MEDIAVAULT_KEY_FILE=loose)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a folder to another user")
    def test_folder_of_another_user(self):
        """A vault that belongs to another user is refused with exit code 1, even if all its files are readable"""
        away = os.path.join(self.scratch, "away")
        shutil.copytree(self.vault.folder, away)
        keyring, key = (self.file(os.path.basename(path), pathlib.Path(path).read_bytes())
                        for path in (self.vault.keyring, self.vault.key))
        os.chmod(self.scratch, 0o711)

        def listed(owner):
            for path in [away, *pathlib.Path(away).rglob("*")]:
                os.chown(path, owner, owner)
                os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
            return subprocess.run(
                ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", Settings.binary, "list",
                 "--vault", away, "--keyring", keyring, "--key-file", key], capture_output=True, text=True, timeout=60)

        for path in (keyring, key):
            os.chown(path, NOBODY, NOBODY)
        self.assertEqual(listed(NOBODY).returncode, 0)
        refused = listed(0)
        self.assertEqual(refused.returncode, FAILED)
        self.assertIn("belongs to another user", refused.stderr)

    def test_missing_key(self):
        """A missing key file is refused with exit code 3 and is not created"""
        missing = os.path.join(self.scratch, "no-key")
        self.assert_refused(LOCKED, "list", MEDIAVAULT_KEY_FILE=missing)
        self.assertFalse(os.path.exists(missing))

    def test_passphrase(self):
        """A passphrase opens its vault; a wrong one exits with 3, and none without a terminal exits with 2"""
        place = os.path.join(self.scratch, "phrase")
        own = {
            "MEDIAVAULT_DIR": os.path.join(place, "vault"), "MEDIAVAULT_KEYRING": os.path.join(place, "keyring.json"),
            "MEDIAVAULT_KEY_FILE": None, "MEDIAVAULT_PASSPHRASE_FILE": self.file("right", b"correct horse\n")}
        self.vault.result("init", **own)
        self.vault.result("status", **own)
        self.assert_refused(LOCKED, "status", **{**own, "MEDIAVAULT_PASSPHRASE_FILE": self.file("wrong", b"battery\n")})
        self.assert_refused(USAGE, "status", **{**own, "MEDIAVAULT_PASSPHRASE_FILE": None})  # not a terminal

    @each("flipped", "cut", "empty")
    def test_damaged_keyring(self, damage):
        """A keyring that is {} is refused with exit code 3 and an error about the keyring"""
        with open(self.vault.keyring, "rb") as file:
            content = file.read()
        middle = len(content) // 2
        flipped = content[:middle] + (b"A" if content[middle:middle + 1] != b"A" else b"B") + content[middle + 1:]
        damaged = {"flipped": flipped, "cut": content[:middle], "empty": b""}[damage]
        told = self.assert_refused(LOCKED, "list", MEDIAVAULT_KEYRING=self.file("damaged.json", damaged))
        self.assertIn("keyring", told)

    def test_missing_keyring(self):
        """A missing keyring is refused with exit code 1"""
        self.assert_refused(FAILED, "list", MEDIAVAULT_KEYRING=os.path.join(self.scratch, "none.json"))

    def test_foreign_keyring(self):
        """The keyring of another vault is refused with exit code 3"""
        other = type(self).new_vault()
        self.assert_refused(LOCKED, "list", MEDIAVAULT_KEYRING=other.keyring, MEDIAVAULT_KEY_FILE=other.key)

    @each("list", "serve", "status")
    def test_no_vault(self, verb):
        """A folder that is not a vault is refused by {} with exit code 1 and is not changed"""
        empty = os.path.join(self.scratch, "empty-" + verb)
        os.makedirs(empty)
        self.assert_refused(FAILED, verb, MEDIAVAULT_DIR=empty)
        self.assertEqual(os.listdir(empty), [])

    def test_garbage_index(self):
        """An index file with garbage is refused and is not overwritten"""
        copy = os.path.join(self.scratch, "garbage")
        shutil.copytree(self.vault.folder, copy)
        path = os.path.join(copy, "index.sqlite")
        with open(path, "wb") as file:
            file.write(b"no index at all\n" * 1000)
        done = self.vault.run("serve", MEDIAVAULT_DIR=copy)
        self.assertIn(done.returncode, (FAILED, DAMAGED), done.stderr)
        with open(path, "rb") as file:
            self.assertTrue(file.read().startswith(b"no index at all"))

    @each("not a url", "ftp://a.example/f", "http://", "http:///x", "http://a.example:99999/x", "file:///etc/hosts", "")
    def test_malformed_url(self, url):
        """Every command that takes a URL refuses a malformed one with exit code 2: '{}'"""
        for verb in ("fetch", "cat", "info", "url"):
            self.assert_refused(USAGE, verb, url)

    @each("5-2", "abc", "-0", "1-2,4-5", "")
    def test_malformed_range(self, asked):
        """cat refuses a malformed range with exit code 2: '{}'"""
        done = self.vault.run("cat", self.url, "--offline", f"--range={asked}")
        self.assertEqual((done.returncode, done.stdout), (USAGE, b""), done.stderr)

    def test_unknown_option(self):
        """An unknown option is a usage error with exit code 2"""
        self.assertEqual(self.vault.run("list", "--no-such-option").returncode, USAGE)

    def test_unreachable(self):
        """fetch exits with 5 if the origin is unreachable"""
        self.assert_refused(ORIGIN, "fetch", f"http://127.0.0.1:{free_port()}/film.mp4")
        self.assert_refused(ORIGIN, "fetch", "http://nowhere.invalid/film.mp4")

    @each(403, 404, 500)
    def test_refusing(self, status):
        """fetch exits with 5 if the origin refuses with {}"""
        self.assert_refused(ORIGIN, "fetch", self.scripted.add(f"refusing-{status}", status=status))

    def test_lying(self):
        """fetch exits with 5 if the origin sends an invalid response"""
        self.assert_refused(ORIGIN, "fetch", self.scripted.add("lying.mp4", size=50_000, lies=True))

    def test_not_held(self):
        """cat --offline exits with 6 if the resource is not held"""
        self.assert_refused(NOT_HELD, "cat", self.origin.url("tone.mp3"), "--offline")

    def test_secrets_are_not_told(self):
        """An error message does not show the query of a URL"""
        told = self.assert_refused(ORIGIN, "fetch", f"http://127.0.0.1:{free_port()}/film.mp4?token=top-secret")
        self.assertNotIn("top-secret", told)


class Init(VaultCase):
    def test_repeats(self):
        """init succeeds again on a complete vault that opens, and changes no existing file"""
        vault = self.new_vault()
        before = [open(path, "rb").read() for path in (vault.key, vault.keyring)]
        vault.result("init")
        self.assertEqual([open(path, "rb").read() for path in (vault.key, vault.keyring)], before)
        self.assertEqual(len(before[0]), 32)

    def test_wrong_key(self):
        """init refuses a key file that is not the vault's, with exit code 3"""
        vault, other = self.new_vault(), self.new_vault()
        done = vault.run("init", MEDIAVAULT_KEY_FILE=other.key)
        self.assertEqual(done.returncode, LOCKED, done.stderr)

    def test_rest_with_vault(self):
        """status --json reports whether the key file is on the same disk as the vault"""
        self.assertIs(self.new_vault().status()["unlock"]["restsWithVault"], True)


class Damage(VaultCase):
    def test_flipped_byte(self):
        """A flipped byte in a segment ends an offline answer early, without wrong bytes; online it is fetched again"""
        origin, vault = self.new_origin(), self.new_vault()
        url, size = origin.url(NAME), self.media.size(NAME)
        vault.result("fetch", url)
        segments = os.path.join(vault.folder, "segments")
        files = [os.path.join(parent, name) for parent, _, names in os.walk(segments) for name in names]
        path = max(files, key=os.path.getsize)
        with open(path, "r+b") as file:
            file.seek(88 + 40_000)
            byte = file.read(1)[0]
            file.seek(88 + 40_000)
            file.write(bytes([byte ^ 1]))
        vault.serve("--offline")
        answer = client.get(vault.address(url))
        self.assertFalse(answer.complete)
        self.assertTrue(answer.body == self.media.bytes(NAME, 0, len(answer.body)), "an unverified byte was served")
        self.assertLess(len(answer.body), size)
        vault.stop()
        vault.serve()
        self.assert_whole(vault.address(url), NAME)
