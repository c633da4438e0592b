"""A kill in the middle of an act on records loses nothing but what the act was to take, and the act can be finished."""

import contextlib
import os
import random
import subprocess
import time

from harness import full_vault
from harness.case import KILLS, SEED
from harness.record_acts import ACTS
from harness.record_case import RecordCase
from harness.record_place import Place
from harness.waiting import eventually

MANY = 200 if KILLS >= 200 else 20
ROUNDS = KILLS * 3 // 2
TRIES = 6  # for a kill that comes before the act has ended
patience = 600 + 20 * KILLS


class RecordKills(RecordCase):
    def setUp(self):
        super().setUp()
        self.dice = random.Random(SEED)
        self.place = Place(self.new_vault(), self.origin, self.dice)
        self.vault = self.place.vault
        full_vault.fill(self.vault, self.origin, MANY)

    def marks(self):
        """Returns which states the vault's files have; they change when something is written."""
        paths = [self.vault.keyring, *(item.path for item in os.scandir(self.vault.folder) if item.is_file())]
        marks = {}
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(path)
                marks[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
        return marks

    def strike(self, act, attempt):
        """Kills what carries out the act, at a random moment, and earlier with each attempt; returns whether it was in
        the middle of it, and whether it had written something by then."""
        before = self.marks()
        command = subprocess.Popen([self.vault.binary, *act.line], env=self.vault.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        victim = self.vault.service.process if self.place.is_served() else command
        moment = self.dice.random() * self.took.get(act.line[:2], 0.2)
        moments = (None, lambda: self.marks() != before, self.is_copying)
        if awaited := self.dice.choice(moments[:2] if attempt else moments):
            eventually(lambda: command.poll() is not None or awaited(), every=0.0005)
            moment *= 0.5 if awaited != self.is_copying else 0.02
        time.sleep(moment * 0.4 ** attempt)
        was_running, has_written = command.poll() is None, self.marks() != before
        victim.kill()
        victim.wait()
        command.wait()
        return was_running, was_running and has_written

    def is_copying(self):
        """Whether a copy of the catalog is being written."""
        return os.path.exists(os.path.join(self.vault.folder, "catalog.backup.new"))

    def restart(self, was_served):
        """Starts what was killed, in one of the ways in which people do; it must work by itself."""
        if was_served or self.dice.random() < 0.5:
            self.vault.serve()
        self.vault.result("list", "--json")

    def test_killed(self):
        """After a kill in the middle of any act on records the vault opens by itself, and has every record and title
        that it had, but for those that the act was to change; the act finishes when it is run again"""
        kills, written, late = 0, 0, 0
        for number in range(ROUNDS):
            served = number % 2 == number // len(ACTS) % 2
            self.place.start(served)
            act = ACTS[number % len(ACTS)](self.place)
            for attempt in range(TRIES):
                act.prepare()
                before = act.before or self.place.listed()
                where = f"kill {number} of seed {SEED}, in {' '.join(act.line)} {'of a service' if served else 'alone'}"
                was_running, has_written = self.strike(act, attempt)
                self.restart(served)
                self.check(act, before, where)
                self.place.admit_again(self.finish(act, before, where))
                kills, written, late = kills + was_running, written + has_written, late + (not was_running)
                self.place.start(served)
                if was_running:
                    break
        self.place.stop()
        self.assertEqual(self.vault.run("verify").returncode, 0)
        self.figure("kills in acts on records", kills, f"= {ROUNDS}, 0 lost, 0 wrong")
        self.figure("of them when something had been written", written, "at least half")
        self.figure("kills that came when the act had ended", late, "0 lost, 0 wrong")
        self.assertEqual(kills, ROUNDS)
        self.assertGreaterEqual(written, ROUNDS // 2)
