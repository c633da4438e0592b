"""Each byte is fetched from the origin once: the vault's counter and the origin's log agree."""

import random

from harness import client
from harness.case import SEED, VaultCase
from harness.media import LARGE
from harness.waiting import settled

IN_SOCKETS = 256 << 10  # per cancelled transfer: bytes that the origin sent and the vault did not read
SEEKS, READERS, CANCELS = 200, 8, 60
BLOCK = 32 << 10


class Fetched:
    """The ranges of a title that a vault fetches: gaps, of which those below a block are widened to whole blocks."""

    def __init__(self, size):
        self.size, self.held = size, []

    def gaps(self, first, end):
        """Yields the gaps in a half-open range."""
        for start, stop in self.held:
            if stop <= first or start >= end:
                continue
            if first < start:
                yield first, start
            first = max(first, stop)
        if first < end:
            yield first, end

    def ask(self, first, end):
        """Records what a request for a range fetches."""
        for gap in list(self.gaps(first, end)):
            # The first range is not widened: nothing is known about the title yet.
            if self.held and gap[1] - gap[0] < BLOCK:
                start, stop = gap[0] // BLOCK * BLOCK, min(self.size, -(-gap[1] // BLOCK) * BLOCK)
                gap = next(wide for wide in self.gaps(start, stop) if wide[0] <= gap[0] < wide[1])
            self.held = sorted([*self.held, gap])

    def bytes(self):
        return sum(end - first for first, end in self.held)


class EachByteOnce(VaultCase):
    def setUp(self):
        self.media.path(LARGE)
        self.origin, self.vault = type(self).new_origin(), type(self).served_vault()
        self.addCleanup(self.vault.stop)
        self.addCleanup(self.origin.stop)

    def address(self, name):
        return self.vault.address(self.origin.url(name))

    def assert_fetched(self, what, name, expected):
        """Checks that the vault's counter, the bytes held and the origin's log all equal `expected` bytes."""
        self.assert_eventually(self.vault.bytes_fetched, expected, "the vault's counter")
        self.assert_eventually(lambda: self.origin.body_bytes(name), expected, "the origin's log")
        self.assertEqual(self.vault.info(self.origin.url(name))["bytes"], expected, "bytes held")
        self.figure(f"bytes fetched ÷ bytes asked for, {what}", self.vault.bytes_fetched() / expected, "= 1")

    def test_linear(self):
        """Linear playback fetches each byte once, a second one fetches none, and segment files add at most 0.1 %"""
        size = self.media.size(LARGE)
        for _ in range(2):
            self.assert_whole(self.address(LARGE), LARGE)
        self.assert_fetched("linear", LARGE, size)
        ratio = settled(self.vault.segment_bytes, 0) / size
        self.figure("segment files ÷ bytes held after a linear fill", ratio, "<= 1.001")
        self.assertLessEqual(ratio, 1.001)

    def test_seeks(self):
        """Random bounded ranges fetch only the requested bytes, small gaps as whole blocks, and each byte once"""
        seed, size = random.Random(SEED), self.media.size(LARGE)
        fetched = Fetched(size)
        print(f"      seed {SEED}")
        address = self.address(LARGE)
        for _ in range(SEEKS):
            first = seed.randrange(size)
            end = min(size, first + seed.choice((1, 1000, 65_536, 400_000)) + seed.randrange(5000))
            self.assert_range(address, LARGE, first, end)
            fetched.ask(first, end)
        self.assert_fetched(f"{SEEKS} random seeks", LARGE, fetched.bytes())

    def test_readers(self):
        """Simultaneous readers of a title share one fetch, and each gets every byte"""
        address, digests = self.address(LARGE), []
        client.together([lambda: digests.append(client.digest(address)[2])] * READERS)
        self.assertEqual(digests, [self.media.sha256(LARGE)] * READERS)
        self.assert_fetched(f"{READERS} readers", LARGE, self.media.size(LARGE))

    def test_cancels(self):
        """With cancels and restarts the vault receives no byte twice; the origin's excess is unread socket data"""
        seed, size, address = random.Random(SEED), self.media.size(LARGE), self.address(LARGE)
        print(f"      seed {SEED}")
        for number in range(CANCELS):
            first = seed.randrange(size)
            with client.Stream(address, f"bytes={first}-") as stream:
                count = min(size - first, seed.choice((1, 10_000, 1_000_000, 6_000_000)))
                got = stream.read(count)
                self.assertTrue(got == self.media.bytes(LARGE, first, first + count), f"bytes from {first} differ")
                if seed.random() < 0.3:
                    stream.reset()
            if number % 20 == 19:
                self.vault.stop()
                self.vault.serve()
        counted = settled(self.vault.bytes_fetched, 0)
        logged = settled(lambda: self.origin.body_bytes(LARGE), 0)
        held = self.vault.info(self.origin.url(LARGE))["bytes"]
        self.assertEqual(counted, held, "every byte that reached the vault is held, and counted once")
        self.assertLessEqual(counted, size)
        self.assertGreaterEqual(logged, counted)
        transfers = len([item for item in self.origin.requests(LARGE) if item.method == "GET"])
        over = (logged - counted) / min(transfers, CANCELS)
        self.figure("logged beyond the counter for each cancelled transfer", over / 1024, "<= 256", " KiB")
        self.assertLessEqual(over, IN_SOCKETS)
        self.assert_whole(address, LARGE)
        self.assert_eventually(self.vault.bytes_fetched, size, "the counter after the whole title")

    def test_players_pattern(self):
        """AVPlayer's request pattern fetches each byte once: probe, 0–, cancel, 700–, cancel, 5000–"""
        name = "moov-first.mp4"
        address, size = self.address(name), self.media.size(name)
        self.assert_range(address, name, 0, 2)
        for first in (0, 700, 5000):
            with client.Stream(address, f"bytes={first}-{size - 1}") as stream:
                self.assertTrue(stream.read(300) == self.media.bytes(name, first, first + 300), "the bytes differ")
        self.assert_whole(address, name)
        self.assert_eventually(self.vault.bytes_fetched, size)
