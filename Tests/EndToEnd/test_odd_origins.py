"""Real players at origins that say odd things of the same bytes see what they see straight from them."""

import itertools
import time

from harness import client, sessions
from harness.case import Settings, VaultCase, each
from harness.waiting import eventually

PLAYERS = {
    "mpv": sessions.Mpv, "VLC": sessions.VLC, "GStreamer": sessions.GStreamer,
    "Chromium": lambda: sessions.Chromium(Settings.browser_python)}
DATE = {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
ORIGINS = {
    "two-tags": {"tags": ['"a"', '"b"'], "headers": DATE},
    "weak-tags": {"tags": [f'W/"{number}"' for number in range(1000)], "headers": DATE},
    "no-validator": {"tags": []},
}
FILM = "moov-first.mp4"


class OddOrigins(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault, cls.players = cls.new_scripted_origin(), cls.served_vault(), {}
        with open(cls.media.path(FILM), "rb") as file:
            cls.content = file.read()

    @classmethod
    def player(cls, name):
        if name not in cls.players:
            cls.players[name] = PLAYERS[name]()
            cls.addClassCleanup(cls.players[name].close)
        return cls.players[name]

    @each(*map(" ".join, itertools.product(PLAYERS, ORIGINS)))
    def test_plays(self, pair):
        """{}: the same is seen through the vault as straight"""
        who, what = pair.split()
        player, target = self.player(who), f"{what}-{who}.mp4"
        url = self.origin.add(target, content=self.content, **ORIGINS[what])
        straight = player.session(url)
        before = len(self.origin.gets(target))
        self.assertEqual(player.session(self.vault.address(url)), straight, "through the vault something else is seen")
        self.figure(f"requests of {who} at {what}", len(self.origin.gets(target)) - before, f"straight {before}")

    def test_silent_to_head(self):
        """What is held is given at once where the origin is silent to HEAD, after a restart too"""
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
