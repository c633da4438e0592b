"""Real players with failing networks and servers: through the vault they play at least as well as directly."""

import itertools
import subprocess

from harness import faulty_origin, kept_sessions
from harness.case import NIGHT, each
from test_players import PLAYERS, PlayerCase

FILM = "moov-first.mp4"
FAULTS = {fault.__name__: fault for fault in (
    faulty_origin.Breaks, faulty_origin.ResetSeeks, faulty_origin.Busy, faulty_origin.TwoNodes,
    faulty_origin.ChangingWeakTags, faulty_origin.NoValidators, faulty_origin.SilentHead, faulty_origin.EmptyHead,
    faulty_origin.RefusedHead, faulty_origin.WithoutRanges, faulty_origin.Stalls)}
# Without ranges mpv can only seek within its own cache, whose extent differs from run to run, also directly.
PAIRS = [(who, name) for who, name in itertools.product(PLAYERS, FAULTS) if (who, name) != ("mpv", "WithoutRanges")]
# By day, each fault with one of the players, in turn.
BY_DAY = {*zip(itertools.cycle(reversed(PLAYERS)), FAULTS)}


class LineFaults(PlayerCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.players, cls.sound = faulty_origin.FaultyOrigin(), {}, {}
        cls.addClassCleanup(cls.origin.stop)
        cls.film = faulty_origin.Film()
        cls.film.content = cls.media.bytes(FILM, 0, cls.media.size(FILM))
        cls.vault = cls.served_vault()

    def seen(self, player, address):
        """Returns what a player saw, or an empty dictionary if it gave up."""
        try:
            return kept_sessions.plain(player.session(address))
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            return {}

    @each(*(" ".join(pair) for pair in PAIRS if "players" in NIGHT or pair in BY_DAY))
    def test_never_worse(self, pair):
        """{}: whatever a player plays correctly directly, it plays correctly through the vault"""
        who, name = pair.split()
        player, target = self.player(who), f"{who}-{name}.mp4"
        url = self.origin.put(target, self.film)
        straight = url.replace(f"//{faulty_origin.HOST}:", "//127.0.0.1:")
        if who not in self.sound:
            self.origin.fault = faulty_origin.Fault()
            # Anew in each run: nothing that is compared here would tell that what an earlier run kept is wrong.
            self.sound[who] = kept_sessions.plain(player.session(straight))
        right = self.sound[who]
        self.assertNotIn(None, right.values(), "the player cannot play this title at all")
        self.origin.fault = FAULTS[name]()
        alone = {what for what, saw in self.seen(player, straight).items() if saw == right[what]}
        self.origin.fault = FAULTS[name]()
        address = self.vault.address(url)
        through = {what for what, saw in self.seen(player, address).items() if saw == right[what]}
        self.figure(f"{pair}: right of {len(right)}, straight and through the vault", f"{len(alone)} and {len(through)}",
                    "not fewer")
        self.assertEqual(alone - through, set(), "correct directly, but not through the vault")
