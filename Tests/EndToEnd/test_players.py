"""Real players do through the vault what they do straight from nginx, and do it again without nginx."""

import itertools

from harness import sessions
from harness.case import Settings, VaultCase, each
from harness.media import SAMPLES

PLAYERS = {
    "ffmpeg": sessions.Ffmpeg, "mpv": sessions.Mpv, "VLC": sessions.VLC, "GStreamer": sessions.GStreamer,
    "Chromium": lambda: sessions.Chromium(Settings.browser_python)}

# What a player cannot do from plain nginx either is not asked of the vault: it is looked at all the same.
_SEEKS = {*(f"seek to {at} s" for at in sessions.SECONDS), "resume"}
UNABLE = {
    ("VLC", "film.ts"): _SEEKS,  # begins a bare transport stream at its start, whatever time it was told
    ("GStreamer", "fragmented.mp4"): _SEEKS,  # takes the first fragments for all of a film without an index
    ("Chromium", "film.ts"): {"start"},  # does not know bare transport streams
}


class PlayerCase(VaultCase):
    """Checks with players, each started once for its class; `prepare` sets `players` to an empty dictionary."""

    @classmethod
    def player(cls, name):
        if name not in cls.players:
            cls.players[name] = PLAYERS[name]()
            cls.addClassCleanup(cls.players[name].close)
        return cls.players[name]


class Players(PlayerCase):
    @classmethod
    def prepare(cls):
        for name in SAMPLES:
            cls.media.path(name)
        cls.origin, cls.vault, cls.players = cls.new_origin(), cls.served_vault(), {}

    @each(*map(" ".join, itertools.product(PLAYERS, SAMPLES)))
    def test_plays(self, pair):
        """{}: start, seek, stop, resume, all of it; the same as straight from nginx, and once more without nginx"""
        who, name = pair.split()
        player, target = self.player(who), f"{name}?{who}"  # nobody has asked for it yet
        straight = player.session(f"http://127.0.0.1:{self.origin.port}/{target}")
        self.assertEqual({what for what, seen in straight.items() if seen is None}, UNABLE.get((who, name), set()))
        address, before = self.vault.address(self.origin.url(target)), self.vault.bytes_fetched()
        self.assertEqual(player.session(address), straight, "through the vault something else is seen")
        self.assertLessEqual(self.vault.bytes_fetched() - before, self.media.size(name), "bytes were fetched twice")
        self.origin.stop()
        try:
            self.assertEqual(player.session(address), straight, "without the origin something else is seen")
        finally:
            self.origin.start()
