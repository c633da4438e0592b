"""Requests that no library would send, byte for byte: scripts for varnishtest, whose client sends what it is told."""

import os
import subprocess

from harness import client
from harness.case import VaultCase, each

NAME = "tone.mp3"
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "malformed")


class Malformed(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()
        cls.media.path(NAME)
        cls.address = cls.vault.address(cls.origin.url(NAME))
        client.get(cls.address)
        cls.facts = {
            "port": cls.vault.service.port, "target": client.split(cls.address)[2], "size": cls.media.size(NAME)}

    @each("smuggling", "lines", "hosts", "ranges")
    def test_script(self, name):
        """Raw requests get the answers that RFC 9110 and RFC 9112 want: {} (reliability 1, 5)"""
        facts = [part for fact, value in self.facts.items() for part in ("-D", f"{fact}={value}")]
        done = subprocess.run(
            ["varnishtest", *facts, os.path.join(SCRIPTS, f"{name}.vtc")], capture_output=True, timeout=60,
            env={**os.environ, "TMPDIR": self.scratch})
        told = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("----")]
        self.assertEqual(done.returncode, 0, "\n".join(told))
        self.assert_range(self.address, NAME, 100, 200)
