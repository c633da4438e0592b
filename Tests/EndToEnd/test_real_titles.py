"""Sixty titles as people have them: each has its name and its place, and a viewer learns nothing of where they come from."""

import json
import os
import random
import re
import subprocess
import unicodedata
import urllib.parse

from harness import players
from harness.case import ROOT, SEED
from harness.own_pages import PagesCase, expect
from harness.real_titles import BOOK, CHAPTERS, FOLDER, TOGETHER, address, publish, rows
from harness.viewer_session import ViewerSession
from harness.waiting import eventually

PIN = "24681357"
UNSHARED, NAMELESS, UNKNOWN = "f/Spider-Man.mp4", "f/dQw4w9WgXcQ.mp4", "aaaaaaaa"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
# The names of folders are for the owner alone, and those of files that are tokens for nobody.
SECRETS = ("film-origin", *FOLDER.lower().split("/"), "hunter2", "feed.xml", "piano lessons", "piano_lessons", "märchen",
           "5e8f3a9c1d2e4b5a", "dqw4w9wgxcq", "550e8400", "7c9e6679f3a1", "cdd1f0a97b2e4c66")
_HIGH = 16_000  # pixels, so that the shelf shows all its cards


def composed(name):
    """Returns a name with each accent in one character with its letter."""
    return name and unicodedata.normalize("NFC", name)


def name_of(title):
    """Returns the name that people see of a title; None if it has none."""
    return composed(title["name"] or title["fallbackName"])


class RealTitles(PagesCase):
    @classmethod
    def fill(cls):
        cls.from_ = cls.new_scripted_origin()
        feed = publish(cls.from_, cls.media)
        urls = [address(cls.from_, path) for key, path, *_ in rows() if key is None or key[0] != "feed"]
        random.Random(SEED).shuffle(urls)  # they come in nobody's order
        cls.vault.result("fetch", "--list", "-", "--subtitles", "all", input="\n".join(urls).encode())
        cls.vault.result("sync", "add", feed, "--every", "6h")
        cls.vault.result("sync", "run")
        pin = os.path.join(cls.scratch, "pin")
        with open(pin, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(PIN)
        cls.vault.result("viewers", "add", "Anna", "--pin-file", pin)
        held = ("list", "--filter", "held", "--json")
        assert eventually(lambda: len(json.loads(cls.vault.result(*held))) == len(rows())), "premise: all are held"
        by_url = {title["url"]: title for title in json.loads(cls.vault.result(*held))}
        cls.owned = {path: by_url[address(cls.from_, path)] for _, path, *_ in rows()}
        cls.ids = {path: title["id"] for path, title in cls.owned.items()}
        cls.vault.result("share", *(id for path, id in cls.ids.items() if path != UNSHARED), "--with", "Anna")
        cls.anna = ViewerSession(cls.vault, "Anna", PIN)

    # ---- What people see

    def pages_of(self, who):
        """Opens the pages as the owner or as Anna, in a window that is high enough for all cards."""
        self.expected = ("401",)  # of a browser that is not signed in yet
        self.visit(signed_in=who == "owner")
        if who == "Anna":
            self.page.get_by_label("Name").fill("Anna")
            self.page.get_by_label("PIN").fill(PIN)
            self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.locator("h1")).to_have_text("Shelf")
        self.page.set_viewport_size({"width": 1280, "height": _HIGH})
        self.page.reload()

    def test_names(self):
        """Each of sixty titles has the name that a person would give it, for the owner and for a viewer, in lists and on
        pages, and none has an id or a token in its place"""
        wanted = {path: name for _, path, name, _ in rows()}
        self.assertEqual(len(wanted), 60)
        self.assertEqual({path: name_of(self.owned[path]) for path in wanted}, wanted)
        _, told = self.anna.ask("GET", "resources?limit=1000")
        seen = {title["id"]: title for title in told["resources"]}
        shared = {path: name for path, name in wanted.items() if path != UNSHARED}
        self.assertEqual({path: name_of(seen[self.ids[path]]) for path in shared}, shared)
        for path in shared:
            self.assertEqual(name_of(self.anna.ask("GET", f"resources/{self.ids[path]}")[1]), shared[path])
        for who, names in (("owner", wanted), ("Anna", shared)):
            self.pages_of(who)
            cards = self.page.locator(".grid .card .name")
            expect(cards).to_have_count(len(names))
            shown = list(map(composed, cards.all_inner_texts()))
            without = [text for text in shown if re.fullmatch(r"Title of \d+ \w+|Title of \w+ \d+", text)]
            self.assertEqual(len(without), list(names.values()).count(None), who)
            self.assertEqual(sorted(set(shown) - set(without)), sorted(filter(None, names.values())), who)
            text = self.page.locator("body").inner_text().lower()
            for token in (*self.ids.values(), "dqw4w9wgxcq", "550e8400", "9f3a1c2d"):
                self.assertNotIn(token, text, who)

    def test_orders(self):
        """Each series, album, folder and feed has its titles in the order of a hand-written list, for the owner and for a
        viewer, in lists and on its page, whatever the order in which they came"""
        wanted = {key: [name for _, name, _ in titles] for key, titles in TOGETHER.items()}
        names = {id: name_of(self.owned[path]) for path, id in self.ids.items()}
        for who in ("owner", "Anna"):
            groups = (self.anna.ask("GET", "collections")[1] if who == "Anna" else
                      json.loads(self.vault.result("collection", "list", "--json")))["collections"]
            found = {(group["kind"], group["name"]): [names[id] for id in group["titles"]] for group in groups if group["name"]}
            shown = {key: titles for key, titles in wanted.items() if who == "owner" or key[0] != "folder"}
            for key in {*found, *shown}:
                self.assertEqual(found.get(key), shown.get(key), f"{who}: {key}")
            nameless = [[names[id] for id in group["titles"]] for group in groups if not group["name"]]
            self.assertCountEqual(nameless, [wanted[key] for key in wanted if key not in shown], who)
            self.pages_of(who)
            for group in groups if who == "owner" else [group for group in groups if not group["name"]]:
                self.go(f"collections/{group['id']}")
                expect(self.page.locator("main h1")).to_have_text(group["name"] or "Folder")
                expect(self.page.locator(".tiles .name")).to_have_text([names[id] for id in group["titles"]])
        listed = self.vault.result("url", "--collection", "Nachtfahrt", "--m3u").decode()
        self.assertEqual(re.findall("#EXTINF:[0-9]+,(.*)", listed), wanted["album", "Nachtfahrt"])

    # ---- What a viewer hears

    def heard(self, method, path, body=None, **fields):
        """Asks as Anna; returns the status and the text of an answer, which says nothing of an origin."""
        with self.anna.open(method, path, body, **fields) as answer:
            content = answer.read(1 << 20)
            head = f"{answer.reason} {answer.getheaders()}"
            self.assert_no_origin(f"{head} {content.decode(errors='replace')}", f"{method} {path} {body}: {answer.status}")
            return answer.status, content.decode(errors="replace")

    def assert_no_origin(self, text, where):
        for told in {text.lower(), urllib.parse.unquote(text).lower()}:
            for secret in (*SECRETS, f":{self.from_.port}"):
                self.assertNotIn(secret, told, where)

    def path_for(self, id):
        """Returns the path under which Anna's players find a title."""
        return json.loads(self.heard("POST", "/api/v1/links", json.dumps({"id": id}))[1])["path"]

    def test_answers(self):
        """Every route of the API, with every method and error, tells a viewer no host, folder or query of an origin"""
        with open(os.path.join(ROOT, "Sources", "VaultService", "OpenAPI", "openapi.json"), encoding="utf-8") as file:
            routes = json.load(file)["paths"]
        statuses = set()
        for route in routes:
            for id in (self.ids[BOOK], self.ids[NAMELESS], self.ids[UNSHARED], UNKNOWN) if "{id}" in route else ("",):
                path = route.replace("{id}", id)
                for method in METHODS:
                    if (method, route) in (("GET", "/api/v1/events"), ("DELETE", "/api/v1/session")):
                        continue  # the one does not end, and the other ends what all others need
                    statuses.add(self.heard(method, path)[0])
                    if method in ("POST", "PUT", "PATCH", "DELETE"):
                        for body in ({"id": id or self.ids[UNSHARED], "seconds": -1}, {"url": "http://a.example/"}):
                            statuses.add(self.heard(method, path, json.dumps(body))[0])
                for query in ("url=http%3A%2F%2Fa.example%2F", "after=x&limit=-1", "ids=%00"):
                    statuses.add(self.heard("GET", f"{path}?{query}")[0])
        self.assertLessEqual({200, 400, 403, 404, 405, 501}, statuses)
        for path in ("/", "/nothing", "/pages/nothing.js", "/metrics", "/healthz", "/readyz", "/media/", "/media/v/x/title.mp4"):
            self.heard("GET", path)
        for query in ("after=x", "limit=-1", "sort=url", "filter=x", "ids=x", f"ids={self.ids[UNSHARED]}"):
            statuses.add(self.heard("GET", f"/api/v1/resources?{query}")[0])
        for search in (FOLDER, "film-origin", "hunter2", "dQw4"):
            self.assertEqual(self.anna.ask("GET", "resources?search=" + urllib.parse.quote(search))[1]["resources"], [])

    def test_chapters_and_covers(self):
        """A viewer gets the chapters of an audio book and the cover of a shared title, and of others that there are none"""
        path = f"/api/v1/resources/{self.ids[BOOK]}"
        status, told = self.heard("GET", f"{path}/chapters")
        self.assertEqual([chapter["name"] for chapter in json.loads(told)["chapters"]], CHAPTERS)
        picture = self.media.made("real-titles/cover.png", draw)
        self.vault.result("cover", self.ids[BOOK], picture)
        with open(picture, "rb") as file, self.anna.open("GET", f"{path}/cover") as answer:
            self.assertEqual((answer.status, answer.read()), (200, file.read()))
        for id in (self.ids[NAMELESS], self.ids[UNSHARED], UNKNOWN):
            self.assertEqual(self.heard("GET", f"/api/v1/resources/{id}/cover")[0], 404)

    def test_links(self):
        """What a viewer's players are given, links, playlists, media and refusals, names no origin, plays, and needs none"""
        asked, played = len(self.from_.exchanges), 0
        for path, id in self.ids.items():
            if path == UNSHARED:
                continue
            link = self.path_for(id)
            self.assertRegex(link, r"^/media/v/[\w~.-]+/title(\.[a-z0-9]+)?$")
            self.assertEqual(self.heard("HEAD", link)[0], 200)
            statuses = [self.heard("GET", link, Range=value)[0] for value in ("bytes=0-9", "bytes=99999999-", "bytes=9-0", "x=1-")]
            self.assertEqual(statuses, [206, 416, 416, 200], path)
            for method, target in (("POST", link), ("GET", link + "?a=b"), ("GET", link[:20] + link[21:])):
                self.assertGreaterEqual(self.heard(method, target)[0], 400, target)
            status, told = self.heard("GET", link)
            self.assertEqual(status, 200, path)
            self.follow(link, told if path.endswith(".m3u8") else "")
            if path.startswith("s/"):
                played += players.frame_count(players.decoded_frames(f"http://{self.vault.listen}{link}", "-t", "1")[1]) > 0
        self.assertEqual(played, sum(path.startswith("s/") for path in self.ids))
        self.assertEqual(len(self.from_.exchanges), asked)

    def follow(self, link, playlist):
        """Asks for everything that an HLS playlist names, as a player does."""
        for uri in {*re.findall(r'URI="([^"]*)"', playlist), *re.findall(r"^[^#\s].*", playlist, re.MULTILINE)}:
            target = urllib.parse.urljoin(link, uri)
            status, told = self.heard("GET", target)
            self.assertEqual(status, 200, target)
            self.follow(target, told if told.startswith("#EXTM3U") else "")

    def test_not_held(self):
        """If a title is not held and its origin is gone, a viewer hears that it does not play, and not from where"""
        gone, paths = self.new_scripted_origin(), {}
        playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:4,\none.ts\n#EXT-X-ENDLIST\n"
        for name, type_, content in (("Later.mp4", "video/mp4", bytes(200_000)),
                                     ("Soon/index.m3u8", "application/vnd.apple.mpegurl", playlist.encode())):
            url = gone.add(f"{FOLDER}/{name}?key=hunter2", type=type_, content=content)
            self.vault.result("cat", url, "--range", "0-99")
            id = self.vault.info(url)["id"]
            self.addCleanup(self.vault.result, "remove", url)
            self.vault.result("share", id, "--with", "Anna")
            paths[name] = self.path_for(id)
        gone.stop()
        secret = f":{gone.port}"
        _, told = self.heard("GET", paths["Soon/index.m3u8"])
        for path in (paths["Later.mp4"], re.search("^/.*", told, re.MULTILINE)[0]):
            status, told = self.heard("GET", path, Range="bytes=150000-")
            self.assertGreaterEqual(status, 500)
            self.assertNotIn(secret, told)

    def test_events(self):
        """The events of a viewer name what changes, and no origin"""
        ticket = json.loads(self.heard("POST", "/api/v1/tickets", "{}")[1])["ticket"]
        heard, id = "", self.ids["f/The_Lost_Harbour.mp4"]
        self.addCleanup(self.vault.result, "rename", id, "")
        with self.anna.open("GET", f"/api/v1/events?ticket={ticket}") as answer:
            self.vault.result("rename", id, "The Harbour of the Lost")
            while "The Harbour of the Lost" not in heard:
                heard += answer.readline().decode()
        self.assert_no_origin(heard, "events")


def draw(path):
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=64x64", "-frames:v", "1", "-f", "apng", path],
                   stdin=subprocess.DEVNULL, check=True)
