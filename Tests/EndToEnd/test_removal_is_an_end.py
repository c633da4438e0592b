"""A removed title is gone for good, however often the player of a viewer goes on asking for it."""

import http.client
import json
import os
import random
import threading
import time
import urllib.parse

from harness import client
from harness.case import SEED, VaultCase
from harness.viewer_session import ViewerSession
from harness.waiting import eventually

EACH = int(os.environ.get("MEDIAVAULT_REMOVALS", "5"))  # removals, and as many shreds
ROUND = 10  # titles that are asked for at a time
SIZE = 600_000
EVERY = 0.1  # seconds between two requests of a player
PARTS = 8
PIN = "24681357"
MARK = 60  # seconds in which links from before a removal fetch nothing
patience = 600 + 20 * EACH


class Asking:
    """A viewer's player, which asks for parts of its addresses ten times a second, whatever it is answered."""

    def __init__(self, addresses, dice):
        self._addresses, self._dice, self._over = addresses, dice, threading.Event()
        self.answers = []  # when each was asked for, and its status and bytes; None if it broke off
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self):
        while not self._over.is_set():
            asked = time.monotonic()
            try:
                first = self._dice.choice((0, self._dice.randrange(SIZE // 2)))
                answer = client.get(self._dice.choice(self._addresses), f"bytes={first}-{first + 60_000}", timeout=1)
                self.answers.append((asked, answer.status, len(answer.body)))
            except (OSError, http.client.HTTPException):
                self.answers.append((asked, None, 0))
            self._over.wait(max(0, EVERY - (time.monotonic() - asked)))

    def after(self, moment):
        """Returns status and bytes of what was asked for after a moment."""
        return [item[1:] for item in self.answers[:] if item[0] > moment]

    def end(self):
        self._over.set()
        self._thread.join()


class RemovalIsAnEnd(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.dice = random.Random(SEED)

    def setUp(self):
        self.vault = self.served_vault()
        path = os.path.join(self.vault.base, "pin")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(PIN)
        self.vault.result("viewers", "add", "Anna", "--pin-file", path)
        self.anna = ViewerSession(self.vault, "Anna", PIN)
        self.fetched, self.counts = 0, {"back": 0, "shared": 0, "bytes": 0, "requests": 0, "asked": 0}

    def stored(self):
        """Stores a film wholly or by half, or a title of several files, and shares it; returns its URL, its id, and
        the addresses that the viewer's player has."""
        self.fetched += 1
        name, kind = f"title-{self.fetched}", self.fetched % 3
        if kind == 2:
            lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:4"]
            for part in range(PARTS):
                self.origin.add(f"{name}/{part}.ts", size=SIZE // PARTS, seed=part + 1, type="video/mp2t")
                lines += ["#EXTINF:4,", f"{part}.ts"]
            url = self.origin.add(f"{name}/list.m3u8", type="application/vnd.apple.mpegurl",
                                  content="\n".join([*lines, "#EXT-X-ENDLIST", ""]).encode("ascii"))
        else:
            # The half that is not held stands still on its way from the origin.
            url = self.origin.add(f"{name}/film.mp4", size=SIZE, seed=self.fetched, hold_at=SIZE // 2 if kind else None)
        self.vault.result(*(("cat", url, "--range", "0-99999") if kind == 1 else ("fetch", url)))
        title = self.vault.info(url)["id"]
        self.vault.result("share", url, "--with", "Anna")
        address = self.anna.link(title)
        addresses = [address]
        if kind == 2:
            addresses += [urllib.parse.urljoin(address, line)
                          for line in client.get(address).body.decode().splitlines() if line and line[0] != "#"]
            self.assertEqual(len(addresses), 1 + PARTS)
        return url, title, addresses

    def origin_sent(self, url):
        """Returns how many requests for a title, or for one of its files, the origin had, and the bytes it sent."""
        folder = "/" + self.folder(url)
        asked = [item for item in self.origin.exchanges[:] if item.target.startswith(folder)]
        return len(asked), sum(item.sent for item in asked)

    def folder(self, url):
        return url.removeprefix(self.origin.url("")).partition("/")[0] + "/"

    def take_out(self, word, url, title, player):
        """Removes or shreds a title while it plays, and counts what comes of it afterwards."""
        self.assertTrue(eventually(lambda: any(status == 206 for _, status, _ in player.answers)), "nothing plays")
        self.vault.result(word, url)
        answered, before = time.monotonic(), self.origin_sent(url)
        for target, film in self.origin.films.items():
            if target.startswith("/" + self.folder(url)):
                film.release.set()  # what was on its way is let go
        self.assertTrue(eventually(lambda: len(player.after(answered)) > 10), "the player has stopped asking")
        after = player.after(answered)
        self.assertEqual({status for status, _ in after}, {404}, f"{url} of seed {SEED}")
        self.counts["asked"] += len(after)
        self.counts["back"] += self.vault.run("info", url).returncode != 6 or title in self.anna.titles()
        return before

    def shared(self):
        """Returns how many titles are shared with the viewer."""
        return json.loads(self.vault.result("viewers", "list", "--json"))["viewers"][0]["titles"]

    def round(self, acts, outlasts):
        """Takes titles out, one for each act; the players then go on until the marks of the removals have passed, if
        they outlast them."""
        titles = [self.stored() for _ in acts]
        sent, players = [], [Asking(addresses, random.Random(f"{SEED} {url}")) for url, _, addresses in titles]
        try:
            for word, (url, title, _), player in zip(acts, titles, players, strict=True):
                sent.append(self.take_out(word, url, title, player))
            if outlasts:
                last = time.monotonic() + MARK + 5
                self.assertTrue(eventually(lambda: all(player.after(last) for player in players), within=MARK + 60))
                self.assertEqual({status for player in players for status, _ in player.after(last)}, {404})
            self.assertEqual(self.vault.result("list"), b"")
            for (url, _, _), (requests, count) in zip(titles, sent, strict=True):
                requests_now, count_now = self.origin_sent(url)
                self.counts["requests"] += requests_now - requests
                self.counts["bytes"] += count_now - count
            self.bring_back(*titles[self.dice.randrange(len(titles))])
        finally:
            for player in players:
                player.end()

    def bring_back(self, url, title, addresses):
        """Fetches a title as its owner: it is there again, and shared with no one."""
        self.vault.result("fetch", url)
        self.assertEqual(client.get(self.vault.address(url)).status, 200)
        again = self.vault.info(url)["id"]
        self.counts["shared"] += again in self.anna.titles() or self.shared()
        for address in addresses:
            self.assertEqual(client.get(address).status, 404, "a link from before the removal plays again")
        self.assertEqual(self.anna.ask("GET", f"resources/{again}")[0], 404)
        self.vault.result("remove", url)

    def test_removal(self):
        """What is removed or shredded while a viewer's player asks for it ten times a second is not fetched again, not
        by a byte, and shared with no one, also when its owner fetches it again"""
        acts = ["remove", "shred"] * EACH
        for first in range(0, len(acts), ROUND):
            is_last = first + ROUND >= len(acts)
            self.round(acts[first:first + ROUND], outlasts=is_last and EACH > ROUND)  # by night
        self.figure("titles removed or shredded while a viewer's player asked", len(acts), "each was playing")
        self.figure("answers that the player got afterwards", self.counts["asked"], "> 0, all 404")
        for name, what in (("back", "titles back"), ("shared", "shares back"), ("requests", "requests to the origin"),
                           ("bytes", "bytes fetched")):
            self.figure(f"{what} after the answer of the removal", self.counts[name], "0")
            self.assertEqual(self.counts[name], 0, what)
