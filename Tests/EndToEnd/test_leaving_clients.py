"""A client that disconnects ends its own request and no other."""

import hashlib
import signal
import threading
import time

from harness import client
from harness.case import VaultCase, each
from harness.media import LARGE
from harness.waiting import eventually

LEFT_WITHIN = 20.0  # seconds; an origin that no one has left is let go after thirty
SIZE, HOLD = 8 << 20, 1_000_000


class LeavingClients(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_scripted_origin(), cls.served_vault()

    def stalled(self, target, hold_at=HOLD):
        """Returns a title whose origin stops at offset `hold_at`, and its playback link."""
        url = self.origin.add(target, size=SIZE, seed=len(self.origin.films) + 1, hold_at=hold_at)
        self.addCleanup(self.origin.film(target).release.set)
        return self.origin.film(target), self.vault.address(url)

    def held_back(self, target):
        """Waits for an exchange of the target that the origin holds back, and returns it."""
        return eventually(lambda: next((item for item in self.origin.gets(target) if item.waiting.is_set()), None))

    def assert_origin_left(self, name, exchange, since):
        """Checks that the origin's connection closes, and tells how long after the client's."""
        self.assertTrue(exchange.ended.wait(LEFT_WITHIN), "the origin's connection stays open")
        self.assertIsNotNone(exchange.left_at, "the answer was sent in full")
        self.figure(f"the origin's connection closes after the client's ({name})", exchange.left_at - since, "told only", " s")

    @each("closes", "resets")
    def test_leaves_during_body(self, way):
        """If a client {} its connection while the origin stalls, the service closes the origin's at once"""
        target = f"body-{way}.mp4"
        film, address = self.stalled(target)
        stream = client.Stream(address, "bytes=0-")
        self.assertTrue(stream.read(HOLD) == film.content[:HOLD], "the bytes differ")
        exchange, left = self.held_back(target), time.monotonic()
        stream.close() if way == "closes" else stream.reset()
        self.assert_origin_left(f"body-{way}", exchange, left)
        self.assert_eventually(lambda: self.vault.info(self.origin.url(target))["held"], [[0, HOLD]],
                               "the received bytes are not held, including the short last block")

    def test_leaves_before_head(self):
        """If a client leaves before the origin answers, the service closes the origin connection at once"""
        _, address = self.stalled("head.mp4", hold_at=-1)
        stream = client.Stream(address, "bytes=0-")
        exchange = self.held_back("head.mp4")
        self.assertIsNotNone(exchange, "the origin received no request")
        left = time.monotonic()
        stream.close()
        self.assert_origin_left("head", exchange, left)

    def test_others_stay(self):
        """If one of two clients that wait for the same bytes disconnects, the other gets them from the same fetch"""
        film, address = self.stalled("shared.mp4")
        stays, leaves = client.Stream(address), client.Stream(address)
        self.addCleanup(stays.close)
        for stream in (stays, leaves):
            self.assertTrue(stream.read(HOLD) == film.content[:HOLD], "the bytes differ")
        exchange = self.held_back("shared.mp4")
        leaves.close()
        self.assertFalse(exchange.ended.wait(2), "a fetch that another reader waits for was cancelled")
        film.release.set()
        self.assertTrue(stays.read(SIZE) == film.content[HOLD:], "the bytes differ")
        self.assertEqual(sum(item.sent for item in self.origin.gets("shared.mp4")), SIZE)

    def test_keep_alive_on_held(self):
        """One connection serves several held ranges in succession"""
        film, address = self.stalled("kept.mp4", hold_at=None)
        client.get(address)
        stream = client.Stream(address, "bytes=0-99")
        self.addCleanup(stream.close)
        self.assertTrue(stream.read(100) == film.content[:100], "the bytes differ")
        for first in range(1000, 6000, 1000):
            stream.connection.request("GET", client.split(address)[2], headers={"Range": f"bytes={first}-{first + 99}"})
            self.assertIs(stream.connection.sock, stream.socket, "the service closed the connection")
            answer = stream.connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (206, film.content[first:first + 100]))

    def test_hole_closes(self):
        """If the rest of a range cannot be fetched, the service closes the connection and does not send a short body"""
        film, address = self.stalled("hole.mp4")
        stream = client.Stream(address)
        self.addCleanup(stream.close)
        self.assertTrue(stream.read(HOLD) == film.content[:HOLD], "the bytes differ")
        self.held_back("hole.mp4")
        film.status = 404  # the rest is no longer available
        for exchange in self.origin.gets("hole.mp4"):
            exchange.cut()
        self.assertEqual(stream.read(SIZE), b"")
        self.assertEqual(stream.promised, SIZE)
        self.assertTrue(stream.is_closed_by_service(), "the connection stays open")


class Shutdown(VaultCase):
    def test_terminates(self):
        """SIGTERM ends the service in time while clients stream, stall and wait; read bytes are held"""
        self.media.path(LARGE)
        nginx, scripted, vault = self.new_origin(), self.new_scripted_origin(), self.served_vault()
        film = scripted.add("held-back.mp4", size=SIZE, hold_at=HOLD)
        waits = client.Stream(vault.address(film))
        stalls = client.Stream(vault.address(nginx.url(LARGE)), receive_buffer=65_536)
        reads = client.Stream(vault.address(nginx.url(LARGE)))
        for stream in (waits, stalls, reads):
            self.addCleanup(stream.close)
            stream.read(100_000)
        waits.read(HOLD - 100_000)
        read, ended = hashlib.sha256(), threading.Event()

        def slowly():
            while not ended.wait(0.02) and (part := reads.read(50_000)):
                read.update(part)

        reader = threading.Thread(target=slowly)
        reader.start()
        self.addCleanup(ended.set)
        code, took = vault.service.stop()
        ended.set()
        reader.join()
        self.figure("SIGTERM to exit while clients stream", took, "ten for running answers, one for segments", " s")
        self.assertEqual(code, 0)
        self.assertGreaterEqual(vault.info(nginx.url(LARGE))["bytes"], reads.received)
        self.assertEqual(vault.info(film)["held"], [[0, HOLD]])

    def test_idle(self):
        """SIGTERM and SIGINT end an idle service at once with exit code 0"""
        vault = self.new_vault()
        for name in (signal.SIGTERM, signal.SIGINT):
            vault.serve().process.send_signal(name)
            # Less than what a service waits for running answers.
            self.assertEqual(vault.service.process.wait(timeout=8), 0)
