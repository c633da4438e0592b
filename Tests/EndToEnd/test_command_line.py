"""The command as people type it: options first, short names, and advice that works when it is followed."""

import datetime
import json
import os
import shutil
import socket
import subprocess
import time

from harness import client
from harness.case import Settings, VaultCase, each
from harness.small_disk import SmallDisk
from harness.terminal import Terminal
from harness.vault import Vault

FAILED, USAGE, LOCKED = 1, 2, 3
NAME, OTHER = "tone.mp3", "moov-first.mp4"
USER = 65534


class CommandLine(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.new_vault()
        cls.title, cls.other_title = cls.origin.url(NAME), cls.origin.url(OTHER)

    def assert_told(self, status, words, vault, *arguments, **options):
        """Checks the exit code of a command, and that its last message contains some words; returns the message."""
        done = vault.run(*arguments, **options)
        told = done.stderr.decode().strip().split("\n")[-1]
        self.assertEqual(done.returncode, status, f"{arguments}: {told}")
        self.assertIn(words, told, arguments)
        return told

    def test_options_first(self):
        """Options of the vault may stand before the subcommand, and ls and rm are list and remove"""
        vault = self.new_vault()
        nowhere = {name: None for name in ("MEDIAVAULT_DIR", "MEDIAVAULT_KEYRING", "MEDIAVAULT_KEY_FILE")}
        first = ("--vault", vault.folder, f"--keyring={vault.keyring}", "--key-file", vault.key)
        self.assert_told(FAILED, "there is no vault", vault, "ls", **nowhere)
        vault.result(*first, "fetch", self.title, **nowhere)
        self.assertIn(self.title.encode(), vault.result(*first, "ls", "--columns", "url", **nowhere))
        self.assertEqual(len(json.loads(vault.result("--json", *first, "keys", "slot", "ls", **nowhere))["slots"]), 1)
        vault.result(*first, "rm", self.title, **nowhere)
        self.assertEqual(vault.result(*first, "ls", **nowhere), b"")

    def test_unknown(self):
        """A command that does not exist is answered with the likely one, or with all; so is help for it"""
        self.assert_told(USAGE, "did you mean list?", self.vault, "lits")
        self.assert_told(USAGE, "did you mean remove?", self.vault, "delete", self.title)
        for words in (("nonsense",), ("help", "nonsense")):
            told = self.assert_told(USAGE, "there is no command nonsense", self.vault, *words)
            for name in ("init", "fetch", "keys"):
                self.assertIn(name, told)

    def test_sizes(self):
        """Sizes are accepted as people write them, and shown as people read them"""
        vault = self.new_vault()
        for text, shown in (("500 MB", "500MB"), ("1.5gib", "1536MiB"), ("10m", "10MB")):
            vault.result("config", "set", "max-size", text)
            self.assertEqual(vault.result("config", "get", "max-size").decode().strip(), shown)
        vault.result("config", "set", "max-size", "2", "GB")
        self.assertEqual(vault.result("config", "get", "max-size").decode().strip(), "2GB")
        told = self.assert_told(USAGE, "500 MB, 1.5GiB", vault, "config", "set", "max-size", "5")
        self.assertIn("max-size must be a size with a unit", told)
        vault.result("fetch", self.title, "--limit-rate", "800Mbit/s")
        told = self.assert_told(USAGE, "cannot be limited to 1.0 kB", vault, "config", "set", "max-size", "1k")
        self.assertNotRegex(told, r"\d{5}")

    @each("without a service", "through a service")
    def test_already_complete(self, how):
        """A second fetch {} says that the title is already complete; the first does not"""
        vault = self.new_vault()
        if how == "through a service":
            vault.serve()
        first = vault.run("fetch", self.title)
        self.assertEqual((first.returncode, b"already" in first.stderr), (0, False), first.stderr)
        fetched = vault.bytes_fetched()
        self.assertGreater(fetched, 0)
        second = vault.run("fetch", self.title)
        self.assertEqual(second.returncode, 0)
        self.assertRegex(second.stderr.decode(), rf"^mediavault: {NAME}: already complete, [0-9.]+ [kM]B\n$")
        self.assertEqual(vault.bytes_fetched(), fetched)

    def test_json(self):
        """init, url, token and config set have --json, which says what their text says"""
        vault = Vault(Settings.binary, os.path.join(self.scratch, "json"))
        made = json.loads(vault.result("init", "--json"))
        self.assertEqual(
            made, {
                "vault": vault.folder, "vaultCreated": True, "keyring": vault.keyring, "keyringCreated": True,
                "keyFile": vault.key, "keyFileCreated": True, "restsWithVault": True})
        self.assertIs(json.loads(vault.result("--json", "init"))["vaultCreated"], False)
        link = json.loads(vault.result("url", self.title, "--expires", "1h", "--json"))
        self.assertEqual(link["url"], self.title)
        self.assertRegex(link["link"], rf"^http://{vault.listen}/media/")
        end = datetime.datetime.fromisoformat(link["expires"])
        self.assertAlmostEqual(end.timestamp(), time.time() + 3600, delta=60)
        token = json.loads(vault.result("token", "create", "--scope", "read", "--json"))
        self.assertRegex(token["token"], "^mvt_[A-Za-z0-9_-]{64}$")
        self.assertEqual((token["scope"], token["name"], token["expires"]), ("read", None, None))
        self.assertEqual(json.loads(vault.result("config", "set", "max-size", "5MB", "--json"))["maxSize"], 5_000_000)
        self.assertEqual(json.loads(vault.result("config", "unset", "max-size", "--json"))["maxSize"], 0)

    def test_no_vault_at_terminal(self):
        """Without a vault, the command says so and asks for no passphrase; its advice works"""
        vault = Vault(Settings.binary, os.path.join(self.scratch, "none"))
        environment = {name: text for name, text in vault.environment.items() if name != "MEDIAVAULT_KEY_FILE"}
        for words in (("list",), ("fetch", self.title), ("serve",), ("url", self.title)):
            terminal = Terminal([vault.binary, *words], environment)
            terminal.wait_for(b"there is no vault at " + vault.folder.encode())
            self.assertEqual(terminal.end(), FAILED)
            self.assertIn(b"mediavault init", terminal.shown)
            self.assertNotIn(b"assphrase", terminal.shown)
        vault.init().result("list")
        # The keyring is there, but the disk with the vault is not.
        os.rename(vault.folder, vault.folder + ".away")
        terminal = Terminal([vault.binary, "list"], environment)
        terminal.wait_for(b"there is no vault at " + vault.folder.encode())
        self.assertEqual(terminal.end(), FAILED)
        self.assertNotIn(b"assphrase", terminal.shown)

    def test_locked(self):
        """Beside a locked service status prints locked, other commands exit 3, and a restart helps, as they say"""
        vault = self.served_vault()
        vault.result("keys", "lock")
        self.assertIn(b"locked", vault.result("status"))
        status = json.loads(vault.result("status", "--json"))
        self.assertEqual((status["locked"], status["service"]["pid"]), (True, vault.service.process.pid))
        for words in (("config", "get"), ("fetch", self.title), ("keys", "list"), ("pin", self.title)):
            self.assert_told(LOCKED, "restart the service", vault, *words)
        vault.service.stop()
        vault.serve()
        vault.result("fetch", self.title)
        self.assertIs(json.loads(vault.result("status", "--json"))["locked"], False)

    def test_destroyed(self):
        """A destroyed vault is called destroyed, and what the message says makes a new one"""
        vault = self.new_vault()
        vault.result("keys", "destroy", "--confirm", vault.status()["vault"])
        for words in (("list",), ("init",), ("keys", "slot", "list"), ("token", "list"), ("fetch", self.title)):
            told = self.assert_told(FAILED, f"the vault at {vault.folder} was destroyed", vault, *words)
            self.assertNotIn("restore", told)
        vault.result("keys", "audit")
        shutil.rmtree(vault.folder)
        vault.init().result("list")

    def test_read_only(self):
        """On a read-only file system each refusal says so, what is held is read and played, and nothing is changed"""
        vault = self.new_vault()
        vault.result("fetch", self.title)
        disk = SmallDisk(self, vault, 64)
        whole = vault.result("cat", self.title)
        for options in ("remount,ro", "remount,ro,bind"):
            self.check_read_only(vault, disk, options, whole)
            subprocess.run(["mount", "-o", options.replace("ro", "rw"), disk.folder], check=True)
            vault.result("fetch", self.title)

    def check_read_only(self, vault, disk, options, whole):
        subprocess.run(["mount", "-o", options, disk.folder], check=True)
        names = sorted(os.listdir(vault.folder))
        self.assertNotIn("index.sqlite-wal", names, "the vault was not closed")
        for words in (("list",), ("status",), ("keys", "list"), ("verify",)):
            done = vault.run(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"read-only", done.stderr)
        self.assertEqual(vault.result("cat", self.title), whole)
        other = {"MEDIAVAULT_KEYRING": os.path.join(self.scratch, "other.json")}
        for words, environment in (
                (("fetch", self.other_title), {}),
                (("config", "set", "max-size", "1G"), {}), (("keys", "rotate"), {}),
                (("--vault", os.path.join(disk.folder, "other"), "init"), other),
                (("keys", "backup", os.path.join(disk.folder, "backup"), "--backup-passphrase-file", vault.key), {})):
            told = self.assert_told(FAILED, "read-only", vault, *words, **environment)
            self.assertNotIn("permission", told)
        service = vault.serve()
        self.addCleanup(vault.stop)
        status, length, _ = client.digest(vault.address(self.title))
        self.assertEqual((status, length), (200, len(whole)))
        self.assertEqual(client.digest(vault.address(self.other_title))[0], 504)
        self.assertIn("read-only", service.log())
        vault.stop()
        self.assertEqual(sorted(os.listdir(vault.folder)), names)

    def test_permission(self):
        """Another user is told to be the vault's owner, before a passphrase is asked for"""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        vault = self.new_vault()
        os.chmod(vault.folder, 0o700)
        binary = os.path.join(vault.base, "mediavault")
        shutil.copy(vault.binary, binary)
        environment = {name: text for name, text in vault.environment.items() if name != "MEDIAVAULT_KEY_FILE"}
        for folder in (vault.base, os.path.dirname(vault.base)):
            os.chmod(folder, 0o755)
        for words in (("list",), ("fetch", self.title), ("serve",)):
            terminal = Terminal(
                ["/usr/bin/setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", binary, *words],
                environment)
            terminal.wait_for(b"run this as the vault's owner")
            self.assertEqual(terminal.end(), FAILED)
            self.assertNotIn(b"assphrase", terminal.shown)

    def test_port_of_another_program(self):
        """A port that another program has is named, and another port works"""
        vault = self.new_vault()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            told = self.assert_told(FAILED, "already in use", vault, "serve", "--listen", address)
            self.assertIn(address, told)
            vault.serve()

    def test_second_service(self):
        """A second service names the first, and starts when that has ended"""
        vault = self.served_vault()
        told = self.assert_told(FAILED, "already serves this vault; stop it first", vault, "serve")
        self.assertIn(f"http://{vault.listen} (process {vault.service.process.pid})", told)
        vault.service.stop()
        vault.serve()
