"""Checks of acts on records that something breaks off: what the vault had is there, and the act can be finished."""

import time

from .case import VaultCase
from .waiting import eventually


class RecordCase(VaultCase):
    """Its checks give each test a `vault` and a `place`, and note in `took` how long each act took."""

    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def setUp(self):
        self.took = {}

    def check(self, act, before, where):
        """Checks that the vault has all that it had, and nothing wrong."""
        def wrong():
            found, differing, _ = self.place.differing(before, act)
            return differing + (found if act.before is None else [])  # a repair finishes its work later
        self.assertEqual(eventually(wrong, lambda told: not told), [], where)

    def finish(self, act, before, where):
        """Runs the act to its end, and checks the vault; returns all records."""
        started = time.monotonic()
        done = eventually(lambda: self.vault.run(*act.line), lambda done: done.returncode in act.codes)
        self.assertIn(done.returncode, act.codes, f"{where}: {done.stderr.decode()}")
        self.took[act.line[:2]] = time.monotonic() - started
        found, differing, records = self.place.differing(before, act)
        self.assertEqual((found, differing), ([], []), where)
        self.assertTrue(act.done(records), f"{where}: the act is not done, but said {done.stdout + done.stderr}")
        self.assertEqual(eventually(self.place.unfinished, lambda left: not left), {}, where)
        if act.former:
            self.place.stop()
            self.assertEqual(self.place.remaining(act.former), set(), f"{where}: what it destroys is still there")
        return records
