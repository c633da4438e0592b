"""Real players play the same through the vault as without it."""

import os

from harness import players
from harness.case import VaultCase, each
from harness.media import FILMS

SEEKABLE = ("moov-first.mp4", "moov-last.mp4", "film.webm")


class Playback(VaultCase):
    @classmethod
    def prepare(cls):
        for name in FILMS:
            cls.media.path(name)
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()

    def address(self, name):
        return self.vault.address(self.origin.url(name))

    @each(*FILMS)
    def test_ffmpeg_decodes(self, name):
        """ffmpeg decodes {} through the service to the same frames as from the file itself"""
        _, expected = players.decoded_frames(self.media.path(name))
        code, frames = players.decoded_frames(self.address(name))
        self.assertEqual(code, 0)
        self.assertGreater(players.frame_count(frames), 100)
        self.assertTrue(frames == expected, "the frames differ")
        self.figure(f"frames of {name} that are equal", players.frame_count(frames), "all")

    @each(*FILMS)
    def test_ffmpeg_seeks(self, name):
        """ffmpeg decodes the same frames of {} after a seek"""
        seek = ("-ss", "5", "-t", "1")
        _, expected = players.decoded_frames(self.media.path(name), *seek)
        code, frames = players.decoded_frames(self.address(name), *seek)
        self.assertEqual(code, 0)
        self.assertGreater(players.frame_count(frames), 10)
        self.assertTrue(frames == expected, "the frames differ")

    @each(*FILMS)
    def test_mpv_plays(self, name):
        """mpv plays {} from start to end"""
        self.assertEqual(players.mpv_exit(self.address(name)), 0)

    @each(*SEEKABLE)
    def test_mpv_seeks(self, name):
        """mpv seeks forward and back in {}"""
        control = os.path.join("/tmp", f"mediavault-mpv-{os.getpid()}-{name}")
        self.addCleanup(lambda: os.path.exists(control) and os.remove(control))
        mpv = players.Mpv(self.address(name), control)
        self.addCleanup(mpv.close)
        mpv.wait_for("playback-restart")
        for second in (9, 2, 7):
            mpv.seek(second)
            self.assertAlmostEqual(mpv.position(), second, delta=1.5)
        self.assertEqual(mpv.quit(), 0)
