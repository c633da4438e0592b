"""Two viewers in two browsers: each sees, plays and remembers what is shared with them, and nothing of the other or of an origin."""

import os

from harness import client
from harness.own_pages import FILM, OTHER, PATIENCE, SONG, PagesCase, expect

PINS = {"Anna": "2468", "Berta": "1357-9"}


class Viewers(PagesCase):
    @classmethod
    def fill(cls):
        for name in (FILM, SONG, OTHER):
            cls.hold(name)
        for name, pin in PINS.items():
            path = os.path.join(cls.scratch, f"{name}.pin")
            with open(path, "w", encoding="ascii") as file:
                file.write(pin)
            os.chmod(path, 0o600)
            cls.vault.result("viewers", "add", name, "--pin-file", path)
        cls.vault.result("share", cls.origin.url(FILM), "--with", "Anna")
        cls.vault.result("share", cls.origin.url(SONG), "--with", "Berta")

    def enter(self, name, pin=None):
        """Signs a viewer in, in a browser of their own; returns its page, and what it was sent."""
        context = self.browser.new_context(locale="en")
        self.addCleanup(context.close)
        page, sent = context.new_page(), []
        page.set_default_timeout(PATIENCE)
        page.on("response", lambda answer: sent.append(answer))
        page.goto(self.address)
        page.get_by_label("Name").fill(name)
        page.get_by_label("PIN").fill(pin or PINS[name])
        page.get_by_role("button", name="Sign in").click()
        return page, sent

    def move(self, page, path):
        expect(page.locator("main h1")).to_be_visible()
        page.evaluate("path => { document.querySelector('main h1').textContent = '…'; location.hash = path; }", f"#/{path}")
        expect(page.locator("main h1")).not_to_have_text("…")

    def play(self, page, id, second):
        self.move(page, f"play/{id}")
        page.wait_for_timeout(300)
        page.keyboard.press(" ")
        page.wait_for_timeout(1500)
        page.evaluate("second => { document.querySelector('video').currentTime = second; }", second)
        page.wait_for_timeout(1000)
        self.assertGreater(page.evaluate("document.querySelector('video').currentTime"), second)
        page.keyboard.press(" ")
        page.wait_for_timeout(500)

    def test_apart(self):
        """Each sees only what is shared with them, plays it, and goes on at their own place, also after a restart"""
        self.expected = ("404", "ERR_", "Failed to load")
        film, song = self.id_of(FILM), self.id_of(SONG)
        anna, to_anna = self.enter("anna", PINS["Anna"])
        expect(anna.locator(".card")).to_have_count(1)
        expect(anna.locator(".card")).to_contain_text(FILM)
        expect(anna.locator("nav a")).to_have_count(1)
        berta, to_berta = self.enter("Berta")
        expect(berta.locator(".card")).to_have_count(1)
        expect(berta.locator(".card")).to_contain_text(SONG)
        self.move(berta, f"play/{film}")
        expect(berta.locator("main")).to_contain_text("The vault does not have this title")
        self.move(anna, f"titles/{film}")
        expect(anna.locator("h1")).to_have_text("Shelf")
        self.play(anna, film, 11)
        self.move(anna, "")
        expect(anna.locator(".card")).to_contain_text("left at 0:1")
        self.assertEqual(berta.evaluate("""fetch('/api/v1/positions', {headers: {'X-Session-Proof': localStorage.getItem('mv.proof')}})
            .then(answer => answer.json()).then(told => told.positions.length)"""), 0)
        self.assertEqual(anna.evaluate("Object.keys(localStorage).filter(name => name !== 'mv.proof').join()"), "")
        self.vault.stop()
        self.vault.serve(*self.options)
        anna.reload()
        expect(anna.locator(".card")).to_contain_text("left at 0:1")
        for sent in (to_anna, to_berta):
            self.assertTrue(any("/media/v/" in answer.url for answer in to_anna))
            for answer in sent:
                self.assertNotIn(str(self.origin.port), answer.url.removeprefix(self.address), answer.url)
        self.assertNotIn(song, anna.content())

    def test_live(self):
        """What is shared appears at once, and goes when it is taken back"""
        anna, _ = self.enter("Anna")
        expect(anna.locator(".card")).to_have_count(1)
        self.go(f"titles/{self.id_of(OTHER)}")
        self.act("Share")
        self.page.get_by_label("Anna").check()
        self.confirm("Save")
        expect(anna.locator(".card")).to_have_count(2)
        self.vault.result("unshare", self.origin.url(OTHER), "--with", "Anna")
        expect(anna.locator(".card")).to_have_count(1)

    def test_same_tab(self):
        """Who signs in after the owner, in the same tab or in another one, sees nothing of what the owner saw"""
        self.expected = ("401",)
        self.page.get_by_label("Search titles").fill("tone")
        expect(self.page.locator(".card")).to_have_count(1)
        self.go(f"play/{self.id_of(SONG)}")
        self.page.get_by_role("button", name="Sign out").click()
        self.page.get_by_label("Name").fill("Anna")
        self.page.get_by_label("PIN").fill(PINS["Anna"])
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.locator(".card")).to_have_count(1)
        expect(self.page.locator(".card")).to_contain_text(FILM)
        self.assertNotIn(SONG, self.page.content())
        positions = """fetch('/api/v1/positions', {headers: {'X-Session-Proof': localStorage.getItem('mv.proof')}})
            .then(answer => answer.json()).then(told => told.positions.map(one => one.id))"""
        self.assertNotIn(self.id_of(SONG), self.page.evaluate(positions))
        other = self.context.new_page()
        other.goto(self.link())
        expect(other.locator(".card", has_text=SONG)).to_have_count(1)
        expect(self.page.locator("footer")).to_contain_text("Signed in as the owner")
        expect(self.page.locator(".card", has_text=SONG)).to_have_count(1)

    def test_dash(self):
        """A link to a DASH title leads a viewer to its parts, and to no other file of its folder"""
        origin = self.new_scripted_origin()
        manifest = """<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT4S" minBufferTime="PT1S"
            profiles="urn:mpeg:dash:profile:isoff-live:2011"><Period><AdaptationSet mimeType="video/mp4"><Representation id="a"
            bandwidth="1000"><SegmentTemplate media="part-$Number$.m4s" initialization="start.mp4" duration="4" timescale="1"/>
            </Representation></AdaptationSet></Period></MPD>"""
        origin.add("show/film.mpd", type="application/dash+xml", content=manifest.encode())
        for name in ("start.mp4", "part-1.m4s", "secret.mp4", "never.mp4"):
            origin.add(f"show/{name}", size=50_000, seed=len(name), type="video/mp4")
        self.vault.result("fetch", origin.url("show/film.mpd"))
        self.vault.result("fetch", origin.url("show/secret.mp4"))
        self.vault.result("share", origin.url("show/film.mpd"), "--with", "Anna")
        self.addCleanup(self.vault.result, "unshare", origin.url("show/film.mpd"), "--with", "Anna")
        anna, _ = self.enter("Anna")
        expect(anna.locator(".card")).to_have_count(2)
        id = self.vault.info(origin.url("show/film.mpd"))["id"]
        path = anna.evaluate("""id => fetch('/api/v1/links', {method: 'POST', body: JSON.stringify({id}), headers:
            {'Content-Type': 'application/json', 'X-Session-Proof': localStorage.getItem('mv.proof')}})
            .then(answer => answer.json()).then(link => link.path)""", id)
        self.assertEqual(client.get(self.address + path).status, 200)
        folder = self.address + path.rpartition("/")[0]
        self.assertEqual(client.get(f"{folder}/part-1.m4s").status, 200, "premise")
        asked = len(origin.gets("show/secret.mp4"))
        for name in ("secret.mp4", "secret.mp4?x=1", "never.mp4", "part-1.m4s?x=1"):
            self.assertEqual(client.get(f"{folder}/{name}").status, 404, name)
        self.assertEqual((len(origin.gets("show/secret.mp4")), origin.gets("show/never.mp4")), (asked, []), "the origin is not asked")

    def test_hostile_manifest(self):
        """A hostile manifest tells a viewer neither its origin's host, port or folder, nor any other place, and plays"""
        origin = self.new_scripted_origin()
        folder = "Private-Folder/of-the-owner"
        trace, other = origin.url(f"{folder}/film"), f"//elsewhere.example:7777/{folder}/"
        for name in ("start.mp4", "part-1.m4s"):
            origin.add(f"{folder}/{name}", size=50_000, seed=len(name), type="video/mp4")
        for kind, type, write in (("m3u8", "application/vnd.apple.mpegurl", self.hostile_playlist), ("mpd", "application/dash+xml", self.hostile_mpd)):
            url = origin.add(f"{folder}/film.{kind}", type=type, content=write(trace).replace("OTHER", other).encode())
            self.vault.result("fetch", url)
            self.vault.result("share", url, "--with", "Anna")
            self.addCleanup(self.vault.result, "unshare", url, "--with", "Anna")
            anna, _ = self.enter("Anna")
            expect(anna.locator("h1")).to_have_text("Shelf")
            path = anna.evaluate("""id => fetch('/api/v1/links', {method: 'POST', body: JSON.stringify({id}), headers:
                {'Content-Type': 'application/json', 'X-Session-Proof': localStorage.getItem('mv.proof')}})
                .then(answer => answer.json()).then(link => link.path)""", self.vault.info(url)["id"])
            answer = client.get(self.address + path)
            self.assertEqual(answer.status, 200)
            told = answer.body.decode().lower().replace(self.address.lower(), "")
            for secret in (origin.url("").split("/")[2].partition(":")[0], str(origin.port), "private-folder", "of-the-owner", "elsewhere", "7777", "remark"):
                self.assertNotIn(secret, told, kind)
            if kind == "m3u8":
                self.assertIn("/media/v/", told)
                segment = next(line for line in answer.body.decode().splitlines() if line and not line.startswith("#"))
            else:
                segment = path.rpartition("/")[0] + "/part-1.m4s"
            self.assertEqual(client.get(self.address + segment).status, 200, "premise: it plays")

    @staticmethod
    def hostile_playlist(trace):
        return f"""#EXTM3U x-guide="{trace}"
# remark {trace} OTHER
#EXT-X-VERSION:6
#EXT-X-DEFINE:NAME="remark",VALUE="OTHER"
#EXT-X-TARGETDURATION:4
#EXT-X-PLAYLIST-TYPE:VOD
#EXT-X-REMARK:{trace}
#EXT-X-SESSION-DATA:DATA-ID="remark",VALUE="{trace}"
#EXT-X-DATERANGE:ID="a",START-DATE="2026-01-01T00:00:00Z",X-REMARK="{trace}",CLASS="OTHER"
#EXT-X-MAP:URI="start.mp4",REMARK="{trace}"
#REMARK:OTHER
#EXTINF:4,remark {trace}
part-1.m4s
#EXT-X-ENDLIST
# {trace}
"""

    @staticmethod
    def hostile_mpd(trace):
        return f"""<?xml version="1.0"?><?remark {trace}?><!-- remark {trace} -->
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:remark="{trace}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="a OTHER" type="static" mediaPresentationDuration="PT4S" minBufferTime="PT1S" remark:from="{trace}" remark="OTHER"
 profiles="urn:mpeg:dash:profile:isoff-live:2011,{trace}"><ProgramInformation moreInformationURL="{trace}"><Source>{trace}</Source></ProgramInformation>
<remark:block><BaseURL>{trace}</BaseURL></remark:block><Metrics metrics="remark"/><Period><AssetIdentifier schemeIdUri="urn:a" value="{trace}"/>
<EventStream schemeIdUri="urn:a" value="OTHER"><Event messageData="{trace}">remark {trace}</Event></EventStream>
<AdaptationSet mimeType="video/mp4"><Label>{trace}</Label><SupplementalProperty schemeIdUri="{trace}"/>
<ContentProtection schemeIdUri="urn:uuid:a"><remark:licence>OTHER</remark:licence></ContentProtection>
<Representation id="a" bandwidth="1000" codecs="OTHER"><SegmentTemplate media="part-$Number$.m4s" initialization="start.mp4" duration="4" timescale="1"/>
</Representation></AdaptationSet></Period></MPD><!-- {trace} -->"""

    def test_wrong_pin(self):
        """A wrong PIN is said to be wrong, as is a name that no viewer has"""
        self.expected = ("401",)
        for name, pin in (("Anna", "0000"), ("Clara", "0000")):
            page, _ = self.enter(name, pin)
            expect(page.locator("main")).to_contain_text("Name or PIN is wrong.")
            expect(page.get_by_label("PIN")).to_be_focused()

    def test_owner(self):
        """The owner adds a viewer, signs them in with a code, and removes them, which signs them out"""
        self.go("access")
        self.page.locator("summary", has_text="Add a viewer").click()
        form = self.page.locator("details", has_text="Add a viewer").last
        form.get_by_label("Name").fill("<b>Dora</b>")
        form.get_by_label("Share everything").check()
        form.locator("button").click()
        line = self.page.locator("tr", has_text="<b>Dora</b>").last
        expect(line).to_contain_text("all")
        line.get_by_role("button", name="Sign in").click()
        link = self.page.locator("dialog code").inner_text()
        self.page.keyboard.press("Escape")
        context = self.browser.new_context(locale="en")
        self.addCleanup(context.close)
        dora = context.new_page()
        dora.goto(link)
        expect(dora.locator(".card")).to_have_count(len(self.titles()))
        expect(dora.locator("footer")).to_contain_text("Signed in as <b>Dora</b>")
        self.page.locator("tr", has_text="Dora").last.get_by_role("button", name="Remove").click()
        self.confirm("Remove", "signed out")
        expect(dora.get_by_label("PIN")).to_be_visible(timeout=40_000)
