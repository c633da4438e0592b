"""Malformed requests, sent byte for byte by varnishtest scripts: an HTTP library would refuse to send them."""

import contextlib
import io
import os
import re
import subprocess
from unittest import mock

from harness import client, reporting
from harness.case import VaultCase, each
from harness.outcome import Recorder

NAME = "tone.mp3"
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "malformed")
NAMES = ("smuggling", "lines", "hosts", "ranges")


class Malformed(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()
        cls.media.path(NAME)
        cls.address = cls.vault.address(cls.origin.url(NAME))
        client.get(cls.address)
        cls.facts = {
            "port": cls.vault.service.port, "target": client.split(cls.address)[2], "size": cls.media.size(NAME)}

    @each(*NAMES)
    def test_script(self, name):
        """The service answers raw requests as RFC 9110 and RFC 9112 require: {}"""
        facts = [part for fact, value in self.facts.items() for part in ("-D", f"{fact}={value}")]
        done = subprocess.run(
            ["varnishtest", *facts, os.path.join(SCRIPTS, f"{name}.vtc")], capture_output=True, timeout=60,
            env={**os.environ, "TMPDIR": self.scratch})
        told = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("----")]
        self.assertEqual(done.returncode, 0, "\n".join(told))
        self.assert_range(self.address, NAME, 100, 200)


class Wrong(VaultCase):
    """Runs the same scripts with one wrong expectation each, to prove that the check can fail."""

    @each(*NAMES)
    def test_script(self, name):
        """The check fails if the last expectation of its script is wrong, and the runner reports that expectation:
        {}"""
        with open(os.path.join(SCRIPTS, f"{name}.vtc"), encoding="utf-8") as file:
            *_, last = re.finditer(r"expect resp\.status == (\d+)", script := file.read())
        with open(os.path.join(self.scratch, f"{name}.vtc"), "w", encoding="utf-8") as file:
            file.write(script[:last.start(1)] + "299" + script[last.end(1):])
        told = io.StringIO()
        recorder = Recorder(quiet=True)
        with mock.patch(f"{__name__}.SCRIPTS", self.scratch), contextlib.redirect_stdout(told):
            reporting.run([Malformed(f"test_script_{name}")], recorder)
        self.assertEqual((recorder.is_success(), recorder.summary()), (False, "0 passed, 1 failed"))
        self.assertRegex(told.getvalue(), rf'(?s)^FAIL .*EXPECT resp\.status \({last[1]}\) == "299" failed')
