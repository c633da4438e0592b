"""The command at a terminal: it asks for a passphrase or for consent, and exits correctly."""

import os
import signal

from harness.case import VaultCase, each
from harness.terminal import Terminal

PASSPHRASE = b"correct horse battery staple\n"


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
        terminal.wait_for(b"level=error")
        self.assertEqual(terminal.end(), 3)

    @each("Ctrl-C", "SIGTERM")
    def test_interrupted_question(self, how):
        """{} at a question ends a response to a leak with the exit code of an interruption; it states how to continue"""
        terminal = Terminal(
            [self.vault.binary, "keys", "respond-to-leak", "--limit-rate", "5M"], self.vault.environment)
        terminal.wait_for(b"continue? type y and press Enter")
        if how == "Ctrl-C":
            terminal.type(b"\x03")
        else:
            os.kill(terminal.pid, signal.SIGTERM)
        self.assertEqual(terminal.end(), 128 + (signal.SIGINT if how == "Ctrl-C" else signal.SIGTERM))
        self.assertIn(b"mediavault: run keys respond-to-leak --limit-rate 5M to continue", terminal.shown)
        self.assertIn(b"mediavault: interrupted; keys list shows what is done", terminal.shown)
        self.assertIn(b'"current":1', self.vault.result("keys", "list", "--json"))
