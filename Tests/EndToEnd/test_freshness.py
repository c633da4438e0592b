"""Stale held titles are revalidated with a real origin as the mode requires, and play without the origin."""

import itertools
import os
import time

from harness import client
from harness.case import VaultCase

FILM = "moov-first.mp4"


class Freshness(VaultCase):
    _numbers = itertools.count(1)

    @classmethod
    def prepare(cls):
        cls.media.path(FILM)
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()

    def setUp(self):
        if not self.origin._process:
            self.origin.start()

    def brief(self):
        """Returns the playback link and the URL of a title that is fresh for one second and unique to the check."""
        url = self.origin.url(f"brief/{FILM}?{next(self._numbers)}")
        return self.vault.address(url), url

    def heads(self):
        return [item.status for item in self.origin.requests(f"brief/{FILM}") if item.method == "HEAD"]

    @staticmethod
    def grow_stale():
        time.sleep(2.2)  # the origin allows one second, and ages are in whole seconds

    def test_confirmed_by_304(self):
        """A stale title is revalidated by one HEAD that nginx answers with 304, and no byte is fetched again"""
        address, _ = self.brief()
        self.assert_whole(address, FILM)
        sent, heads = self.origin.body_bytes(f"brief/{FILM}"), len(self.heads())
        self.grow_stale()
        answer = client.get(address, "bytes=1000-199999")
        self.assertEqual(answer.headers["cache-status"], "MediaVault; fwd=stale; fwd-status=304")
        self.assertTrue(answer.body == self.media.bytes(FILM, 1000, 200_000), "the bytes differ")
        self.assert_eventually(lambda: self.heads()[heads:], [304])
        # A slow machine lets the title grow stale once more; then the first of two answers is confirmed again.
        self.assert_eventually(lambda: client.get(address, "bytes=0-9").headers["cache-status"], "MediaVault; hit")
        self.assertEqual(self.origin.body_bytes(f"brief/{FILM}"), sent)

    def test_fresh_costs_nothing(self):
        """A title without a lifetime from nginx is served again without a request, even after a restart"""
        address = self.vault.address(self.origin.url(FILM))
        self.assert_whole(address, FILM)
        self.vault.stop()
        self.vault.serve()
        before = len(self.origin.requests())
        self.assert_whole(address, FILM)
        self.assertEqual(len(self.origin.requests()), before)

    def test_stale_without_the_origin(self):
        """A stale title plays byte for byte without its origin, and Cache-Status reports it"""
        address, _ = self.brief()
        self.assert_whole(address, FILM)
        self.origin.stop()
        self.grow_stale()
        answer = client.get(address, "bytes=0-99999")
        self.assertEqual(answer.headers["cache-status"], "MediaVault; fwd=stale; detail=unreachable")
        self.assertTrue(answer.body == self.media.bytes(FILM, 0, 100_000), "the bytes differ")
        self.assert_whole(address, FILM)

    def test_changed(self):
        """A title that changed at its origin is served in the new version from the first byte, with another ETag"""
        origin = self.new_scripted_origin()
        headers = {"Cache-Control": "max-age=0"}
        address = self.vault.address(origin.add("film.mp4", size=400_000, seed=1, headers=headers))
        old = client.get(address)
        self.assertTrue(old.body == origin.film("film.mp4").content)
        origin.add("film.mp4", size=300_000, seed=2, headers=headers)
        new = client.get(address)
        self.assertEqual((new.status, new.complete), (200, True))
        self.assertTrue(new.body == origin.film("film.mp4").content, "the bytes are not those of the new version")
        self.assertNotEqual(new.headers["etag"], old.headers["etag"])

    def test_mode_of_a_title(self):
        """mode prefer-vault serves a stale title without a request, and mode default reverts that"""
        address, url = self.brief()
        self.assert_whole(address, FILM)
        self.vault.result("mode", "prefer-vault", url)
        self.grow_stale()
        before = len(self.origin.requests())
        self.assert_whole(address, FILM)
        self.assertEqual(self.vault.info(url)["mode"], "prefer-vault")
        self.assertEqual(len(self.origin.requests()), before)
        self.vault.result("mode", "default", url)
        self.assert_whole(address, FILM)
        self.assert_eventually(lambda: len(self.origin.requests()), before + 1)


class NoStore(VaultCase):
    def test_nothing_is_written(self):
        """With serve --mode no-store a title plays, Cache-Status reports it, and the vault stores nothing"""
        origin, vault = self.new_origin(), self.served_vault("--mode", "no-store")
        address = vault.address(origin.url(FILM))
        self.media.path(FILM)
        self.assert_whole(address, FILM)
        answer = client.get(address, "bytes=100000-199999")
        self.assertEqual(answer.headers["cache-status"], "MediaVault; fwd=bypass; detail=no-store")
        self.assertTrue(answer.body == self.media.bytes(FILM, 100_000, 200_000), "the bytes differ")
        self.assertEqual((vault.segment_bytes(), vault.status()["resources"]), (0, 0))
        vault.stop()
        for parent, _, names in os.walk(vault.folder):
            for name in names:
                with open(os.path.join(parent, name), "rb") as file:
                    self.assertNotIn(b"moov-first", file.read())
