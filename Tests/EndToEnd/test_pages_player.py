"""The player of the pages: keys, holes, what is held, restarts, tracks."""

import json
import os
import subprocess

from harness.own_pages import FILM, SHOTS, SONG, PagesCase, expect

SERIES = "series/index.m3u8"


class Player(PagesCase):
    @classmethod
    def fill(cls):
        def copied(path, *options, before=()):
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *before, "-i", cls.media.path(FILM), "-c", "copy", *options, path],
                           check=True)

        def series(folder):
            os.makedirs(folder)
            copied(os.path.join(folder, "index.m3u8"), "-f", "hls", "-hls_time", "4", "-hls_playlist_type", "vod")

        cls.media.made("long.mp4", lambda path: copied(path, "-movflags", "+faststart", before=("-stream_loop", "8")))
        cls.media.made("series", series)
        cls.hold(FILM)
        cls.hold(SERIES)

    def test_plays(self):
        """A film plays; keys seek, pause, change speed and volume; the place is kept and offered again"""
        found = self.id_of(FILM)
        self.go(f"play/{found}")
        expect(self.page.locator(".held-text")).to_have_text("All of it is held. It plays without the network.")
        expect(self.page.locator(".time")).to_have_text("0:00 / 0:20")
        self.page.keyboard.press(" ")
        self.wait_for("document.querySelector('video').currentTime > 0.5")
        self.page.keyboard.press("ArrowRight")
        self.wait_for("document.querySelector('video').currentTime > 10")
        self.page.keyboard.press("k")
        self.wait_for("document.querySelector('video').paused")
        self.page.keyboard.press(">")
        self.assertEqual(self.page.evaluate("document.querySelector('video').playbackRate"), 1.25)
        self.page.keyboard.press("m")
        self.wait_for("document.querySelector('video').muted")
        self.page.keyboard.press("6")
        self.wait_for("Math.abs(document.querySelector('video').currentTime - 12) < 0.1")
        self.page.get_by_role("button", name="Back 10 seconds").click()
        self.page.get_by_role("button", name="Ahead 30 seconds").click()
        self.wait_for("document.querySelector('video').currentTime === 20")
        self.page.keyboard.press("6")
        self.wait_for("Math.abs(document.querySelector('video').currentTime - 12) < 0.1")
        self.go("")
        expect(self.page.locator(f".card:has(a[href$='{found}'])")).to_contain_text("left at 0:12")
        self.go(f"play/{found}")
        self.wait_for("Math.abs(document.querySelector('video').currentTime - 12) < 0.1")
        self.page.get_by_role("button", name="Play from the start").click()
        self.wait_for("document.querySelector('video').currentTime < 3 && !document.querySelector('video').paused")

    def kept(self, id):
        """The place that the vault keeps in a title."""
        places = self.page.evaluate("""() => fetch('/api/v1/positions', {headers: {'X-Session-Proof': localStorage.getItem('mv.proof')}})
            .then(answer => answer.json()).then(told => told.positions)""")
        return [(place["seconds"], place["duration"]) for place in places if place["id"] == id]

    def test_only_opened(self):
        """A title that is opened and not played gets no place, and keeps the one that it has"""
        url = self.hold(f"{FILM}?opened")
        id, sent = self.vault.info(url)["id"], []
        self.page.on("request", lambda request: request.method == "PUT" and request.url.endswith("/position") and sent.append(request.post_data_json))

        def open_and_leave(second):
            for leave in (lambda: None, self.page.reload):
                self.go(f"play/{id}")
                self.wait_for("document.querySelector('video').readyState > 1")
                self.wait_for(f"Math.abs(document.querySelector('video').currentTime - {second}) < 1")
                self.page.wait_for_timeout(500)
                leave()
                expect(self.page.locator("video")).to_be_attached()
                self.go("")

        open_and_leave(0)
        self.assertEqual((sent, self.kept(id)), ([], []))
        self.go(f"play/{id}")
        self.page.keyboard.press(" ")
        self.wait_for("document.querySelector('video').currentTime > 0.5")
        self.page.keyboard.press("6")
        self.wait_for("document.querySelector('video').currentTime > 12.5")
        self.page.keyboard.press(" ")
        self.assert_eventually(lambda: len(self.kept(id)) and self.kept(id)[0][0] > 12, True)
        self.go("")
        place = self.kept(id)
        sent.clear()
        open_and_leave(place[0][0])
        self.assertEqual((sent, self.kept(id)), ([], place))

    def test_next(self):
        """The next title of the shelf follows by its button, by its key and by its link"""
        self.go(f"play/{self.id_of(FILM)}")
        following = self.page.locator("main a[href^='#/play/']")
        expect(following).to_be_visible()
        name = following.inner_text()
        self.page.keyboard.press("n")
        expect(self.page.locator("h1")).to_have_text(name)

    def test_hls(self):
        """An HLS title that is held plays without its origin"""
        self.vault.result("mode", "offline", self.origin.url(SERIES))
        self.go(f"play/{self.id_of(SERIES)}")
        expect(self.page.locator(".held-text")).to_have_text("All of it is held. It plays without the network.")
        self.page.keyboard.press(" ")
        self.wait_for("document.querySelector('video').currentTime > 0.5")

    def test_sound(self):
        """A song plays with its cover in place of a picture"""
        self.hold(SONG)
        self.go(f"play/{self.id_of(SONG)}")
        expect(self.page.locator(".stage .cover")).to_be_visible()
        self.page.keyboard.press(" ")
        self.wait_for("document.querySelector('video').currentTime > 0.5")

    def test_picture_in_picture(self):
        """Picture in picture and full screen open and close"""
        self.go(f"play/{self.id_of(FILM)}")
        self.wait_for("document.querySelector('video').readyState > 0")
        self.page.get_by_role("button", name="Full screen").click()
        self.wait_for("document.fullscreenElement !== null")
        self.page.keyboard.press("f")
        self.wait_for("document.fullscreenElement === null")
        picture = self.page.get_by_role("button", name="Picture in picture")
        if picture.is_visible():
            picture.click()
            self.wait_for("document.pictureInPictureElement !== null")
            picture.click()
            self.wait_for("document.pictureInPictureElement === null")

    def rects(self):
        """What the seek bar draws as held, as shares of its length."""
        return self.page.evaluate("[...document.querySelectorAll('.seek rect')].map(rect => "
                                  "[+rect.getAttribute('x') / 1000, (+rect.getAttribute('x') + +rect.getAttribute('width')) / 1000])")

    def assert_map(self, url):
        """Checks that the seek bar draws the ranges that the vault says it holds."""
        def differences():
            known = self.vault.info(url)
            held, drawn = [[first / known["size"], end / known["size"]] for first, end in known["held"]], self.rects()
            if len(held) != len(drawn):
                return [held, drawn]
            return [pair for pair in zip(held, drawn) if max(abs(pair[0][0] - pair[1][0]), abs(pair[0][1] - pair[1][1])) > 0.004]
        self.assert_eventually(differences, [], within=20)

    def test_held_map(self):
        """The seek bar draws what is held, says what will not play, and grows as bytes arrive"""
        url = self.origin.url(f"{FILM}?map")
        size = self.media.size(FILM)
        for first, share in ((0, 0.2), (0.5, 0.1), (0.7, 0.001)):
            self.vault.result("cat", url, "--range", f"{int(first * size)}-{int((first + share) * size)}")
        self.page.route("**/media/**", lambda route: route.abort())  # so that the browser itself fetches nothing
        self.expected = ("Failed to load", "ERR_FAILED")
        self.go(f"play/{self.vault.info(url)['id']}")
        self.assert_map(url)
        self.assertEqual(len(self.rects()), 3)
        expect(self.page.locator(".held-text")).to_contain_text("30% held. Without the network, these parts will not play (about): 20%–50%, 60%–70%, 70%–100%.")
        self.vault.result("cat", url, "--range", f"{int(0.2 * size)}-{int(0.5 * size)}")
        self.assert_map(url)
        self.assertEqual(len(self.rects()), 2)
        self.vault.result("fetch", url)
        expect(self.page.locator(".held-text")).to_have_text("All of it is held. It plays without the network.")
        self.assertEqual(self.rects(), [[0, 1]])

    def test_hole(self):
        """At a hole without the network the player says so, and goes on behind it"""
        self.expected = ("Failed to load", "504", "ERR_")
        url = self.origin.url("long.mp4")
        size = os.path.getsize(os.path.join(self.media.folder, "long.mp4"))
        for first, end in ((0, 0.3), (0.6, 1)):
            self.vault.result("cat", url, "--range", f"{int(first * size)}-{int(end * size) - 1}")
        self.vault.result("mode", "offline", url)
        self.go(f"play/{self.vault.info(url)['id']}")
        expect(self.page.locator(".held-text")).to_contain_text("70% held")
        expect(self.page.locator(".held-text")).to_contain_text("0:54–1:48")
        self.page.keyboard.press(" ")
        self.wait_for("document.querySelector('video').currentTime > 1")
        self.page.keyboard.press("4")
        expect(self.page.locator(".says")).to_contain_text("The next part is not held", timeout=60_000)
        self.page.screenshot(path=f"{SHOTS}/hole.png")
        # A seek leaves the failure behind, by the keys and by the bar.
        self.page.locator(".player").focus()
        self.page.keyboard.press("1")
        self.wait_for("document.querySelector('video').currentTime > 18.5 && document.querySelector('video').currentTime < 40")
        expect(self.page.locator(".says")).to_be_hidden()
        self.page.keyboard.press("4")
        expect(self.page.locator(".says")).to_contain_text("The next part is not held", timeout=60_000)
        self.page.get_by_label("Place in the title").fill("27")
        self.wait_for("document.querySelector('video').currentTime > 27.5 && document.querySelector('video').currentTime < 50")
        self.page.locator(".player").focus()
        self.page.keyboard.press("4")
        expect(self.page.locator(".says")).to_contain_text("The next part is not held", timeout=60_000)
        self.page.get_by_role("button", name="Go on at 1:53").click()
        self.wait_for("document.querySelector('video').currentTime > 113.5")

    def test_lacks_earlier_bytes(self):
        """If what is held behind a hole needs bytes of the hole, that is said, and the browser is not blamed"""
        self.expected = ("Failed to load", "504", "ERR_")
        path = os.path.join(self.media.folder, "long.mp4")
        url, size = self.origin.url("long.mp4?earlier"), os.path.getsize(path)
        told = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time,pos,flags:format=duration",
                               "-of", "json", path], check=True, capture_output=True).stdout
        film = json.loads(told)
        keys = [(float(packet["pts_time"]), int(packet["pos"])) for packet in film["packets"] if "K" in packet["flags"]]
        (second, first), (following, _) = [(key, after) for key, after in zip(keys, keys[1:]) if key[0] > 172][0]
        hole_end = first + 40_000  # within the picture that those after it need
        place = max(second, hole_end / size * float(film["format"]["duration"])) + 0.05
        self.assertLess(place, following)
        for begin, end in ((0, int(0.3 * size)), (hole_end, size)):
            self.vault.result("cat", url, "--range", f"{begin}-{end - 1}")
        self.vault.result("mode", "offline", url)
        self.go(f"play/{self.vault.info(url)['id']}")
        expect(self.page.get_by_label("Place in the title")).to_be_enabled()
        self.page.get_by_label("Place in the title").fill(str(place))
        self.page.locator(".player").focus()
        self.page.keyboard.press("k")
        expect(self.page.locator(".says")).to_contain_text("not all that it needs is held", timeout=60_000)
        self.page.locator(".says").get_by_role("button", name="Go on at 2:5").click()
        self.wait_for(f"document.querySelector('video').currentTime > {place + 5}")

    def test_restart(self):
        """A restart of the service leaves a playing viewer at the same second"""
        self.expected = ("Failed to load", "ERR_")
        url = self.origin.url("large.mp4")
        self.vault.result("fetch", url)
        self.go(f"play/{self.vault.info(url)['id']}")
        self.page.keyboard.press(" ")
        self.wait_for("document.querySelector('video').currentTime > 1")
        self.vault.stop()
        before = self.seconds()
        expect(self.page.locator("#lost")).to_contain_text("The connection to the box is lost", timeout=40_000)
        self.vault.serve(*self.options)
        expect(self.page.locator("#lost")).to_be_empty(timeout=60_000)
        self.wait_for(f"document.querySelector('video').currentTime > {before + 1} || document.querySelector('video').ended", 60)

    def test_cannot_play(self):
        """What no browser plays is said in a sentence"""
        self.expected = ("Failed to load",)
        path = os.path.join(self.media.folder, "broken.mp4")
        with open(path, "wb") as file:
            file.write(b"no film at all" * 1000)
        url = self.origin.url("broken.mp4")
        self.vault.result("fetch", url, "--any-type")
        self.go(f"play/{self.vault.info(url)['id']}")
        expect(self.page.locator(".says")).to_contain_text("This browser cannot play this title (video/mp4)", timeout=30_000)
