"""Played titles play again without the origin, byte for byte; the service reports a gap at once instead of waiting."""

import json
import random

from harness import client, players
from harness.case import SEED, VaultCase, each
from harness.media import LARGE

PLAYED = ("moov-first.mp4", "moov-last.mp4", "film.webm", "tone.mp3")
HELD = [[0, 5_000_000], [20_000_000, 30_000_001]]  # of the large title; the rest is missing
SLOWEST = 30  # seconds: a slower answer counts as a hang


class Offline(VaultCase):
    """Stops the origin, then restarts the service."""
    options = ()

    @classmethod
    def prepare(cls):
        cls.media.path(LARGE)
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()
        for name in PLAYED:
            client.digest(cls.vault.address(cls.origin.url(name)))
        for first, end in HELD:
            client.get(cls.vault.address(cls.origin.url(LARGE)), f"bytes={first}-{end - 1}")
        cls.vault.stop()
        cls.origin.stop()
        cls.vault.serve(*cls.options)

    def address(self, name):
        return self.vault.address(self.origin.url(name))

    def prompt(self, *arguments, **options):
        """Returns an answer, for which no one waits longer than `SLOWEST` seconds."""
        return client.get(*arguments, timeout=SLOWEST, **options)

    def assert_not_held(self, answer, first_missing, held):
        self.assertEqual(answer.status, 504)
        self.assertEqual(answer.headers.get("content-type"), "application/problem+json")
        problem = json.loads(answer.body)
        self.assertEqual((problem.get("firstMissing"), problem.get("held")), (first_missing, held))

    @each(*PLAYED)
    def test_plays_again(self, name):
        """The service serves {} again without the origin, whole and in 50 random ranges"""
        self.assert_whole(self.address(name), name)
        seed = random.Random(SEED)
        address = self.address(name)
        for _ in range(50):
            first = seed.randrange(self.media.size(name))
            end = min(self.media.size(name), first + seed.randrange(1, 300_000))
            self.assert_range(address, name, first, end)

    @each(*PLAYED)
    def test_decodes_again(self, name):
        """Without the origin, ffmpeg decodes {} to the same frames as from the file itself"""
        _, expected = players.decoded_frames(self.media.path(name))
        code, frames = players.decoded_frames(self.address(name))
        self.assertEqual(code, 0)
        self.assertTrue(frames == expected, "the frames differ")

    def test_mpv_plays_again(self):
        """mpv plays a title again without the origin, from start to end"""
        self.assertEqual(players.mpv_exit(self.address("moov-last.mp4")), 0)

    def test_first_byte_missing(self):
        """If the first byte of a range is missing, the service answers 504 and reports what is missing and what is
        held"""
        self.assert_not_held(self.prompt(self.address(LARGE), "bytes=10000000-10000999"), 10_000_000, HELD)

    def test_never_seen(self):
        """The service answers 504 to a URL that it has never seen, without the origin"""
        answer = self.prompt(self.address("never-seen.mp4"))
        self.assertEqual(answer.status, 504)
        self.assertEqual(answer.headers.get("content-type"), "application/problem+json")

    @each("bytes=1000-", "bytes=1000-9999999")
    def test_hole_later(self, asked):
        """A range that reaches a gap ends before it, and its Content-Range says so: {}"""
        answer = self.prompt(self.address(LARGE), asked)
        end = HELD[0][1]
        self.assertEqual(answer.status, 206)
        self.assertEqual(answer.headers["content-range"], f"bytes 1000-{end - 1}/{self.media.size(LARGE)}")
        self.assertTrue(answer.complete)
        self.assertTrue(answer.body == self.media.bytes(LARGE, 1000, end), "the bytes differ")

    def test_whole_request_closes_at_hole(self):
        """An answer without a range promises the whole length and closes the connection at the gap"""
        answer = self.prompt(self.address(LARGE))
        self.assertEqual(answer.status, 200)
        self.assertEqual(int(answer.headers["content-length"]), self.media.size(LARGE))
        self.assertFalse(answer.complete)
        self.assertTrue(answer.body == self.media.bytes(LARGE, 0, HELD[0][1]), "the bytes differ")

    def test_head(self):
        """HEAD of a partly held title returns its whole length"""
        answer = self.prompt(self.address(LARGE), method="HEAD")
        self.assertEqual((answer.status, int(answer.headers["content-length"])), (200, self.media.size(LARGE)))

    def test_info(self):
        """info --json lists the held ranges"""
        info = self.vault.info(self.origin.url(LARGE))
        self.assertEqual((info["size"], info["held"]), (self.media.size(LARGE), HELD))
        self.assertEqual(info["bytes"], sum(end - first for first, end in HELD))


class OfflineByOption(Offline):
    """Repeats the same checks under serve --offline."""
    options = ("--offline",)


class OriginReturns(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()

    def test_hole_is_filled(self):
        """When the origin is back, the service fetches only the gap, and then serves the whole title"""
        name, address = "moov-first.mp4", self.vault.address(self.origin.url("moov-first.mp4"))
        size = self.media.size(name)
        self.assert_range(address, name, 0, 100_001)
        self.assert_range(address, name, 500_000, size)
        self.origin.stop()
        self.assertEqual(client.get(address, "bytes=200000-200099").status, 504)
        self.origin.start()
        self.assert_whole(address, name)
        self.assert_eventually(lambda: self.vault.bytes_fetched(), size)
        self.assert_eventually(lambda: self.origin.body_bytes(name), size)
