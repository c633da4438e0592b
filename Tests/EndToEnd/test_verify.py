"""A vault is verified, repaired, exported, and rebuilt from its backup; the origin's log shows what each costs."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import time

from harness import client, players
from harness.case import SEED, VaultCase, each
from harness.media import LARGE

BLOCK, HEADER, TAG = 32_768, 88, 16
FILM = "moov-last.mp4"


class Verifying(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_origin()

    def filled(self, name=FILM):
        """Returns a vault that holds a title, filled by a player; its service has ended."""
        self.media.path(name)
        vault = self.served_vault()
        client.digest(vault.address(self.origin.url(name)))
        vault.stop()
        return vault

    def verify(self, vault, *options):
        done = vault.run("verify", "--json", *options)
        return done.returncode, json.loads(done.stdout)

    @staticmethod
    def segments(vault):
        return sorted(
            os.path.join(parent, name)
            for parent, _, names in os.walk(os.path.join(vault.folder, "segments")) for name in names)

    @staticmethod
    def flip(path, offset):
        with open(path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0x10]))

    @staticmethod
    def plain_bytes(path, block):
        """Returns the number of plaintext bytes in a block of a segment file."""
        sealed = os.path.getsize(path) - HEADER - block * (BLOCK + TAG)
        return min(sealed, BLOCK + TAG) - TAG

    def assert_exported(self, vault, name):
        target = os.path.join(vault.base, "exported")
        vault.result("export", self.origin.url(name), target, "--force")
        with open(target, "rb") as exported, open(self.media.path(name), "rb") as original:
            self.assertTrue(exported.read() == original.read(), "the exported file differs")
        self.assertEqual(os.stat(target).st_mode & 0o777, 0o600)

    def test_retired(self):
        """A title whose key a destroyed generation wrapped, and a record that it sealed, stay in a repair;
        --forget-retired removes them"""
        vault = self.filled()
        vault.result("viewers", "add", "Anna")
        for act in (("rotate",), ("rewrap",), ("retire", "1")):
            vault.result("keys", *act)
        with contextlib.closing(sqlite3.connect(os.path.join(vault.folder, "index.sqlite"))) as index:
            # As in a copy that is older than the keys, without a backup that opens.
            index.execute("INSERT INTO generation VALUES (1, 'active')")
            index.execute("UPDATE resourceKey SET generation = 1, wrapped = zeroblob(60)")
            index.execute("UPDATE viewer SET record = CAST(x'01000000' || substr(record, 5) AS BLOB)")
            index.commit()
        for name in ("catalog.backup", "catalog.backup.1"):
            os.remove(os.path.join(vault.folder, name))
        for options, code, left in (((), 4, 1), (("--forget-retired",), 0, 0)):
            self.assertEqual(self.verify(vault, "--repair", *options)[0], code)
            with contextlib.closing(sqlite3.connect(f"file:{vault.folder}/index.sqlite?mode=ro", uri=True)) as index:
                for table in ("resource", "viewer"):
                    self.assertEqual(index.execute(f"SELECT count(*) FROM {table}").fetchone(), (left,), table)

    def test_flipped_bits(self):
        """verify finds flipped bits (exit 4), and --repair fetches only their blocks (exit 0); the export equals the
        original"""
        vault = self.filled()
        self.assertEqual(self.verify(vault)[0], 0)
        seed, bad = random.Random(SEED), 0
        for path in self.segments(vault):
            blocks = (os.path.getsize(path) - HEADER + BLOCK + TAG - 1) // (BLOCK + TAG)
            for block in seed.sample(range(blocks), min(3, blocks)):
                self.flip(path, HEADER + block * (BLOCK + TAG) + seed.randrange(self.plain_bytes(path, block) + TAG))
                bad += self.plain_bytes(path, block)
        sent = self.origin.body_bytes(FILM)
        code, report = self.verify(vault)
        self.assertEqual((code, report["sound"], self.origin.body_bytes(FILM)), (4, False, sent))
        self.assertEqual(sum(end - first for first, end in report["resources"][0]["ranges"]), bad)
        code, report = self.verify(vault, "--repair")
        self.assertEqual((code, report["sound"], report["remaining"], report["bytesRefetched"]), (0, True, 0, bad))
        self.assert_eventually(lambda: self.origin.body_bytes(FILM) - sent, bad)
        self.assertEqual(self.verify(vault)[0], 0)
        self.assert_exported(vault, FILM)
        self.figure("bytes fetched to mend", bad, "= the bad blocks")

    @each("header", "missing", "cut")
    def test_files(self, how):
        """verify finds a file that is damaged as a whole ({}), and --repair restores it; the export equals the
        original"""
        vault = self.filled()
        path = self.segments(vault)[0]
        if how == "header":
            self.flip(path, 20)
        elif how == "missing":
            os.remove(path)
        else:
            os.truncate(path, os.path.getsize(path) // 2)
        self.assertEqual(self.verify(vault)[0], 4)
        code, report = self.verify(vault, "--repair")
        self.assertEqual((code, report["sound"]), (0, True))
        self.assert_exported(vault, FILM)

    def test_beside_a_service(self):
        """verify runs beside a running service, and reports no damage while a title is being fetched"""
        self.media.path(LARGE)
        vault = self.served_vault("--mode", "online")
        stream = client.Stream(vault.address(self.origin.url(LARGE)))
        stream.read(50_000_000)
        code, report = self.verify(vault)
        self.assertEqual((code, report["remaining"], report["orphans"]["strange"]), (0, 0, 0))
        self.assertEqual(vault.run("verify", "--repair").returncode, 0, "the repair through the service fails")
        stream.connection.close()
        vault.stop()

    def test_rebuild(self):
        """index rebuild replaces a lost index.sqlite, and the title then plays offline with the same frames"""
        vault = self.filled()
        for name in os.listdir(vault.folder):
            if name.startswith("index.sqlite"):
                os.remove(os.path.join(vault.folder, name))
        self.assertEqual(vault.run("list").returncode, 4)
        self.assertEqual(vault.run("init").returncode, 4)
        vault.result("index", "rebuild")
        self.assertEqual(self.verify(vault)[0], 0)
        vault.serve("--offline")
        sent = self.origin.body_bytes(FILM)
        _, expected = players.decoded_frames(self.media.path(FILM))
        code, frames = players.decoded_frames(vault.address(self.origin.url(FILM)))
        self.assertEqual((code, self.origin.body_bytes(FILM)), (0, sent))
        self.assertTrue(frames == expected, "the frames differ")
        vault.stop()

    @each(signal.SIGINT, signal.SIGTERM)
    def test_interrupted_export(self, number):
        """An interrupted export ({}) leaves no file and no part of one"""
        vault = self.filled(LARGE)
        folder = os.path.join(vault.base, "out")
        os.makedirs(folder)
        export = subprocess.Popen(
            [vault.binary, "export", self.origin.url(LARGE), os.path.join(folder, "film")], env=vault.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while export.poll() is None and not os.listdir(folder):
            time.sleep(0.001)
        export.send_signal(number)
        _, said = export.communicate(timeout=60)
        self.assertEqual((export.returncode, os.listdir(folder)), (128 + number, []))
        self.assertIn(b"no file was created", said)

    def test_full_disk(self):
        """An export that runs out of disk space exits 1 and leaves no file"""
        vault = self.filled(LARGE)
        folder = os.path.join(vault.base, "out")
        os.makedirs(folder)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", folder], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        try:
            done = vault.run("export", self.origin.url(LARGE), os.path.join(folder, "film"))
            self.assertEqual((done.returncode, os.listdir(folder)), (1, []))
            self.assertIn(b"too full", done.stderr)
        finally:
            subprocess.run(["umount", folder], check=True)
