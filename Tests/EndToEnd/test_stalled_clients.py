"""A client that stops reading costs little memory, and its fetch is released and later resumed."""

import random
import time

from harness import client
from harness.case import VaultCase
from harness.media import HUGE, HUGE_BYTES, LARGE
from harness.waiting import settled

CLIENTS, EACH = 30, 0.4e6  # bytes of memory for each client that stops reading
LET_GO_AFTER = 25.0  # seconds: 30 by the service's clock; sockets buffer data first
READING, STALLED = 25, 25
READ_EACH = 192 << 20  # bytes that each client reads of the huge title; one client reads it to the end
PEAK = 60 << 20


def first_bytes(address, count, **options):
    """Returns a stream that has read its first bytes and then stops reading."""
    stream = client.Stream(address, receive_buffer=65_536, **options)
    stream.read(count)
    return stream


class StalledClients(VaultCase):
    PAUSED, PAUSED_SIZE = "paused.mp4", 64 << 20

    @classmethod
    def prepare(cls):
        """Starts the reader that stops for half a minute, so that the other checks run meanwhile."""
        cls.paused_origin, cls.paused_vault = cls.new_scripted_origin(), cls.served_vault()
        url = cls.paused_origin.add(cls.PAUSED, size=cls.PAUSED_SIZE, seed=5)
        cls.paused = first_bytes(cls.paused_vault.address(url), 1 << 20, range="bytes=0-")
        cls.addClassCleanup(cls.paused.close)
        cls.stopped = time.monotonic()

    def test_memory_of_stalled(self):
        """Clients that stop reading a held title, or a range of it that is served at once, cost at most 0.4 MB each"""
        self.media.path(LARGE)
        origin, vault = self.new_origin(), self.served_vault()
        address = vault.address(origin.url(LARGE))
        client.digest(address)
        vault.stop()
        service = vault.serve()
        client.digest(address, "bytes=0-20000000")
        for what, asked in (("256 KiB", "bytes=1000-263143"), ("a film", None)):
            before = settled(service.memory, 65_536)
            streams = [first_bytes(address, 16_384, range=asked) for _ in range(CLIENTS)]
            after = settled(service.memory, 65_536)
            for stream in streams:
                stream.close()
            growth = (after - before) / CLIENTS
            self.figure(
                f"memory for each of {CLIENTS} clients that stopped reading {what}", growth / 1e6, "<= 0.4", " MB")
            self.assertLessEqual(growth, EACH)

    def test_transfer_is_let_go(self):
        """The service releases the transfer of a reader that stops for 30 s; when the reader continues, it gets all
        bytes"""
        exchange = self.paused_origin.gets(self.PAUSED)[0]
        self.assertTrue(exchange.ended.wait(90), "the origin connection stays open for a stalled reader")
        self.assertIsNotNone(exchange.left_at, "the whole title was fetched for a stalled reader")
        took = exchange.left_at - self.stopped
        self.figure("a stalled reader's transfer is let go after", took, f">= {LET_GO_AFTER}", " s")
        self.assertGreaterEqual(took, LET_GO_AFTER)
        content = self.paused_origin.film(self.PAUSED).content
        self.assertTrue(self.paused.read(self.PAUSED_SIZE) == content[1 << 20:], "the bytes differ")
        self.assertGreater(len(self.paused_origin.gets(self.PAUSED)), 1)
        self.assert_eventually(self.paused_vault.bytes_fetched, self.PAUSED_SIZE)

    def test_peak(self):
        """50 clients stream a title of 1 GB and half of them stop reading: the service never has more than 60 MiB of
        memory of its own, its program aside"""
        self.media.path(HUGE)
        origin, vault = self.new_origin(), self.new_vault()
        service = vault.serve()
        address, seed = vault.address(origin.url(HUGE)), random.Random(3)
        stalled = [first_bytes(address, seed.randrange(1, 500_000)) for _ in range(STALLED)]
        whole, digests = client.Stream(address), []
        reading = [client.Stream(address) for _ in range(READING - 1)]
        client.together([lambda: digests.append(whole.digest_rest())] + [
            lambda stream=stream: stream.discard(READ_EACH) for stream in reading])
        # The pages of the program grow with what only tests need, and the system takes them back as it likes.
        peak = service.memory("VmHWM") - service.memory("RssFile")
        for stream in stalled + reading + [whole]:
            stream.close()
        self.figure(f"peak memory of its own with {READING + STALLED} clients of a 1 GB film, half of them stalled",
                    peak / (1 << 20), "<= 60", " MiB")
        self.assertEqual(digests, [self.media.sha256(HUGE)])
        self.assertEqual([stream.received for stream in reading], [READ_EACH] * (READING - 1))
        self.assertLessEqual(peak, PEAK)
        self.assert_eventually(vault.bytes_fetched, HUGE_BYTES)
