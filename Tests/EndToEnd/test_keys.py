"""Key operations: by command, during playback, and with a service that is killed at any moment."""

import contextlib
import http.client
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

from harness import client, stored_records, written_index
from harness.case import KILLS, ROOT, SEED, VaultCase
from harness.control import KEYLESS
from harness.waiting import eventually

READER = os.path.join(ROOT, "Tests", "IndependentReader")
sys.path.insert(0, READER)

from vaultformat import database, derivation, errors, sealed  # noqa: E402

FILM = "moov-first.mp4"
MANY = 6000  # titles: three transactions of a rewrap
patience = 600 + 20 * KILLS


def read_vault(vault, key_ring=None):
    """Returns exit code and report of the independent reader, which was written only from the format document."""
    done = subprocess.run(
        [sys.executable, os.path.join(READER, "read_vault.py"), vault.folder, key_ring or vault.keyring,
         "--key-file", vault.key], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stdout + done.stderr


def generations(vault, path):
    """Returns the generation keys of a keyring, as read by the independent reader."""
    return stored_records.keys_of(path, vault.key).generations


def opened(rows, keys):
    """Returns how many of the wrapped keys open with these generation keys."""
    count = 0
    for row in rows:
        with contextlib.suppress(errors.Unopenable, KeyError):
            wrapping = derivation.wrapping_key(keys[row["generation"]], row["resource"])
            associated = sealed.wrapped_associated(row["resource"], row["number"], row["generation"])
            sealed.open_value(wrapping, associated, row["wrapped"])
            count += 1
    return count


def wrapped_keys(folder):
    return database.read_index(os.path.join(folder, "index.sqlite")).resourceKey


def found(folder, needles):
    """Returns the needles that occur in any file of the folder, including SQLite's side files."""
    there = set()
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
                there |= {needle for needle in needles if needle in content}
    return there


class Keys(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_origin()
        for name in (FILM, "tone.mp3"):
            cls.media.path(name)

    def keys(self, vault):
        return json.loads(vault.result("keys", "list", "--json", **KEYLESS))

    def assert_read(self, vault, *names):
        """Checks that the independent reader opens the vault, and that these resources are completely held."""
        code, report = read_vault(vault)
        self.assertEqual(code, 0, report)
        self.assertEqual(report["damage"], [])
        digests = {item["url"]: item["sha256"] for item in report["resources"]}
        for name in names:
            self.assertEqual(digests[self.origin.url(name)], [self.media.sha256(name)])

    def filled(self):
        vault = self.served_vault()
        vault.result("fetch", self.origin.url(FILM), self.origin.url("tone.mp3"), **KEYLESS)
        return vault

    def test_life(self):
        """An independent reader opens the vault before and after rotate, rewrap and retire during streaming; the
        retired generation opens nothing, and no key that it wrapped, and no record of then, remains in the folder"""
        vault = self.filled()
        vault.result("token", "create", "--scope", "read", "--name", "dash", **KEYLESS)
        vault.result("viewers", "add", "Anna", **KEYLESS)
        old = os.path.join(vault.base, "old")
        os.makedirs(old)
        shutil.copy(vault.keyring, old)
        self.assert_read(vault, FILM, "tone.mp3")
        before, records_before = wrapped_keys(vault.folder), stored_records.of_vault(vault)
        old_keys = stored_records.keys_of(vault.keyring, vault.key)
        retired = old_keys.generations
        self.assertEqual(stored_records.opened(records_before, old_keys), len(records_before))
        self.assertLessEqual({"vault", "accessGrant", "viewer"}, {table for table, _, _ in records_before})
        with client.Stream(vault.address(self.origin.url(FILM))) as player:
            content = player.read(100_000)
            told = vault.run("keys", "rotate", **KEYLESS)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn(b"note: an older copy still opens what is already stored", told.stderr)
            self.assert_read(vault, FILM)
            refused = vault.run("keys", "retire", "1", **KEYLESS)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(b"keys rewrap", refused.stderr)
            vault.result("keys", "rewrap", **KEYLESS)
            self.assert_read(vault, FILM)
            vault.result("keys", "retire", "1", **KEYLESS)
            while part := player.read(1 << 20):
                content += part
        self.assertTrue(content == self.media.bytes(FILM, 0, self.media.size(FILM)), "the bytes differ")
        self.assert_read(vault, FILM, "tone.mp3")
        self.assertEqual([item["state"] for item in self.keys(vault)["generations"]], ["retired", "current"])
        # Only the old keyring opens the rows of the earlier index, and it opens none of the current rows.
        self.assertEqual(opened(before, retired), len(before))
        self.assertEqual(opened(before, generations(vault, vault.keyring)), 0)
        self.assertEqual(opened(wrapped_keys(vault.folder), retired), 0)
        # Nor does it open a record, the settings and the token among them, in the index or in its backup.
        stored, keys = stored_records.of_vault(vault), stored_records.keys_of(vault.keyring, vault.key)
        self.assertEqual(stored_records.opened(stored, old_keys), 0)
        self.assertEqual(stored_records.opened(stored, keys), len(stored))
        self.assertNotEqual(read_vault(vault, os.path.join(old, "keyring.json"))[0], 0)
        needles = {bytes(row["wrapped"]) for row in before} | {bytes(value) for _, _, value in records_before}
        self.assertEqual(found(vault.folder, needles), set())
        vault.stop()
        self.assertEqual(found(vault.folder, needles), set())

    def test_root_and_locator(self):
        """An independent reader opens the vault after rotate --root, which invalidates playback links, and after rotate
        --locator; every title is found by its URL"""
        vault = self.filled()
        url = self.origin.url(FILM)
        address = vault.address(url)
        typed = vault.run("keys", "rotate", "--root", MEDIAVAULT_KEY_FILE=None)
        self.assertEqual(typed.returncode, 2, typed.stderr)
        self.assertIn(b"--key-file", typed.stderr)
        vault.result("keys", "rotate", "--root")
        self.assert_read(vault, FILM)
        self.assertEqual(client.get(address).status, 404)
        self.assert_whole(vault.address(url), FILM)
        ids = {bytes(row["resource"]) for row in wrapped_keys(vault.folder)}
        vault.result("keys", "rotate", "--locator", **KEYLESS)
        self.assert_read(vault, FILM, "tone.mp3")
        self.assertFalse(ids & {bytes(row["resource"]) for row in wrapped_keys(vault.folder)})
        self.assertEqual(found(vault.folder, ids), set())
        self.assert_whole(vault.address(url), FILM)
        self.assertEqual(vault.bytes_fetched(), self.media.size(FILM) + self.media.size("tone.mp3"))

    def test_rebuild(self):
        """If index.sqlite is deleted after any key operation, index rebuild restores everything that was held, and an
        independent reader opens the vault"""
        vault = self.filled()
        vault.stop()
        phrase, other, backup = (os.path.join(vault.base, name) for name in ("phrase", "other-key", "backup.json"))
        with open(os.open(phrase, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write("in the drawer\n")
        acts = (
            ["rotate"], ["rewrap"], ["retire", "1"], ["rotate", "--root"], ["rotate", "--locator"], ["reseal"],
            ["revoke-links"], ["slot", "add", "--new-key-file", other],
            ["change-passphrase", "--slot", "2", "--new-passphrase-file", phrase], ["slot", "remove", "2"],
            ["change-passphrase", "--new-key-file", other], ["backup", backup, "--backup-passphrase-file", phrase],
            ["restore", backup, "--backup-passphrase-file", phrase, "--new-key-file", other])
        for act in acts:
            vault.result("keys", *act)
            if act == ["change-passphrase", "--new-key-file", other]:
                vault.key = vault.environment["MEDIAVAULT_KEY_FILE"] = other
            self.assert_read(vault, FILM, "tone.mp3")
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(os.path.join(vault.folder, "index.sqlite" + suffix))
            vault.result("index", "rebuild")
            self.assert_read(vault, FILM, "tone.mp3")

    def act(self, vault, *act):
        """Runs a key operation in the service, and returns how many seconds it took."""
        started = time.monotonic()
        vault.result("keys", *act, **KEYLESS)
        return time.monotonic() - started

    @staticmethod
    def is_halfway(vault, act):
        """Returns whether a key operation is halfway.

        A rewrap is halfway if only some keys are wrapped by the new generation; a retire is halfway if the generation
        is removed from the index, but not from the keyring."""
        with contextlib.closing(sqlite3.connect(f"file:{vault.folder}/index.sqlite?mode=ro", uri=True)) as index:
            if act[0] == "rewrap":
                return len(index.execute("SELECT DISTINCT generation FROM resourceKey").fetchall()) > 1
            if index.execute("SELECT 1 FROM generation WHERE number = ?", act[1:]).fetchall():
                return False
        with open(vault.keyring, "rb") as file:
            return {"number": int(act[1]), "state": "active"} in [
                {name: item[name] for name in ("number", "state")} for item in json.load(file)["generations"]]

    def kill(self, vault, delay, *act):
        """Kills the service during a key operation, starts it again, and checks that all titles can be read.

        The kill is `delay` seconds after the start of the operation, or when it is halfway if `delay` is None.
        Returns whether the operation was halfway when the service was killed."""
        done = threading.Event()

        def strike():
            if delay is None:
                while not done.is_set() and not self.is_halfway(vault, act):
                    time.sleep(0.001)
            else:
                done.wait(delay)
            vault.service.process.kill()

        killer = threading.Thread(target=strike)
        killer.start()
        vault.run("keys", *act, **KEYLESS)
        done.set()
        killer.join()
        vault.service.process.wait()
        was_halfway = self.is_halfway(vault, act)
        vault.serve()
        for name in (FILM, "tone.mp3"):
            self.assert_whole(vault.address(self.origin.url(name)), name)
        return was_halfway

    def finish(self, vault, *act):
        """Repeats a key operation until it succeeds, because the restarted service may already be resuming it."""
        self.assertTrue(eventually(lambda: vault.run("keys", *act, **KEYLESS).returncode == 0), f"{act} is not finished")

    def test_killed(self):
        """If the service is killed during rewrap or retire while a client plays, every resource stays readable, no
        wrong byte is served, and the same command finishes the operation"""
        vault, url = self.filled(), self.origin.url(FILM)
        vault.stop()
        written_index.add_titles(vault, MANY)
        vault.serve()
        dice = random.Random(SEED)
        wrong, plays, broken, over = [], [0], [0], threading.Event()
        size = self.media.size(FILM)

        def play():
            while not over.is_set():
                with contextlib.suppress(OSError, http.client.HTTPException):
                    first = dice.randrange(size - 1)
                    end = min(size, first + 300_000)
                    answer = client.get(address, f"bytes={first}-{end - 1}")
                    if answer.status != 206:
                        wrong.append(f"status {answer.status}")
                    elif answer.headers.get("content-range") != f"bytes {first}-{end - 1}/{size}":
                        wrong.append(f"another range than {first}-{end - 1}")
                    elif answer.body != self.media.bytes(FILM, first, first + len(answer.body)):
                        wrong.append(f"bytes {first}-{end}")
                    elif answer.complete:
                        plays[0] += 1
                    else:
                        broken[0] += 1

        address = vault.address(url, "--expires", "24h")
        player = threading.Thread(target=play)
        player.start()
        halfway = {"rewrap": 0, "retire": 0}
        try:
            self.act(vault, "rotate")
            longest = {"rewrap": self.act(vault, "rewrap"), "retire": self.act(vault, "retire", "1")}
            for number in range(KILLS):
                self.act(vault, "rotate")
                # Generation 1 is already retired, and each round retires the one older generation that it has.
                for act in (["rewrap"], ["retire", str(number + 2)]):
                    delay = dice.uniform(0, longest[act[0]]) if number % 2 else None
                    halfway[act[0]] += self.kill(vault, delay, *act)
                    self.finish(vault, *act)
        finally:
            over.set()
            player.join()
        self.assertEqual(wrong, [])
        for act, count in halfway.items():
            self.figure(f"{KILLS} kills in {act}: of them when it was halfway", count, "> 0, 0 unreadable")
            self.assertGreater(count, 0, f"no kill occurred while {act} was halfway")
        self.figure("answers checked during kills in rewrap and retire", plays[0], "> 0, 0 wrong")
        self.assertGreater(plays[0], 0)
        self.assertLessEqual(broken[0], 2 * KILLS, "more answers were cut off than the kills explain")
        self.assert_read(vault, FILM, "tone.mp3")
        states = [item["state"] for item in self.keys(vault)["generations"]]
        self.assertEqual(states, ["retired"] * (KILLS + 1) + ["current"])
