"""The player plays on: while one browses, through an album, through a queue, until one sleeps."""

import re
import subprocess
import tempfile

from harness.own_pages import PagesCase, expect

ALBUM = [f"quay-{place}.mp3" for place in range(1, 7)]
LONG = "all-of-the-quay.mp3"
CHAPTERS = ";FFMETADATA1\nartist=The Quay\n" + "".join(
    f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={start}\nEND={end}\ntitle={name}\n"
    for start, end, name in ((0, 60_000, "Dawn"), (60_000, 200_000, "<b>Noon</b>"), (200_000, 300_000, "Dusk")))


class PlaysOn(PagesCase):
    @classmethod
    def fill(cls):
        def sound(seconds, tone, *facts):
            return lambda path: subprocess.run(
                ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", f"sine=f={tone}:d={seconds}", *facts, "-c:a", "libmp3lame", path], check=True)

        for place, name in enumerate(ALBUM, 1):
            cls.media.made(name, sound(2, 200 + 50 * place, "-metadata", "album=The Long Quay", "-metadata", f"track={place}"))
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as facts:
            facts.write(CHAPTERS)
            facts.flush()
            cls.media.made(LONG, sound(300, 440, "-i", facts.name, "-map_metadata", "1"))
        for name in (*reversed(ALBUM), LONG):  # the order in which they came is not that of the album
            cls.hold(name)

    def setUp(self):
        super().setUp()
        self.page.clock.install()
        self.page.reload()
        expect(self.page.locator(".card")).to_have_count(len(ALBUM) + 1)
        self.page.evaluate("window.marked = true")

    # ---- What is seen

    def play(self, name):
        self.go(f"play/{self.id_of(name)}")
        self.page.keyboard.press(" ")
        self.wait_for("document.querySelector('video').currentTime > 0.2")

    def playing(self):
        return self.page.locator("#player .now a")

    def end(self):
        """Lets the title come to its end."""
        self.wait_for("document.querySelector('video').readyState > 0")
        self.page.evaluate("(video => { video.currentTime = video.duration - 0.2; })(document.querySelector('video'))")

    def card_act(self, name, act):
        self.page.get_by_role("button", name=f"More: {name}").last.click()
        self.page.locator(".menu:popover-open").get_by_role("button", name=act, exact=True).click()

    # ---- The promises

    def test_browsing(self):
        """Sound goes on in a bar while one browses, and the page of the title shows the same player large"""
        self.play(LONG)
        self.page.evaluate("window.element = document.querySelector('video'); window.stops = 0; element.addEventListener('pause', () => stops++)")
        for path in ("", "titles", "downloads", "settings", f"titles/{self.id_of(ALBUM[0])}", "storage"):
            before = self.seconds()
            self.go(path)
            self.wait_for(f"document.querySelector('video').currentTime > {before}")
        expect(self.playing()).to_have_text(LONG)
        box, height = self.page.locator("#player").bounding_box(), self.page.evaluate("innerHeight")
        self.assertAlmostEqual(box["y"] + box["height"], height, delta=2)
        self.assertLess(box["height"], 120)
        self.playing().click()
        expect(self.page.locator("main h1")).to_have_text(LONG)
        self.assertGreater(self.page.locator("#player").bounding_box()["height"], 250)
        self.assertEqual(self.page.evaluate("[document.querySelector('video') === element, document.querySelectorAll('video').length, stops, marked, element.paused]"),
                         [True, 1, 0, True, False])
        self.go("")
        self.page.get_by_role("button", name="Close the player").click()
        expect(self.page.locator("#player")).to_be_hidden()
        self.assertTrue(self.page.evaluate("element.paused"))

    def test_album(self):
        """An album of six plays through in its order by itself, and nothing begins after its last title"""
        self.play(ALBUM[0])
        self.go("")
        for place, name in enumerate(ALBUM):
            expect(self.playing()).to_have_text(name)
            self.end()
            if place + 1 < len(ALBUM):
                expect(self.page.locator(".says")).to_contain_text(f"Next: {ALBUM[place + 1]}")
                self.page.clock.fast_forward(6000)
        self.wait_for("document.querySelector('video').ended")
        expect(self.page.locator(".says")).to_be_hidden()
        expect(self.page.get_by_role("button", name="Next title")).to_be_disabled()
        self.page.clock.fast_forward(60_000)
        expect(self.playing()).to_have_text(ALBUM[-1])

    def test_seamless(self):
        """A song's notice comes before its end, and the next one begins as soon as it has ended"""
        self.play(LONG)
        self.go("")
        self.card_act(ALBUM[1], "Add to queue")
        self.page.evaluate("(video => { video.currentTime = video.duration - 4; })(document.querySelector('video'))")
        expect(self.page.locator(".says")).to_contain_text("begins in")
        self.page.evaluate("document.querySelector('video').playbackRate = 0.1")  # leaves time to look
        self.page.clock.fast_forward(6000)
        self.assertFalse(self.page.evaluate("document.querySelector('video').ended"))
        expect(self.playing()).to_have_text(LONG)
        self.page.evaluate("document.querySelector('video').playbackRate = 4")
        expect(self.playing()).to_have_text(ALBUM[1])

    def test_alone(self):
        """After a title that belongs to no collection nothing begins by itself, but the next of the shelf can be chosen"""
        self.play(LONG)
        expect(self.page.get_by_role("button", name="Next title")).to_be_enabled()
        self.end()
        self.wait_for("document.querySelector('video').ended")
        self.page.clock.fast_forward(30_000)
        expect(self.page.locator(".says")).to_be_hidden()
        expect(self.playing()).to_have_text(LONG)

    def test_large(self):
        """On the page of a title the next one takes its place, and the page is that of the next"""
        self.play(ALBUM[0])
        self.end()
        self.page.locator(".says").get_by_role("button", name="Play now").click()
        expect(self.page.locator("main h1")).to_have_text(ALBUM[1])
        self.wait_for("document.querySelector('video').currentTime > 0.1")
        self.assertTrue(self.page.url.endswith(f"#/play/{self.id_of(ALBUM[1])}"))

    def test_declined(self):
        """The next title is declined: the player stays where it is"""
        self.play(ALBUM[2])
        self.end()
        notice = self.page.locator(".says")
        expect(notice).to_contain_text("begins in")
        notice.get_by_role("button", name="Stay here").click()
        expect(notice).to_be_hidden()
        self.page.clock.fast_forward(30_000)
        expect(self.playing()).to_have_text(ALBUM[2])
        self.assertTrue(self.page.evaluate("document.querySelector('video').ended"))

    def test_queue(self):
        """What is put into the queue plays before the rest of the album, in its order, and can be taken out"""
        self.play(ALBUM[0])
        self.go("")
        self.card_act(ALBUM[4], "Add to queue")
        self.card_act(ALBUM[5], "Add to queue")
        self.card_act(LONG, "Play next")
        expect(self.page.locator(".count")).to_have_text("3")
        self.page.get_by_role("button", name="Play queue: 3 titles").click()
        lines = self.page.locator(".queue .lines .name")
        self.assertEqual(lines.all_inner_texts(), [LONG, ALBUM[4], ALBUM[5]])
        self.page.get_by_role("button", name=f"Take out of the queue: {ALBUM[4]}").click()
        self.assertEqual(lines.all_inner_texts(), [LONG, ALBUM[5]])
        self.page.keyboard.press("Escape")
        self.page.get_by_role("button", name="Next title").click()
        expect(self.playing()).to_have_text(LONG)
        self.page.get_by_role("button", name="Next title").click()
        expect(self.playing()).to_have_text(ALBUM[5])
        expect(self.page.locator(".count")).to_be_empty()

    def test_collection(self):
        """A collection has a card with its count, and a page with its titles in their order"""
        self.page.locator(".rows").get_by_role("link", name=re.compile("The Long Quay")).click()
        expect(self.page.locator("main h1")).to_have_text("The Long Quay")
        expect(self.page.locator("main")).to_contain_text("Album · 6 titles")
        self.assertEqual(self.page.locator(".tiles .name").all_inner_texts(), ALBUM)

    def test_speed(self):
        """The speed that was chosen is remembered, and names nobody"""
        self.play(LONG)
        self.page.keyboard.press(">")
        self.page.keyboard.press(">")
        self.page.reload()
        self.wait_for("document.querySelector('video')?.readyState > 0")
        self.assertEqual(self.page.evaluate("document.querySelector('video').playbackRate"), 1.5)
        kept = self.page.evaluate("Object.entries(localStorage).filter(([name]) => name !== 'mv.proof')")
        self.assertEqual([value for _, value in kept], ["1.5"])

    def test_sleep(self):
        """The sleep timer ends the sound after its minutes, or with the title"""
        self.play(LONG)
        self.page.get_by_role("button", name="Speed, sound and subtitles").click()
        self.page.get_by_label("Sleep timer").select_option("15")
        self.page.keyboard.press("Escape")
        self.go("")
        self.page.clock.fast_forward("15:01")
        self.wait_for("document.querySelector('video').paused")
        self.play(ALBUM[0])
        self.page.get_by_role("button", name="Speed, sound and subtitles").click()
        self.page.get_by_label("Sleep timer").select_option("at the end of the title")
        self.page.keyboard.press("Escape")
        self.end()
        self.wait_for("document.querySelector('video').ended")
        expect(self.page.locator(".says")).to_be_hidden()
        self.page.clock.fast_forward(30_000)
        expect(self.playing()).to_have_text(ALBUM[0])

    def test_chapters(self):
        """Chapters are marks on the seek bar and a list, which leads to each and shows the one that plays"""
        self.play(LONG)
        expect(self.page.locator(".marks > span")).to_have_count(2)
        lines = self.page.locator(".chapters button")
        self.assertEqual(lines.all_inner_texts(), ["0:00 Dawn", "1:00 <b>Noon</b>", "3:20 Dusk"])
        lines.nth(1).click()
        self.wait_for("Math.abs(document.querySelector('video').currentTime - 60) < 5")
        expect(lines.nth(1)).to_have_attribute("aria-current", "true")
        self.assertEqual(self.page.evaluate("[navigator.mediaSession.metadata.title, navigator.mediaSession.metadata.artist, navigator.mediaSession.playbackState]"),
                         [LONG, "The Quay", "playing"])

    def test_continue(self):
        """The shelf begins with what one goes on with; the bar on a card is what was watched, and at the end the card says so"""
        self.play(LONG)
        self.page.evaluate("document.querySelector('video').currentTime = 150")
        self.wait_for("document.querySelector('video').currentTime > 150.2")
        self.page.keyboard.press("k")
        self.go("")
        row = self.page.get_by_role("list", name="Continue")
        expect(row.locator("li")).to_have_count(1)
        expect(row).to_contain_text("left at 2:30")
        share = row.locator(".watched > span").evaluate("one => parseFloat(one.style.inlineSize)")
        self.assertAlmostEqual(share, 50, delta=1)
        self.go(f"play/{self.id_of(LONG)}")
        self.page.keyboard.press(" ")
        self.end()
        self.wait_for("document.querySelector('video').ended")
        self.go("")
        expect(self.page.locator(".card", has_text=LONG)).to_contain_text("watched")
        expect(row).to_have_count(0)

    def test_guest(self):
        """The places of a guest, who is neither the owner nor a viewer, stay in their browser, and the vault hears nothing of them"""
        asked = []
        self.page.on("request", lambda request: re.search("/api/v1/.*position", request.url) and asked.append(request.url))
        self.page.route(re.compile("/api/v1/session$"), lambda route: route.fulfill(json={**route.fetch().json(), "scope": "play", "viewer": None}))
        self.page.reload()
        expect(self.page.locator("footer")).to_contain_text("Signed in as a guest")
        asked.clear()
        self.play(ALBUM[3])
        self.wait_for("document.querySelector('video').ended")  # so that the key begins the next one, and does not stop it
        self.play(LONG)
        self.page.evaluate("document.querySelector('video').currentTime = 70")
        self.wait_for("document.querySelector('video').currentTime > 70.2")
        self.page.keyboard.press("k")
        self.page.reload()
        self.go("")
        expect(self.page.locator(".card", has_text=LONG)).to_contain_text("left at 1:10")
        self.assertEqual(asked, [])
