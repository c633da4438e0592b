"""A vault with size limits, and on a full disk: playback continues, and the vault never exceeds its limit."""

import concurrent.futures
import hashlib
import os
import random
import threading

from harness import client
from harness.case import SEED, Settings, VaultCase
from harness.small_disk import SmallDisk
from harness.waiting import eventually

MEBIBYTE = 1 << 20
FILMS, LIMIT, PINNED, PLAYERS = 500, 200 * MEBIBYTE, 6, 6


class Watch:
    """Measures the segment files of a vault repeatedly, and keeps the largest total that certainly existed at one time.

    Listing the files takes time: a file evicted after it was listed, and one written before it is listed, would both
    count. But a file seen in two consecutive listings existed between them, and was at least as large as the first one
    measured."""

    def __init__(self, vault):
        self._vault, self.most, self.looks, self._ended = vault, 0, 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        before = self._sizes()
        while not self._ended.is_set():
            now = self._sizes()
            self.most = max(self.most, sum(size for name, size in before.items() if name in now))
            self.looks += 1
            before = now

    def _sizes(self):
        sizes = {}
        for parent, _, names in os.walk(os.path.join(self._vault.folder, "segments")):
            for name in names:
                try:
                    sizes[name] = os.path.getsize(os.path.join(parent, name))
                except FileNotFoundError:
                    pass  # evicted during the listing
        return sizes

    def end(self):
        self._ended.set()
        self._thread.join()
        return self.most


class Limits(VaultCase):
    @classmethod
    def prepare(cls):
        dice = random.Random(SEED)
        cls.origin, cls.vault = cls.new_scripted_origin(), cls.new_vault()
        cls.films = {}
        for number in range(FILMS):
            # The bytes of a scripted title follow from its seed and size; their digests are what the origin has.
            size = int(dice.choice([dice.uniform(1, 100_000), dice.uniform(100_000, 1_500_000),
                                    dice.uniform(1_500_000, 4_000_000)])) + 1
            url = cls.origin.add(f"film-{number}.mp4", size=size, seed=number)
            content = cls.origin.film(f"film-{number}.mp4").content
            cls.films[url] = (size, hashlib.sha256(content).hexdigest())
        cls.dice = dice

    def test_films_through_a_small_vault(self):
        """500 titles through a 200 MiB vault: it never exceeds the limit, pinned titles stay complete, no byte is
        wrong"""
        vault, urls = self.vault, list(self.films)
        pinned = self.dice.sample(urls, PINNED)
        vault.result("fetch", *pinned, "--max-size", "200MiB")
        can_pin = vault.run("pin", pinned[0]).returncode == 0
        for url in pinned[1:]:
            if can_pin:
                vault.result("pin", url)
        vault.serve("--max-size", "200MiB")
        watch = Watch(vault)
        prefix = vault.address(urls[0])[:-len("film-0.mp4")]
        order = urls + self.dice.sample(urls, 60)
        self.dice.shuffle(order)
        with concurrent.futures.ThreadPoolExecutor(PLAYERS) as players:
            wrong = [url for url, answer in zip(order, players.map(
                lambda url: client.digest(prefix + url.rpartition("/")[2]), order))
                if answer != (200, *self.films[url])]
        vault.service.stop()
        most = watch.end()
        self.assertEqual(wrong, [])
        self.figure("room: most bytes of segment files, of 200 MiB", most / MEBIBYTE, "≤ 200", " MiB")
        self.assertGreater(watch.looks, 20)
        self.assertLessEqual(most, LIMIT)
        self.assertGreater(vault.segment_bytes(), LIMIT * 0.9, "the vault does not use the space that it may use")
        if can_pin:
            for url in pinned:
                self.assertEqual(vault.info(url)["held"], [[0, self.films[url][0]]], "a pinned title is not complete")

    def test_title_larger_than_the_limit(self):
        """A title larger than the limit plays to its end; fetching it exits 1 and reports how much is missing"""
        vault = self.new_vault()
        url = self.origin.add("long.mp4", size=6 * MEBIBYTE, seed=9)
        done = vault.run("fetch", url, "--max-size", "2MiB")
        self.assertEqual(done.returncode, 1, done.stderr)
        missing = 6 * MEBIBYTE - vault.info(url)["bytes"]
        self.assertIn(f"{missing} bytes", done.stderr.decode())
        self.assertLessEqual(vault.segment_bytes(), 2 * MEBIBYTE)
        vault.serve("--max-size", "2MiB")
        content = self.origin.film("long.mp4").content
        self.assertEqual(client.digest(vault.address(url)), (200, len(content), hashlib.sha256(content).hexdigest()))
        vault.service.stop()
        self.assertLessEqual(vault.segment_bytes(), 2 * MEBIBYTE)

    def test_usage(self):
        """A size without a number, and a size or an age without a unit, are usage errors"""
        for options in (["--max-size", "big"], ["--max-size", "5"], ["--max-age", "90"], ["--min-free", "-1"]):
            self.assertEqual(self.vault.run("serve", *options).returncode, 2, options)


class FullDisk(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.url = cls.origin.add("film.mp4", size=24 * MEBIBYTE, seed=3)
        cls.content = cls.origin.film("film.mp4").content

    def setUp(self):
        self.vault = self.new_vault()
        self.disk = SmallDisk(self, self.vault, 24)

    def play(self, *where):
        status, length, digest = client.digest(self.vault.address(self.url))
        self.assertEqual((status, length, digest),
                         (200, len(self.content), hashlib.sha256(self.content).hexdigest()), where)

    def test_playback_goes_on(self):
        """On a full disk playback continues, the service warns once, and it stores bytes again when space returns"""
        self.disk.fill(leaving=3 * MEBIBYTE)
        service = self.vault.serve()
        self.play("while the disk is full")
        self.play("and again")
        self.assertLess(self.vault.segment_bytes(), 3 * MEBIBYTE)
        self.assertTrue(eventually(lambda: "disk-full" in service.log()))
        self.disk.empty()
        self.assertTrue(eventually(lambda: "stored again" in service.log()), service.log())
        self.assertEqual(service.log().count("without being stored"), 1)
        self.vault.stop()
        self.disk.grow(64)
        self.vault.serve()
        self.play("with room")
        self.vault.stop()
        self.assertEqual(self.vault.info(self.url)["held"], [[0, len(self.content)]])

    def test_space_returns_while_it_plays(self):
        """If space returns while a title plays, the service stores the rest of the title without a restart"""
        self.disk.grow(64)
        self.disk.fill(leaving=2 * MEBIBYTE)
        film = self.origin.film("film.mp4")
        film.hold_at = 12 * MEBIBYTE
        self.addCleanup(film.release.set)
        service = self.vault.serve()
        result = []
        player = threading.Thread(target=lambda: result.append(client.digest(self.vault.address(self.url))))
        player.start()
        self.assertTrue(eventually(lambda: "disk-full" in service.log()), service.log())
        self.disk.empty()
        self.assertTrue(eventually(lambda: "stored again" in service.log()), service.log())
        film.release.set()
        player.join(60)
        self.assertEqual(result, [(200, len(self.content), hashlib.sha256(self.content).hexdigest())])
        self.vault.stop()
        self.assertGreater(self.vault.info(self.url)["bytes"], 11 * MEBIBYTE)

    def test_fetch_says_what_is_missing(self):
        """fetch on a full disk exits 1, reports how much is missing, and resumes from there when space is free"""
        self.disk.fill(leaving=4 * MEBIBYTE)
        done = self.vault.run("fetch", self.url)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.disk.empty()
        self.disk.grow(64)
        missing = len(self.content) - self.vault.info(self.url)["bytes"]
        self.assertIn(f"{missing} bytes", done.stderr.decode())
        self.vault.result("fetch", self.url)
        self.assertEqual(self.vault.info(self.url)["held"], [[0, len(self.content)]])
