"""Only one process at a time may change a vault; readers need no ownership."""

import json

from harness import client
from harness.case import VaultCase, each
from harness.waiting import eventually

NAME = "tone.mp3"


class Ownership(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()
        cls.url = cls.origin.url(NAME)
        client.get(cls.vault.address(cls.url))
        # A player has the last bytes before they are sealed.
        eventually(lambda: cls.vault.info(cls.url)["bytes"], lambda held: held == cls.media.size(NAME))

    def test_second_owner(self):
        """A second service exits 1 and names the process id of the owner"""
        done = self.vault.run("serve")
        self.assertEqual(done.returncode, 1, done.stderr)
        told = done.stderr.decode().strip("\n")
        self.assertEqual(len(told.split("\n")), 1)
        self.assertIn(str(self.vault.service.process.pid), told)
        self.assertTrue(self.vault.service.is_up())

    def test_readers(self):
        """list, info, status and cat --offline read the vault while the service is running"""
        listed = json.loads(self.vault.result("list", "--json"))
        self.assertIn(self.url, json.dumps(listed).replace("\\/", "/"))
        self.assertEqual(self.vault.info(self.url)["bytes"], self.media.size(NAME))
        self.assertEqual(self.vault.status()["bytesFetched"], self.media.size(NAME))
        self.assertTrue(self.vault.result("cat", self.url, "--offline")
                        == self.media.bytes(NAME, 0, self.media.size(NAME)), "the bytes differ")

    @each("100-299", "4000-", "-500")
    def test_cat_range(self, asked):
        """cat writes a range in HTTP syntax: {}"""
        first, _, last = asked.partition("-")
        size = self.media.size(NAME)
        start, end = (int(first), int(last) + 1 if last else size) if first else (size - int(last), size)
        self.assertTrue(self.vault.result("cat", self.url, "--offline", f"--range={asked}")
                        == self.media.bytes(NAME, start, end), "the bytes differ")


class Fetch(VaultCase):
    def test_fetch_resumes(self):
        """fetch continues where a player stopped, and requests no held bytes"""
        origin, vault = self.new_origin(), self.served_vault()
        name, url = "moov-first.mp4", origin.url("moov-first.mp4")
        client.get(vault.address(url), "bytes=100000-900000")
        vault.stop()
        vault.result("fetch", url)
        self.assertEqual(vault.info(url)["held"], [[0, self.media.size(name)]])
        self.assert_eventually(lambda: origin.body_bytes(name), self.media.size(name))

    def test_several(self):
        """fetch tries every URL; its exit code is that of the first failure"""
        origin, vault = self.new_origin(), self.new_vault()
        done = vault.run("fetch", origin.url("missing.mp4"), origin.url(NAME))
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(vault.info(origin.url(NAME))["bytes"], self.media.size(NAME))
