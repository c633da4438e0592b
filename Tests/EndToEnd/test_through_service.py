"""Commands work through the service that owns the vault: without a key, and while titles play."""

import json
import os
import shutil
import signal
import stat
import subprocess
import time
import unittest

from harness import client, control
from harness.case import Settings, VaultCase, each
from harness.control import KEYLESS
from harness.media import LARGE
from harness.vault import Vault
from harness.waiting import eventually

NAME, FILM = "tone.mp3", "moov-first.mp4"
SIZE, HOLD = 4 << 20, 1_000_000
LEFT_WITHIN = 20.0  # seconds; an origin that no one has left is let go after thirty
NOBODY = 65534


def start(vault, *arguments):
    """Starts the command without a key."""
    return subprocess.Popen(
        [vault.binary, *arguments], env={**vault.environment, **KEYLESS}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def sentence(told):
    return told.decode().strip().split("\n")[-1]


class ThroughService(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.scripted, cls.vault = cls.new_origin(), cls.new_scripted_origin(), cls.served_vault()

    def held_back(self, target):
        """Returns a title whose origin pauses at `HOLD`, its URL, and a function that waits for the paused exchange."""
        url = self.scripted.add(target, size=SIZE, seed=len(self.scripted.films) + 1, hold_at=HOLD)
        film = self.scripted.film(target)
        self.addCleanup(film.release.set)
        return film, url, lambda: eventually(
            lambda: next((item for item in self.scripted.gets(target) if item.waiting.is_set()), None))

    def test_fetch(self):
        """fetch, cat and status need no key while the service runs"""
        url = self.origin.url(NAME)
        self.vault.result("fetch", url, **KEYLESS)
        self.assertTrue(self.vault.result("cat", url, **KEYLESS) == self.media.bytes(NAME, 0, self.media.size(NAME)))
        status = json.loads(self.vault.result("status", "--json", **KEYLESS))
        self.assertEqual(status["service"]["pid"], self.vault.service.process.pid)

    def test_one_transfer(self):
        """Two fetches and a player of one title at the same time request each byte from the origin only once"""
        vault, url = self.served_vault(), self.origin.url(LARGE)
        address, before = vault.address(url), self.origin.body_bytes(LARGE)
        codes = []
        client.together([
            lambda: codes.append(vault.run("fetch", url, **KEYLESS).returncode),
            lambda: codes.append(vault.run("fetch", url, **KEYLESS).returncode),
            lambda: self.assert_whole(address, LARGE)])
        self.assertEqual(codes, [0, 0])
        self.assert_eventually(lambda: self.origin.body_bytes(LARGE) - before, self.media.size(LARGE))

    def test_interrupted(self):
        """Ctrl-C of fetch ends its transfer at once, keeps the received bytes, and leaves the service running"""
        vault = self.served_vault()
        _, url, waiting = self.held_back("interrupted.mp4")
        run = start(vault, "fetch", url)
        exchange = waiting()
        self.assertIsNotNone(exchange, "the origin was not asked")
        self.assert_eventually(vault.bytes_fetched, HOLD)
        left = time.monotonic()
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 130, told)
        self.assertTrue(exchange.ended.wait(LEFT_WITHIN), "the origin's connection stays open")
        self.figure("the origin's connection closes after Ctrl-C of fetch", exchange.left_at - left, "told only", " s")
        self.assertTrue(vault.service.is_up())
        self.assert_eventually(lambda: vault.info(url)["held"], [[0, HOLD]])

    def test_detach(self):
        """fetch --detach exits at once, and the service continues the fetch"""
        film, url, waiting = self.held_back("detached.mp4")
        self.vault.result("fetch", "--detach", url, **KEYLESS)
        self.assertIsNotNone(waiting(), "the service does not fetch")
        film.release.set()
        self.assert_eventually(lambda: self.vault.info(url)["bytes"], SIZE)

    @each("SIGTERM", "SIGKILL")
    def test_service_ends(self, name):
        """{} of the service ends a fetch through it with one sentence and exit code 1; after a restart, the fetch
        completes"""
        film, url, waiting = self.held_back(f"{name}.mp4")
        vault = self.served_vault()
        run = start(vault, "fetch", url)
        self.assertIsNotNone(waiting(), "the origin was not asked")
        vault.service.process.send_signal(getattr(signal, name))
        told = run.communicate(timeout=30)[1]
        self.assertEqual(run.returncode, 1, told)
        self.assertIn("received data is kept", sentence(told))
        self.assertEqual(vault.service.process.wait(30), 0 if name == "SIGTERM" else -signal.SIGKILL)
        # A new service replaces the socket that a killed one leaves behind.
        self.assertEqual(os.path.exists(control.path(vault)), name == "SIGKILL")
        film.release.set()
        vault.serve()
        vault.result("fetch", url, **KEYLESS)
        self.assertTrue(vault.result("cat", url, **KEYLESS) == film.content, "the bytes differ")

    def test_keeping(self):
        """pin, unpin, remove, prune and config work through the service"""
        vault, url = self.served_vault(), self.origin.url(NAME)
        vault.result("fetch", url, **KEYLESS)
        for verb, expected in (("pin", "pinned"), ("unpin", "download")):
            vault.result(verb, url, **KEYLESS)
            self.assertEqual(vault.info(url)["class"], expected)
        vault.result("config", "set", "max-size", "300MiB", **KEYLESS)
        settings = json.loads(vault.result("config", "get", "--json", **KEYLESS))
        self.assertEqual(settings["maxSize"], 300 << 20)
        vault.result("prune", "--max-size", "1GB", **KEYLESS)
        self.assertEqual(vault.info(url)["bytes"], self.media.size(NAME))
        vault.result("remove", url, **KEYLESS)
        self.assertEqual(vault.run("info", url).returncode, 6)
        self.assertEqual(vault.run("remove", url, **KEYLESS).returncode, 6)

    def test_repair(self):
        """verify --repair through the service fetches only the damaged block, while a title plays"""
        vault, url, film = self.served_vault(), self.origin.url(NAME), self.origin.url(FILM)
        vault.result("fetch", url, **KEYLESS)
        vault.stop()
        segment = next(
            os.path.join(parent, name)
            for parent, _, names in os.walk(os.path.join(vault.folder, "segments")) for name in names)
        with open(segment, "r+b") as file:
            file.seek(100_000)
            byte = file.read(1)[0]
            file.seek(100_000)
            file.write(bytes([byte ^ 1]))
        vault.serve()
        address, before = vault.address(film), self.origin.body_bytes(NAME)
        reports = []
        client.together([
            lambda: reports.append(json.loads(vault.result("verify", "--repair", "--json", **KEYLESS))),
            lambda: self.assert_whole(address, FILM)])
        self.assertTrue(reports[0]["sound"])
        self.assertEqual(reports[0]["damage"]["block"], 1)
        self.assert_eventually(lambda: self.origin.body_bytes(NAME) - before, 32 << 10)
        self.assertTrue(vault.result("cat", url, **KEYLESS) == self.media.bytes(NAME, 0, self.media.size(NAME)))


class Socket(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()

    def test_mode(self):
        """Only the owner can access the control socket"""
        mode = os.stat(control.path(self.vault)).st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o600)

    @unittest.skipUnless(os.geteuid() == 0, "another user cannot be tried but by root")
    def test_other_user(self):
        """The control socket refuses another user, whatever the modes of folder and socket"""
        vault = self.served_vault()
        opened = [control.path(vault), vault.folder, vault.base, self.scratch]
        for path in opened:
            os.chmod(path, 0o777)
        status = control.status_for(vault, NOBODY)
        if status == 0:  # that user cannot access a parent folder: nothing was tested
            self.skipTest("another user cannot reach the scratch folder")
        self.assertEqual(status, 403)
        self.assertEqual(control.status_for(vault, 0), 200)

    def test_no_secrets(self):
        """No answer of the control socket repeats the request, or contains a key or a token"""
        token = self.vault.token()
        with open(self.vault.key, "rb") as file:
            key = file.read()
        for method, target, document in (
                ("GET", "resource?url=http://a.example/film%3Ftoken=hunter2", None),
                ("GET", "content?url=http://user:hunter2@127.0.0.1:1/", None),
                ("POST", "downloads", {"url": "http://user:hunter2@127.0.0.1:1/film?token=hunter2"}),
                ("POST", "downloads", {"url": "hunter2"}), ("POST", "removals", {"uri": "hunter2"}),
                ("PATCH", "settings", {"maxSize": "hunter2"}), ("GET", "hunter2", None), ("GET", "status", None)):
            _, body = control.ask(self.vault, method, target, document)
            for secret in (b"hunter2", token.encode(), key, key.hex().encode()):
                self.assertNotIn(secret, body, f"{method} {target}")
        self.assertNotIn("hunter2", self.vault.service.log())

    def test_long_path(self):
        """A vault whose path is longer than a socket address still has a control socket"""
        folder = os.path.join(self.scratch, "long-" * 40)
        vault = Vault(Settings.binary, folder).init()
        self.addClassCleanup(vault.stop)
        vault.serve()
        vault.result("fetch", self.origin.url(NAME), **KEYLESS)
        self.assertEqual(vault.info(self.origin.url(NAME))["bytes"], self.media.size(NAME))

    def test_no_socket(self):
        """If the control socket cannot be created, the service runs without it and logs that once, and commands name
        its process"""
        vault = self.new_vault()
        os.mkdir(control.path(vault))
        vault.serve()
        self.assertEqual(vault.service.log().count("control.sock"), 1)
        done = vault.run("fetch", self.origin.url(NAME))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(str(vault.service.process.pid), done.stderr.decode())
        shutil.rmtree(control.path(vault))


class Waiting(VaultCase):
    def test_wait(self):
        """A command names an owner without a socket, or waits for it with --wait; then each byte was fetched only
        once"""
        origin, vault = self.new_scripted_origin(), self.new_vault()
        url = origin.add("film.mp4", size=SIZE, hold_at=HOLD)
        owner = subprocess.Popen([vault.binary, "fetch", url], env=vault.environment, stderr=subprocess.DEVNULL)
        self.assertTrue(eventually(lambda: any(item.waiting.is_set() for item in origin.gets("film.mp4"))))
        refused = vault.run("fetch", url)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn(str(owner.pid), refused.stderr.decode())
        patient = subprocess.Popen(
            [vault.binary, "fetch", "--wait", url], env=vault.environment, stderr=subprocess.PIPE)
        self.assertIn(str(owner.pid), patient.stderr.readline().decode())
        origin.film("film.mp4").release.set()
        self.assertEqual(owner.wait(30), 0)
        patient.communicate(timeout=30)
        self.assertEqual(patient.returncode, 0)
        self.assertEqual(sum(item.sent for item in origin.gets("film.mp4")), SIZE)

    def test_service_comes(self):
        """A command that waits goes through the service that takes over the vault"""
        origin, vault = self.new_scripted_origin(), self.new_vault()
        url = origin.add("film.mp4", size=SIZE, hold_at=HOLD)
        owner = subprocess.Popen([vault.binary, "fetch", url], env=vault.environment, stderr=subprocess.DEVNULL)
        self.assertTrue(eventually(lambda: any(item.waiting.is_set() for item in origin.gets("film.mp4"))))
        os.kill(owner.pid, signal.SIGSTOP)
        patient = subprocess.Popen(
            [vault.binary, "fetch", "--wait", url], env=vault.environment, stderr=subprocess.PIPE)
        self.assertIn("waiting", patient.stderr.readline().decode())
        os.kill(patient.pid, signal.SIGSTOP)
        owner.kill()
        owner.wait(30)
        vault.serve()
        os.kill(patient.pid, signal.SIGCONT)
        origin.film("film.mp4").release.set()
        patient.communicate(timeout=30)
        self.assertEqual(patient.returncode, 0)
        self.assertTrue(vault.service.is_up())
        self.assertEqual(vault.info(url)["bytes"], SIZE)
