"""A vault that is only read: on a file system that cannot be written, and with --read-only."""

import http.client
import json
import os
import shutil
import subprocess
import tempfile

from harness import client, control
from harness.case import VaultCase
from harness.small_disk import SmallDisk

USAGE = 2
SIZE = 3 << 20


class ReadOnly(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.held, cls.other = (cls.origin.add(f"{name}.mp4", size=SIZE, seed=3) for name in ("held", "other"))
        cls.content = cls.origin.film("held.mp4").content

    def vault_with_viewer(self):
        vault = self.new_vault()
        vault.result("fetch", self.held)
        pin = os.path.join(self.scratch, "pin")
        with open(pin, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("24681357")
        vault.result("viewers", "add", "Anna", "--pin-file", pin)
        # Nobody else can write to the folders above it, wherever the checkout is.
        programs = tempfile.mkdtemp(prefix="programs-")
        self.addCleanup(shutil.rmtree, programs, ignore_errors=True)
        self.notices, program = os.path.join(programs, "notices"), os.path.join(programs, "notify")
        with open(program, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o755)
            file.write(f"#!/bin/sh\ncat >> {self.notices}\n")
        vault.result("config", "set", "notify-command", program)
        return vault

    def sign_in(self, vault, order):
        connection = http.client.HTTPConnection(*vault.listen.split(":"), timeout=60)
        fields = {"Content-Type": "application/json", "Origin": f"http://{vault.listen}"}
        connection.request("POST", "/api/v1/sessions", json.dumps(order), fields)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def contents(self, vault):
        """Returns what the vault consists of: without what SQLite and the service have beside it while they run."""
        found = {}
        for parent, _, names in os.walk(vault.folder):
            for name in names:
                if name not in ("control.sock", "service.json", "index.sqlite-shm", "index.sqlite-wal", "lock"):
                    with open(os.path.join(parent, name), "rb") as file:
                        found[os.path.relpath(os.path.join(parent, name), vault.folder)] = file.read()
        return found

    def check(self, vault, *options):
        """Streams a title, and asks for what would have to be stored or written."""
        before, asked = self.contents(vault), len(self.origin.exchanges)
        service = vault.serve(*options)
        self.addCleanup(vault.stop)
        link = vault.address(self.held)
        with client.Stream(link, range="bytes=1000-") as player:
            self.assertEqual(player.status, 206)
            self.assertEqual(player.read(SIZE), self.content[1000:])
        self.assertEqual(client.get(link).body, self.content)
        self.assertEqual(client.digest(vault.address(self.other))[0], 504)
        self.assertEqual(len(self.origin.exchanges), asked, "an origin was asked")
        for order in ({"name": "Anna", "pin": "24681357"}, {"name": "Anna", "pin": "0000"}, {"ticket": "x"}):
            status, problem = self.sign_in(vault, order)
            self.assertEqual(status, 503)
            self.assertIn("the vault is read-only here", problem["detail"])
        self.assertIn("nothing is changed", service.log())
        self.assertFalse(os.path.exists(self.notices), "the operator was told that the disk was full")
        vault.stop()
        self.assertEqual(self.contents(vault), before)

    def test_mount(self):
        """From a read-only mount a title is streamed, no origin is asked, and a sign-in says that the vault is
        read-only"""
        vault = self.vault_with_viewer()
        disk = SmallDisk(self, vault, 64)
        for options in ("remount,ro", "remount,ro,bind"):
            subprocess.run(["mount", "-o", options, disk.folder], check=True)
            self.check(vault)
            subprocess.run(["mount", "-o", options.replace("ro", "rw"), disk.folder], check=True)

    def test_option(self):
        """serve --read-only does the same with a folder that can be written, and changes nothing there"""
        vault = self.vault_with_viewer()
        self.check(vault, "--read-only")
        vault.serve("--read-only")
        self.assertEqual(control.ask(vault, "GET", "status")[0], 200)
        refused = vault.run("fetch", self.other)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(b"only reads the vault", refused.stderr)
        vault.stop()
        # The next owner goes on as ever.
        vault.serve()
        self.assertEqual(client.get(vault.address(self.other)).status, 200)

    def test_contradictions(self):
        """Options that would store or remove something are refused with --read-only"""
        vault = self.new_vault()
        for words in (("--mode", "online"), ("--max-size", "1G"), ("--evict-downloads",)):
            done = vault.run("serve", "--read-only", *words)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(b"--read-only", done.stderr)
