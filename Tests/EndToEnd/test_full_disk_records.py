"""A disk that is full in the middle of any act on records loses nothing, and the act can be finished."""

import os
import random

from harness import full_vault
from harness.case import KILLS, SEED
from harness.record_acts import ACTS
from harness.record_case import RecordCase
from harness.record_place import Place
from harness.small_disk import SmallDisk

MANY = 60 if KILLS >= 200 else 8
ROUNDS = len(ACTS) * (KILLS // 10)
DISK = 32  # mebibytes
MOST_LEFT = 200_000  # bytes: an act on so small a vault writes about as much
patience = 600 + 20 * KILLS


class FullDiskRecords(RecordCase):
    def setUp(self):
        super().setUp()
        self.dice, self.vault = random.Random(SEED), self.new_vault()
        full_vault.fill(self.vault, self.origin, MANY)
        self.disk = SmallDisk(self, self.vault, DISK)
        self.place = Place(self.vault, self.origin, self.dice)

    def fill(self):
        """Fills the disk but for some bytes that are not enough for most acts. The reserve would be."""
        reserve = os.path.join(self.vault.folder, "reserve")
        if os.path.exists(reserve):
            os.unlink(reserve)
        self.disk.fill(leaving=self.dice.choice((0, self.dice.randrange(MOST_LEFT))))

    def test_full(self):
        """If the disk is full in the middle of any act on records, nothing is lost but what the act was to change, a
        copy of the catalog stays whole, and once there is space the act finishes"""
        failed = 0
        for number in range(ROUNDS):
            served = number % 2 == number // len(ACTS) % 2
            self.place.start(served)
            act = ACTS[number % len(ACTS)](self.place)
            act.prepare()
            before = act.before or self.place.listed()
            where = f"round {number} of seed {SEED}, {' '.join(act.line)} {'by a service' if served else 'alone'}"
            self.assertTrue(self.place.has_a_catalog(), f"{where}: there is no copy of the catalog before")
            self.fill()
            done = self.vault.run(*act.line)
            failed += done.returncode != 0
            said = done.stderr.decode()
            self.assertTrue(self.place.has_a_catalog(), f"{where}: no copy of the catalog is whole, {said}")
            if act.before is None:
                self.check_plays(where)
            self.disk.empty()
            if served and self.dice.random() < 0.5:
                self.place.stop()
            self.place.start(served)
            self.check(act, before, where)
            self.place.admit_again(self.finish(act, before, where))
        self.place.stop()
        self.assertEqual(self.vault.run("verify").returncode, 0)
        self.figure("acts on records on a full disk", ROUNDS, "0 lost, a copy of the catalog each time")
        self.figure("of them without the space that they needed", failed, "at least a third")
        self.assertGreaterEqual(failed, ROUNDS // 3)

    def check_plays(self, where):
        """Checks that a held title still plays on the full disk."""
        name = "small-5.mp4"
        done = self.vault.run("cat", "--offline", self.origin.url(name))
        self.assertEqual((done.returncode, done.stdout == self.origin.film(name).content), (0, True),
                         f"{where}: {done.stderr.decode()}")
