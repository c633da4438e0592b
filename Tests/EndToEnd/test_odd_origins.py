"""Origins that do not answer requests that other origins answer."""

import time

from harness import client
from harness.case import VaultCase
from harness.waiting import eventually

FILM = "moov-first.mp4"


class OddOrigins(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_scripted_origin(), cls.served_vault()
        with open(cls.media.path(FILM), "rb") as file:
            cls.content = file.read()

    def test_silent_to_head(self):
        """If the origin never answers HEAD, the service still serves held bytes at once, also after a restart"""
        url = self.origin.add("silent.mp4", content=self.content, silent_to_head=True)
        address = self.vault.address(url)
        self.assertEqual(client.get(address, "bytes=0-99999").status, 206)
        eventually(lambda: self.vault.info(url)["bytes"] >= 100_000)
        self.vault.stop()
        self.vault.serve()
        begun = time.monotonic()
        with client.Stream(self.vault.address(url), "bytes=0-") as stream:
            self.assertEqual(stream.status, 206)
            self.assertTrue(stream.read(100_000) == self.content[:100_000])
            self.figure("held bytes at an origin silent to HEAD", time.monotonic() - begun, "1.6 s and more before", " s")
            self.assertTrue(stream.read(len(self.content) - 100_000) == self.content[100_000:], "the range was cut")
