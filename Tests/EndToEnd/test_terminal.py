"""The service at a terminal: it asks for its passphrase, and exits correctly."""

import os
import pty
import select
import signal
import time

from harness.case import VaultCase
from harness.waiting import eventually

PASSPHRASE = b"correct horse battery staple\n"


class Terminal:
    """A command with a terminal of its own."""

    def __init__(self, arguments, environment):
        self.shown = b""
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execve(arguments[0], arguments, environment)

    def wait_for(self, text, within=20):
        deadline = time.monotonic() + within
        while text not in self.shown and time.monotonic() < deadline:
            if select.select([self._terminal], [], [], 0.1)[0]:
                self.shown += os.read(self._terminal, 4096)
        if text not in self.shown:
            raise AssertionError(f"{text} was not shown: {self.shown}")

    def type(self, text):
        os.write(self._terminal, text)

    def end(self, within=15):
        """Returns the exit code: negative for the signal that killed the command; None if it had to be killed."""
        ended, status = eventually(lambda: os.waitpid(self.pid, os.WNOHANG), lambda result: result[0], within)
        if ended:
            return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None


class AtTerminal(VaultCase):
    @classmethod
    def prepare(cls):
        cls.vault = cls.new_vault()
        place = os.path.join(cls.scratch, "asked")
        with open(os.path.join(cls.scratch, "passphrase"), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(PASSPHRASE)
        own = {"MEDIAVAULT_DIR": os.path.join(place, "vault"), "MEDIAVAULT_KEYRING": os.path.join(place, "keyring.json")}
        cls.vault.result("init", **own, MEDIAVAULT_KEY_FILE=None, MEDIAVAULT_PASSPHRASE_FILE=file.name)
        cls.environment = {**cls.vault.environment, **own}
        del cls.environment["MEDIAVAULT_KEY_FILE"]

    def asked(self):
        terminal = Terminal([self.vault.binary, "serve"], self.environment)
        terminal.wait_for(b"assphrase: ")
        return terminal

    def test_ends_after_prompt(self):
        """A service that asked for its passphrase serves, never shows what is typed, and exits 0 on SIGTERM"""
        terminal = self.asked()
        terminal.type(PASSPHRASE)
        terminal.wait_for(b"serving")
        os.kill(terminal.pid, signal.SIGTERM)
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn(PASSPHRASE.strip(), terminal.shown)

    def test_wrong_passphrase(self):
        """The service refuses a wrong passphrase typed at the terminal and exits 3"""
        terminal = self.asked()
        terminal.type(b"something else\n")
        terminal.wait_for(b"mediavault: ")
        self.assertEqual(terminal.end(), 3)
