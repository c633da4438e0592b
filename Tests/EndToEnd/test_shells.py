"""What Scripts/manual makes of the command's definition: man pages, and completions that real shells use."""

import os
import re
import subprocess
import sys

from harness.case import ROOT, Settings, VaultCase, each
from harness.control import KEYLESS
from harness.media import LARGE
from harness.terminal import Terminal

NAME = "tone.mp3"
SYNTAX = {
    "bash": ("bash", "-n", "bash-completion/completions/mediavault"),
    "zsh": ("zsh", "-n", "zsh/vendor-completions/_mediavault"),
    "fish": ("fish", "-n", "fish/vendor_completions.d/mediavault.fish")}


class Shells(VaultCase):
    @classmethod
    def prepare(cls):
        cls.folder = os.path.join(cls.scratch, "share")
        subprocess.run(
            [sys.executable, os.path.join(ROOT, "Scripts", "manual"), cls.folder, "--binary", Settings.binary],
            check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        cls.origin, cls.vault = cls.new_origin(), cls.new_vault()
        cls.titles = [cls.origin.url(name) for name in (NAME, LARGE)]
        cls.vault.result("cat", cls.titles[0], "--range", "0-99")
        cls.vault.result("cat", cls.titles[1], "--range", "0-99")

    def offered(self, line, *more, **environment):
        """Returns what an interactive bash shows for a line and two presses of the Tab key."""
        changed = {
            **self.vault.environment, "PS1": "READY ", "TERM": "dumb",
            "PATH": os.path.dirname(self.vault.binary) + ":" + os.environ["PATH"], **environment}
        shell = Terminal(
            ["/bin/bash", "--norc", "--noprofile"],
            {name: value for name, value in changed.items() if value is not None})
        shell.wait_for(b"READY ")
        shell.type(f". {self.folder}/bash-completion/completions/mediavault; echo LOADED$((1+1))\n".encode())
        shell.wait_for(b"LOADED2")
        shell.wait_for(b"READY ", after=b"LOADED2")
        before = len(shell.shown)
        # The line is never run: Ctrl-U removes it, and what follows is shown when the completion is done.
        shell.type(line.encode() + b"\t\t\x15echo DONE$((1+1))\n")
        shell.wait_for(b"DONE2")
        shell.type(b"exit\n")
        shell.end()
        return shell.shown[before:].decode()

    @each("bash", "zsh", "fish")
    def test_syntax(self, shell):
        """The completion for {} has no syntax error, and knows every command"""
        *check, name = SYNTAX[shell]
        path = os.path.join(self.folder, name)
        checked = subprocess.run([*check, path], capture_output=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, b""))
        with open(path, encoding="utf-8") as file:
            script = file.read()
        for word in ("fetch", "respond-to-leak", "limit-rate", "prefer-vault"):
            self.assertIn(word, script)

    def test_commands(self):
        """Bash completes commands and options, also behind options of the vault, and of an alias"""
        for line, whole in (
                ("mediavault stat", "mediavault status "), ("mediavault --vault /v stat", "--vault /v status "),
                ("mediavault --vault=/v keys sl", "--vault=/v keys slot "), ("mediavault --keyr", "--keyring "),
                ("mediavault ls --sea", "mediavault ls --search "),
                ("mediavault fetch --limit-r", "mediavault fetch --limit-rate "),
                ("mediavault help stat", "mediavault help status "),
                ("mediavault help keys slot ad", "mediavault help keys slot add ")):
            self.assertIn(whole, self.offered(line), line)

    def test_values(self):
        """Bash completes the values of options, and those of settings"""
        levels = self.offered("mediavault serve --log-level ")
        for level in ("debug", "info", "notice", "warning", "error"):
            self.assertIn(level, levels)
        self.assertIn("--mode prefer-vault ", self.offered("mediavault serve --mode pre"))
        self.assertIn("--subtitles none ", self.offered("mediavault fetch --subtitles no"))
        self.assertIn("mode offline ", self.offered("mediavault config set mode of"))
        self.assertIn("evict-downloads yes ", self.offered("mediavault config set evict-downloads y"))

    def test_titles(self):
        """While a service runs, bash completes titles by their ids, and runs nothing that stands in names and URLs"""
        vault = self.new_vault()
        marker = os.path.join(self.scratch, "run-by-a-shell")
        vault.result("fetch", self.titles[0], "--title", f"$(touch {marker}) `touch {marker}`")
        id = vault.info(self.titles[0])["id"]
        vault.serve()
        keyless = {"MEDIAVAULT_DIR": vault.environment["MEDIAVAULT_DIR"], **KEYLESS}
        for line, whole in ((f"mediavault info {id[:3]}", f"info {id} "), (f"mediavault rm {id[:3]}", f"rm {id} "),
                            (f"mediavault export {id[:3]}", f"export {id} ")):
            self.assertIn(whole, self.offered(line, **keyless), line)
        self.assertNotIn("://", self.offered("mediavault info ", **keyless))
        self.assertIn("--columns id,name", self.offered("mediavault list --columns id,na", **keyless))
        vault.stop()
        silent = self.offered(f"mediavault info {id[:3]}", **{**keyless, "MEDIAVAULT_KEY_FILE": None})
        self.assertNotIn(id, silent)
        self.assertNotIn("assphrase", silent)
        self.assertFalse(os.path.exists(marker))

    def test_descriptions(self):
        """zsh and fish are given the name of a title as a description, in which no character is one of theirs"""
        vault = self.new_vault()
        vault.result("fetch", self.titles[0], "--title", "It's $(a) film: `x`")
        id = vault.info(self.titles[0])["id"]
        vault.serve()
        for shell, mark in (("zsh", ":"), ("fish", "\t"), ("bash", None)):
            done = vault.run("---completion", "info", "--", "positional@0", "2", "0", "mediavault", "info", "",
                             SAP_SHELL=shell, **KEYLESS)
            line = done.stdout.decode().split("\n")[0]
            self.assertEqual(line, f"{id}{mark}It s   a  film   x " if mark else id)

    def test_man_pages(self):
        """Every command has a man page, which neither mandoc nor man complains of"""
        folder = os.path.join(self.folder, "man", "man1")
        pages = sorted(os.listdir(folder))
        for name in ("mediavault.1", "mediavault-fetch.1", "mediavault-keys-slot-add.1"):
            self.assertIn(name, pages)
        self.assertGreater(len(pages), 40)
        for page in pages:
            path = os.path.join(folder, page)
            for check in (("mandoc", "-Tlint", "-Wwarning"), ("man", "--warnings", "--local-file", "--encoding=utf8")):
                told = subprocess.run([*check, path], capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
                complaint = told.stderr + (told.stdout if check[0] == "mandoc" else b"")
                self.assertEqual((told.returncode, complaint), (0, b""), page)
        shown = subprocess.run(
            ["mandoc", "-Tutf8", os.path.join(folder, "mediavault-fetch.1")], capture_output=True, text=True).stdout
        plain = re.sub(".\b", "", shown)
        for text in ("--limit-rate=rate", "MEDIAVAULT_KEY_FILE", "40Mbit/s", "mediavault fetch [option ...] [title ...]"):
            self.assertIn(text, plain)
