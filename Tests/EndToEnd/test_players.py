"""Real players behave the same through the vault as directly with nginx, and again without nginx."""

from harness import sessions
from harness.case import NIGHT, Settings, VaultCase, each
from harness.kept_sessions import plain, straight
from harness.media import SAMPLES

PLAYERS = {
    "ffmpeg": sessions.Ffmpeg, "mpv": sessions.Mpv, "VLC": sessions.VLC, "GStreamer": sessions.GStreamer,
    "Chromium": lambda: sessions.Chromium(Settings.browser_python)}

# By day, ffmpeg plays every sample, and the others take turns: one of the four plays each.
PLAYED = [f"{who} {name}" for place, who in enumerate(PLAYERS) for number, name in enumerate(SAMPLES)
          if "players" in NIGHT or who == "ffmpeg" or (place + number) % 4 == 0]

# Steps that a player cannot do directly with nginx either; they are run there all the same, and must still fail.
_SEEKS = {*(f"seek to {at} s" for at in sessions.SECONDS), "resume"}
UNABLE = {
    ("VLC", "film.ts"): _SEEKS,  # starts a bare transport stream at its beginning, whatever start time it was given
    ("GStreamer", "fragmented.mp4"): _SEEKS,  # plays only the first fragments of a file without an index
    ("Chromium", "film.ts"): {"start"},  # does not support bare transport streams
}


class PlayerCase(VaultCase):
    """Checks with players, each started once per class; `prepare` sets `players` to an empty dictionary."""

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

    @each(*PLAYED)
    def test_plays(self, pair):
        """{}: start, seek, stop, resume and a whole play give the same result as directly from nginx, and again without
        nginx"""
        who, name = pair.split()
        player, target = self.player(who), f"{name}?{who}"  # a URL that no check has requested yet
        with straight(who, self.media.sha256(name), lambda: player.session(f"http://127.0.0.1:{self.origin.port}/{target}")) as seen:
            self.assertEqual({what for what, shown in seen.items() if shown is None}, UNABLE.get((who, name), set()))
            address, before = self.vault.address(self.origin.url(target)), self.vault.bytes_fetched()
            self.assertEqual(plain(player.session(address)), seen, "the player sees something else through the vault")
            self.assertLessEqual(self.vault.bytes_fetched() - before, self.media.size(name), "bytes were fetched twice")
            self.addCleanup(self.origin.start)
            self.origin.stop()
            self.assertEqual(plain(player.session(address)), seen, "the player sees something else without the origin")
