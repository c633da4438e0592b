"""Titles get new keys while they play, even if the service is killed; shredded titles are gone, and receipts record
it."""

import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from harness import client
from harness.case import KILLS, ROOT, SEED, VaultCase
from harness.full_vault import CATALOGS
from harness.waiting import eventually

SIZE = 40 << 20
RATE = "40M"  # per second, of each title
patience = 600 + 20 * KILLS


class Resealing(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.urls = [cls.origin.add(f"film-{number}", size=SIZE, seed=number) for number in (1, 2)]
        cls.digests = [hashlib.sha256(cls.origin.film(f"film-{number}").content).hexdigest() for number in (1, 2)]

    def filled(self):
        vault = self.served_vault()
        for url in self.urls:
            vault.result("fetch", url)
        return vault

    def assert_plays(self, vault, message=None):
        for url, digest in zip(self.urls, self.digests):
            self.assertEqual(client.digest(vault.address(url)), (200, SIZE, digest), message)

    def assert_independently_readable(self, vault, count):
        """Checks that the reader written from the format document alone opens every block of every title."""
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "Tests", "IndependentReader", "read_vault.py"), vault.folder,
             vault.keyring, "--key-file", vault.key], capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        read = json.loads(done.stdout)
        self.assertEqual(read["damage"], [])
        self.assertEqual([item["bytes"] for item in read["resources"]], [SIZE] * count)

    @staticmethod
    def rows(vault, statement):
        with sqlite3.connect(f"file:{vault.folder}/index.sqlite?mode=ro", uri=True) as connection:
            return connection.execute(statement).fetchall()

    @staticmethod
    def receipts(vault):
        return json.loads(vault.result("keys", "audit", "--json"))

    @staticmethod
    def start(vault, *arguments):
        return subprocess.Popen(
            [vault.binary, *arguments], env=vault.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_killed(self):
        """Every title stays readable if the service is killed during a reseal, and the service then resumes the reseal
        by itself"""
        vault, seed = self.filled(), random.Random(SEED)
        origin_bytes = sum(exchange.sent for exchange in self.origin.exchanges)
        self.assert_independently_readable(vault, 2)
        interrupted, played = 0, 0
        for kill in range(KILLS):
            act = self.start(vault, "keys", "reseal", "--limit-rate", RATE)
            right, wrong, ends = [], [], threading.Event()
            player = threading.Thread(
                target=self.play, args=(vault.address(self.urls[kill % 2]), kill, right, wrong, ends))
            player.start()
            time.sleep(seed.uniform(0.02, 2.0))
            interrupted += self.rows(vault, "SELECT count(*) FROM resourceKey")[0][0] > 2
            vault.service.process.kill()
            vault.service.process.wait()
            ends.set()
            player.join()
            act.wait(30)
            self.assertEqual(wrong, [], f"kill {kill}, seed {SEED}")
            played += sum(right)
            vault.serve()
            self.assert_plays(vault, f"after kill {kill}, seed {SEED}")
        self.assertGreater(interrupted, 0, "no kill happened during a reseal")
        self.assertGreater(played, 0, "the players received nothing")
        # The service finishes the interrupted reseal by itself; then another, complete reseal succeeds.
        eventually(lambda: vault.run("keys", "reseal").returncode == 0, within=60)
        self.assert_plays(vault)
        self.assertEqual(self.rows(vault, "SELECT count(*) FROM resourceKey"), [(2,)])
        self.assertEqual(vault.run("verify").returncode, 0)
        self.assert_independently_readable(vault, 2)
        self.assertEqual(sum(exchange.sent for exchange in self.origin.exchanges), origin_bytes, "bytes fetched twice")
        audit = self.receipts(vault)
        self.assertTrue(audit["sound"] and audit["anchored"])
        self.assertEqual({item["act"] for item in audit["receipts"]}, {"reseal"})
        self.figure(f"{KILLS} kills: of them during a reseal", interrupted, "> 0, 0 unreadable")
        self.figure("MB that players got meanwhile", played / 1e6, "> 0, 0 wrong")

    def play(self, address, kill, right, wrong, ends):
        """Plays a title repeatedly until the service is killed; counts the right bytes and the wrong ones."""
        content = self.origin.film(f"film-{kill % 2 + 1}").content
        while not ends.is_set():
            try:
                with client.Stream(address) as stream:
                    position = 0
                    while part := stream.read(1 << 20):
                        is_right = part == content[position:position + len(part)]
                        (right if is_right else wrong).append(len(part))
                        position += len(part)
            except OSError:
                return

    def test_named(self):
        """Resealing one named title changes its key and no other; a second key operation at the same time is refused"""
        vault = self.filled()
        before = dict(self.rows(vault, "SELECT resource, wrapped FROM resourceKey"))
        act = self.start(vault, "keys", "reseal", self.urls[0], "--limit-rate", "10M")
        self.assertTrue(eventually(lambda: len(self.rows(vault, "SELECT 1 FROM resourceKey")) == 3))
        second = vault.run("keys", "reseal", self.urls[1])
        self.assertEqual((second.returncode, b"a reseal is running" in second.stderr), (1, True), second.stderr)
        self.assertEqual(act.wait(60), 0)
        after = dict(self.rows(vault, "SELECT resource, wrapped FROM resourceKey"))
        self.assertEqual(sorted(before[key] == after[key] for key in after), [False, True])
        self.assert_plays(vault)
        self.assertIsNotNone(self.receipts(vault)["receipts"][0]["subject"])

    def test_shred(self):
        """The wrapped key of a shredded title is in no file, while the service runs and after; the other titles still
        play"""
        vault = self.filled()
        wrapped = [bytes(row[0]) for row in self.rows(vault, "SELECT wrapped FROM resourceKey")]
        self.assertTrue(all(self.holding(vault, key) for key in wrapped), "the search misses a key that is there")
        said = vault.result("shred", self.urls[0]).decode()
        self.assertEqual([self.holding(vault, key) for key in wrapped], [[], []], "an old wrapped key remains")
        self.assertEqual(client.digest(vault.address(self.urls[1])), (200, SIZE, self.digests[1]))
        self.assert_independently_readable(vault, 1)
        vault.stop()
        self.assertEqual([self.holding(vault, key) for key in wrapped], [[], []])
        receipt = self.receipts(vault)["receipts"][-1]
        self.assertEqual((receipt["act"], receipt["outcome"]), ("shred", "destroyed"))
        self.assertIn(f"title {receipt['subject']} in receipts", said)
        for url, found in zip(self.urls, ([receipt], []), strict=True):
            self.assertEqual(json.loads(vault.result("keys", "audit", url, "--json"))["receipts"], found)
        self.assertEqual(vault.run("keys", "audit", self.urls[0], "--without-keys").returncode, 2)
        os.remove(os.path.join(vault.folder, "index.sqlite"))
        vault.result("index", "rebuild")
        self.assertEqual([item["url"] for item in json.loads(vault.result("list", "--json"))], [self.urls[1]])
        self.assertEqual(vault.run("export", self.urls[1], os.path.join(vault.base, "film")).returncode, 0)

    def test_shred_that_removes_only(self):
        """If a generation cannot be retired, shred exits 4, and the remedy that it names works"""
        vault = self.new_vault()
        vault.result("fetch", self.urls[1])
        # In both backups, too, from which it would come back.
        for name in ("index.sqlite", *CATALOGS):
            with sqlite3.connect(os.path.join(vault.folder, name)) as connection:
                connection.execute("UPDATE resourceKey SET wrapped = randomblob(60)")
            connection.close()
        vault.result("fetch", self.urls[0])
        unknown = vault.run("shred", self.urls[0] + "/unknown")
        self.assertEqual((unknown.returncode, b"generation" in unknown.stderr), (6, False), unknown.stderr)
        done = vault.run("shred", self.urls[0])
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(b"not destroyed", done.stderr)
        self.assertEqual(self.receipts(vault)["receipts"][-1]["outcome"], "removed")
        states = json.loads(vault.result("keys", "list", "--json"))["generations"]
        self.assertEqual([item["state"] for item in states], ["retiring", "current"])
        vault.result("remove", self.urls[1])
        vault.result("keys", "retire", "1")

    def test_damage(self):
        """A reseal turns a damaged block into a gap, exits 4, and names the commands that repair it"""
        vault = self.filled()
        path = next(os.path.join(parent, names[0]) for parent, _, names in os.walk(
            os.path.join(vault.folder, "segments")) if names)
        with open(path, "r+b") as file:
            file.seek(5000)
            file.write(b"damage")
        done = vault.run("keys", "reseal")
        self.assertEqual((done.returncode, b"run verify, and fetch" in done.stderr), (4, True), done.stderr)
        for url in self.urls:
            vault.result("fetch", url)
        vault.result("keys", "reseal")
        self.assert_plays(vault)
        self.assertEqual(vault.run("verify").returncode, 0)

    @staticmethod
    def holding(vault, key):
        """Returns the files of the vault's folder that contain `key`."""
        found = []
        for parent, _, names in os.walk(vault.folder):
            for name in names:
                path = os.path.join(parent, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        if key in file.read():
                            found.append(name)
        return found

    def test_destroy(self):
        """keys destroy requires the vault's own id; the audit log can still be verified after all keys are gone"""
        vault = self.filled()
        name = vault.status()["vault"]
        self.assertEqual(vault.run("keys", "destroy").returncode, 2)
        self.assertEqual(vault.run("keys", "destroy", "--confirm", "0" * 32).returncode, 2)
        self.assert_plays(vault)
        vault.result("keys", "destroy", "--confirm", name)
        vault.service.process.send_signal(signal.SIGTERM)
        vault.service.process.wait(30)
        self.assertFalse(os.path.exists(vault.keyring))
        self.assertNotEqual(vault.run("cat", self.urls[0], "--offline").returncode, 0)
        done = vault.run("keys", "audit", "--json")
        audit = json.loads(done.stdout)
        self.assertEqual((done.returncode, audit["sound"], audit["anchored"], audit["vault"]), (0, True, False, name))
        self.assertEqual(audit["receipts"][-1]["act"], "destroy")
        checked = subprocess.run(
            [sys.executable, os.path.join(ROOT, "Tests", "IndependentReader", "read_audit.py"), vault.folder],
            capture_output=True, timeout=60)
        self.assertEqual(checked.returncode, 0, checked.stdout)
        path = os.path.join(vault.folder, "audit.log")
        with open(path, "r+b") as file:
            file.seek(40)
            byte = file.read(1)[0]
            file.seek(40)
            file.write(bytes([byte ^ 1]))
        self.assertEqual(vault.run("keys", "audit").returncode, 4)
