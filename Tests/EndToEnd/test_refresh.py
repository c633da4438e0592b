"""Signed URLs that expire: the operator's program finds new ones, and what is held stays held."""

import json
import os
import shutil
import tempfile

from harness import client
from harness.case import VaultCase, each
from harness.control import KEYLESS
from harness.waiting import eventually

SIZE, HELD = 600_000, 200_000


class Refresh(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def setUp(self):
        name = self.id().rpartition(".")[2]
        # Nobody else can write to the folders above it, wherever the checkout is.
        self.programs = tempfile.mkdtemp(prefix="programs-")
        self.addCleanup(shutil.rmtree, self.programs, ignore_errors=True)
        self.target = f"{name}.mp4"
        self.old = self.origin.add(f"{self.target}?sig=old", size=SIZE, seed=5)
        self.content = self.origin.film(f"{self.target}?sig=old").content
        self.fresh = self.origin.url(f"{self.target}?sig=fresh")

    def expire(self, status=403):
        """Has the origin refuse the old URL and accept the fresh one."""
        self.origin.film(f"{self.target}?sig=old").status = status
        self.origin.add(f"{self.target}?sig=fresh", size=SIZE, seed=5)

    def program(self, text):
        path = os.path.join(self.programs, "refresh")
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o755)
            file.write(f"#!/bin/sh\ncat >> {self.programs}/asked\n{text}\n")
        return path

    def asked(self):
        try:
            with open(os.path.join(self.programs, "asked"), encoding="utf-8") as file:
                return [json.loads(line) for line in file.read().splitlines()]
        except FileNotFoundError:
            return []

    def begun(self, vault, **environment):
        """Has a vault hold the beginning of the title, whose URL then expires."""
        address = vault.address(self.old, "--content-id", "film", **environment)
        self.assertEqual(client.get(address, f"bytes=0-{HELD - 1}").body, self.content[:HELD])
        return address

    def told(self, vault, *arguments, **environment):
        done = vault.run(*arguments, **environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn(b"sig=", done.stderr)
        return done.stderr.decode()

    @each(401, 403, 410)
    def test_player(self, status):
        """A player goes on after {}: the program is asked once, held bytes stay, and a restart uses the new URL"""
        vault = self.served_vault()
        vault.result("config", "set", "refresh-command", self.program(f"echo '{self.fresh}'"))
        address = self.begun(vault)
        self.expire(status)
        self.assertTrue(client.get(address).body == self.content)
        self.assertEqual(self.asked(), [{"contentID": "film", "status": status}])
        fetched = sum(item.sent for item in self.origin.gets(f"{self.target}?sig=fresh"))
        self.assertLessEqual(fetched, SIZE - HELD + (64 << 10))
        vault.stop()
        self.assertEqual(self.listed(vault)["url"], self.fresh)
        self.assertNotIn("sig=", vault.service.log())

    def listed(self, vault):
        return json.loads(vault.result("info", self.old, "--content-id", "film", "--json"))

    def test_fetch(self):
        """fetch refreshes without a service, and downloads in the queue of one; JSON may have headers, which are sent"""
        answer = json.dumps({"url": self.fresh, "headers": {"Referer": "https://shop.example/"}})
        program = self.program(f"echo '{answer}'")
        alone, served = self.new_vault(), self.served_vault()
        for vault in (alone, served):
            vault.result("config", "set", "refresh-command", program)
        self.expire()
        alone.result("fetch", self.old, "--content-id", "film")
        self.assertTrue(alone.result("cat", self.old, "--content-id", "film") == self.content)
        served.result("fetch", "--detach", self.old, "--content-id", "film", **KEYLESS)
        self.assert_eventually(
            lambda: "complete" if self.content == served.run("cat", self.old, "--content-id", "film", **KEYLESS).stdout
            else "", "complete")
        gets = self.origin.gets(f"{self.target}?sig=fresh")
        self.assertEqual({item.fields.get("referer") for item in gets}, {"https://shop.example/"})

    @each("exit 1", "echo", "echo secret", "yes", "sleep 600", "echo file:///etc/passwd",
          "echo '{\"url\":\"http://media.example/\",\"headers\":{\"Authorization\":\"secret\"}}'")
    def test_hostile_program(self, text):
        """A program that does `{}` (and is killed after half a minute) costs a refusal and a line that repeats nothing; what is held plays on"""
        vault = self.served_vault()
        vault.result("config", "set", "refresh-command", self.program(text))
        address = self.begun(vault)
        self.expire()
        self.assertIn("403", self.told(vault, "fetch", self.old, "--content-id", "film", **KEYLESS))
        self.assertEqual(client.get(address, f"bytes=0-{HELD - 1}").body, self.content[:HELD])
        self.assertNotIn("secret", vault.service.log())
        self.assertIn("refresh-command found no new URL", vault.service.log())

    def test_other_content(self):
        """A new URL with another film never mixes bytes of both"""
        vault = self.served_vault()
        other = self.origin.add("other.mp4", size=SIZE, seed=6)
        vault.result("config", "set", "refresh-command", self.program(f"echo '{other}'"))
        self.begun(vault)
        self.expire()
        vault.run("fetch", self.old, "--content-id", "film", **KEYLESS)
        whole = eventually(
            lambda: vault.run("cat", self.old, "--content-id", "film", **KEYLESS).stdout,
            lambda content: len(content) == SIZE)
        self.assertTrue(whole == self.origin.film("other.mp4").content)

    def test_nothing_asked(self):
        """Offline, and for a title without a content id, the program is not run"""
        vault = self.served_vault()
        vault.result("config", "set", "refresh-command", self.program(f"echo '{self.fresh}'"))
        self.begun(vault)
        self.expire()
        vault.result("config", "set", "mode", "offline", **KEYLESS)
        self.assertNotEqual(vault.run("cat", self.old, "--content-id", "film", **KEYLESS).returncode, 0)
        vault.result("config", "set", "mode", "online", **KEYLESS)
        self.told(vault, "fetch", self.old, **KEYLESS)
        self.assertEqual(self.asked(), [])
