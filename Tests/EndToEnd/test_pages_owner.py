"""The pages with which the owner runs the box: titles, downloads, health, access, settings, keys."""

import hashlib
import json
import os
import re
import subprocess
import time

from harness import client
from harness.media import TITLE
from harness.own_pages import FILM, OTHER, SHOTS, PagesCase, expect

class Owner(PagesCase):
    @classmethod
    def fill(cls):
        cls.hold(FILM)

    def title(self, query):
        url = self.origin.url(f"{OTHER}?{query}")
        self.vault.result("fetch", url)
        self.vault.result("rename", url, f"Film {query}")
        return url, self.vault.info(url)["id"]

    def test_table(self):
        """The table sorts, filters, searches, pins, and removes after it has asked in words of what is lost"""
        url, _ = self.title("table")
        self.go("titles")
        line = self.page.locator("tbody tr", has_text="Film table")
        expect(line).to_contain_text("held whole")
        line.get_by_role("button", name="Pin").click()
        self.assert_eventually(lambda: self.vault.info(url)["class"], "pinned")
        expect(line).to_contain_text("pinned")
        self.page.get_by_role("button", name="Size").click()
        expect(self.page.locator("th[aria-sort]")).to_have_text("Size")
        self.page.get_by_label("Search titles").fill("film TABLE")
        expect(self.page.locator("tbody tr")).to_have_count(1)
        line.get_by_role("button", name="Remove").click()
        self.page.locator("dialog").get_by_role("button", name="Cancel").click()
        self.assertTrue(self.vault.info(url)["held"])
        line.get_by_role("button", name="Remove").click()
        self.confirm("Remove", "Remove “Film table”?", "will be gone", "It is pinned")
        expect(line).to_have_count(0)
        self.assertNotIn(url, [item["url"] for item in self.titles()])

    def test_several(self):
        """Several titles are named at once and moved into a collection, which is then pinned with what comes later"""
        queries = ("several1", "several2")
        urls = [self.title(query)[0] for query in queries]
        self.go("titles")

        def choose(*names):
            self.page.get_by_label("Search titles").fill("several")
            expect(self.page.locator("tbody tr")).to_have_count(2)
            for name in names:
                self.page.get_by_label(f"Choose “{name}”").check()

        choose("Film several1", "Film several2")
        self.page.get_by_role("group", name="Actions").get_by_role("button", name="Rename").click()
        for number in ("1", "2"):
            self.page.locator("dialog").get_by_label(f"Film several{number}").fill(f"Part {number} of several")
        self.confirm("Save")
        self.assert_eventually(
            lambda: [self.vault.info(url)["name"] for url in urls], ["Part 1 of several", "Part 2 of several"])
        choose("Part 1 of several", "Part 2 of several")
        self.page.get_by_role("group", name="Actions").get_by_role("button", name="Move into a collection").click()
        self.page.get_by_label("New name").fill("Several")
        self.confirm("Save")
        self.assert_eventually(lambda: [self.vault.info(url)["collection"] for url in urls], ["Several"] * 2)
        group = json.loads(self.vault.result("collection", "list", "--json"))["collections"]
        self.go(f"collections/{next(one['id'] for one in group if one['name'] == 'Several')}")
        self.act("Pin all, also what comes later")
        self.assert_eventually(lambda: [self.vault.info(url)["class"] for url in urls], ["pinned"] * 2)
        expect(self.page.locator("main")).to_contain_text("pinned")
        url = self.title("several3")[0]
        self.vault.result("collection", "move", url, "--to", "Several")
        self.assert_eventually(lambda: self.vault.info(url)["class"], "pinned")

    def test_title(self):
        """One title shows its bytes and where the last ones came from, and is renamed, pinned and given a mode"""
        url = self.origin.url(f"{FILM}?one")
        size = self.media.size(FILM)
        address = self.vault.address(url)
        client.get(address, "bytes=0-99999")
        self.assert_eventually(lambda: self.vault.info(url)["held"][:1] != [], True)
        client.get(address, f"bytes=0-{size // 2}")
        self.go(f"titles/{self.vault.info(url)['id']}")
        expect(self.page.locator("figure").first).to_contain_text("from the vault")
        expect(self.page.locator("figure").first).to_contain_text("from the origin, stored")
        self.assertGreaterEqual(self.page.locator("figure rect.vault").count(), 1)
        self.assertGreaterEqual(self.page.locator("figure rect.origin").count(), 1)
        self.act("Rename")
        self.page.get_by_label("New name").fill("<b>One</b>")
        self.confirm("Save")
        expect(self.page.locator("h1")).to_have_text("<b>One</b>")
        self.act("Pin")
        expect(self.page.locator(".title")).to_contain_text("pinned")
        self.page.get_by_label("Mode").select_option("offline")
        self.assert_eventually(lambda: self.vault.info(url)["mode"], "offline")
        self.page.get_by_label("Mode").select_option("")
        self.assert_eventually(lambda: self.vault.info(url)["mode"], None)
        self.act("Fetch the rest")
        expect(self.page.locator("main")).to_contain_text("held whole")

    def test_copy(self):
        """A whole title is saved as the file that its origin has, after it has asked; what cannot be is said in words"""
        url = self.origin.url(f"{FILM}?copy")
        self.vault.result("cat", url, "--range", "0-99999")
        self.vault.result("rename", url, "../A film: „1/2“")
        self.go(f"titles/{self.vault.info(url)['id']}")
        self.page.locator("main").get_by_role("button", name="More", exact=True).click()
        expect(self.page.get_by_role("button", name="Save a copy…")).to_be_disabled()
        self.page.keyboard.press("Escape")
        expect(self.page.get_by_text("A copy can be saved once all of the title is held.")).to_be_visible()
        self.vault.result("fetch", url)
        expect(self.page.get_by_text("A copy can be saved once")).to_be_hidden()
        self.act("Save a copy…")
        with self.page.expect_download() as download:
            self.confirm("Save", "Save a copy of “../A film: „1/2“”?", "The copy is not encrypted")
        self.assertEqual(download.value.suggested_filename, "_A film_ „1_2“.mp4")
        with open(download.value.path(), "rb") as file:
            self.assertEqual(hashlib.file_digest(file, "sha256").hexdigest(), self.media.sha256(FILM))
        origin = self.new_scripted_origin()
        origin.add("show/a.ts", size=50_000, type="video/mp2t")
        series = origin.add("show/series.m3u8", type="application/vnd.apple.mpegurl",
                            content=b"#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n")
        self.vault.result("fetch", series)
        self.go(f"titles/{self.vault.info(series)['id']}")
        self.act("Save a copy…")
        expect(self.page.locator("dialog")).to_contain_text("“mediavault export” copies them into a folder")
        self.assertEqual(self.page.locator("dialog button").all_inner_texts(), ["Close"])

    def test_shred(self):
        """Shredding says that no one can undo it, and leaves a receipt"""
        url, found = self.title("shred")
        self.go(f"titles/{found}")
        self.page.get_by_role("button", name="Shred").click()
        self.confirm("Shred", "No one can undo this")
        expect(self.page.locator("h1")).to_have_text("Titles")
        self.assertNotIn(url, [item["url"] for item in self.titles()])
        self.go("keys")
        expect(self.page.locator("tbody").last).to_contain_text("Shredding")
        self.page.get_by_label("Language", exact=True).select_option("de")
        expect(self.page.locator("tbody").last).to_contain_text("Vernichten")

    def test_downloads(self):
        """The queue is live; a download is added, paused, resumed, moved, retried and cancelled"""
        origin = self.new_scripted_origin()
        for place in range(3):
            origin.add(f"film-{place}.mp4", size=4 << 20, seed=place, hold_at=1 << 20)
        origin.add("refused.mp4", status=403)
        self.go("downloads")
        self.page.get_by_label("Addresses").fill("\n".join(origin.url(f"film-{place}.mp4") for place in range(3)))
        self.page.get_by_role("button", name="Download", exact=True).click()
        first = self.page.locator("main li", has_text="film-0.mp4")
        expect(first).to_contain_text("running")
        expect(first).to_contain_text("of 4.1 MB")
        waits = self.page.locator("main li", has_text="film-2.mp4")
        expect(waits).to_contain_text("waiting")  # two of a host run at a time
        first.get_by_role("button", name="Pause").click()
        expect(first).to_contain_text("paused")
        first.get_by_role("button", name="Last").click()
        expect(self.page.locator("main li .name").nth(2)).to_have_text("film-0.mp4")
        first.get_by_role("button", name="First").click()
        expect(self.page.locator("main li .name").nth(0)).to_have_text("film-0.mp4")
        first.get_by_role("button", name="Resume").click()
        expect(first).not_to_contain_text("paused")
        for place in range(3):
            origin.film(f"film-{place}.mp4").release.set()
        expect(first).to_contain_text("done")
        expect(waits).to_contain_text("done")
        self.page.locator("summary", has_text="done").click()
        self.assertEqual(waits.get_by_role("progressbar").get_attribute("aria-valuenow"), "100")
        self.page.get_by_label("Addresses").fill(origin.url("refused.mp4"))
        self.page.get_by_label("Name, if it is one title").fill("A refused film")
        self.page.get_by_role("button", name="Download", exact=True).click()
        refused = self.page.locator("main li", has_text="A refused film")
        expect(refused).to_contain_text("failed")
        expect(refused.locator(".bad-text")).to_contain_text("403")
        refused.get_by_role("button", name="Retry").click()
        expect(refused).to_contain_text("failed")
        # What a command waited for is not in the queue, and is tried again there.
        origin.add("later.mp4", status=403)
        self.assertNotEqual(self.vault.run("fetch", origin.url("later.mp4")).returncode, 0)
        later = self.page.locator("main li", has_text="later.mp4")
        expect(later).to_contain_text("a client waited for it")
        later.get_by_role("button", name="Retry").click()
        expect(later.get_by_role("button", name="Cancel")).to_be_visible()
        later.get_by_role("button", name="Cancel").click()
        self.page.get_by_label("Addresses").fill(origin.url("refused.mp4") + "\nnonsense")
        self.page.get_by_role("button", name="Download", exact=True).click()
        expect(self.page.locator(".note.bad").last).to_contain_text("“nonsense” is no URL")
        self.page.get_by_label("Addresses").fill("")
        self.page.get_by_role("button", name="Clear the failed and the done").click()
        expect(refused).to_have_count(0)
        expect(waits).to_have_count(0)

    def test_refusals(self):
        """What is no media becomes no film; the page says why in its own language, and what to do with a feed"""
        origin = self.new_scripted_origin()
        origin.add("news.xml", type="application/rss+xml", content=b"<?xml version='1.0'?><rss version='2.0'></rss>")
        self.go("downloads")
        self.page.get_by_label("Addresses").fill(origin.url("news.xml"))
        self.page.get_by_role("button", name="Download", exact=True).click()
        refused = self.page.locator("main li", has_text="news.xml")
        expect(refused.locator(".bad-text")).to_contain_text("is a feed, not media: follow it as a feed")
        self.page.get_by_label("Language", exact=True).select_option("de")
        expect(refused.locator(".bad-text")).to_have_text("Es ist ein Feed: folgen Sie ihm als Feed.")
        self.assertNotIn(origin.url("news.xml"), [item["url"] for item in self.titles()])
        self.page.get_by_label("Sprache", exact=True).select_option("en")
        self.vault.result("downloads", "clear")
        expect(refused).to_have_count(0)

    def test_fetched_again(self):
        """A title that was fetched and removed is shown again as it is downloaded, and not as it ended before"""
        origin = self.new_scripted_origin()
        origin.add("again.mp4", size=4 << 20, seed=9)
        self.vault.result("downloads", "cancel", "--all", "--yes")
        self.vault.result("fetch", origin.url("again.mp4"))
        self.vault.result("fetch", origin.url("again.mp4"))
        self.go("downloads")
        line = self.page.locator("main li", has_text="again.mp4")
        expect(line).to_contain_text("done")
        expect(self.page.get_by_role("button", name="Pause all")).to_be_hidden()
        self.vault.result("remove", origin.url("again.mp4"))
        expect(line).to_have_count(0)
        origin.add("again.mp4", size=4 << 20, seed=9, hold_at=1 << 20)
        self.page.get_by_label("Addresses").fill(origin.url("again.mp4"))
        self.page.get_by_role("button", name="Download", exact=True).click()
        expect(line).to_contain_text("running")
        expect(self.page.get_by_role("button", name="Pause all")).to_be_visible()
        # A client fetches it as well: the queue's own entry stays.
        command = [self.vault.binary, "fetch", "--quiet", origin.url("again.mp4")]
        with subprocess.Popen(command, env=self.vault.environment, stderr=subprocess.DEVNULL) as fetch:
            self.page.reload()
            expect(line).to_contain_text("running")
            for _ in range(20):
                self.page.wait_for_timeout(100)
                self.assertEqual(line.get_by_role("button", name="Pause").count(), 1)
            fetch.terminate()
        line.get_by_role("button", name="Cancel").click()
        expect(line.get_by_role("button", name="Pause")).to_have_count(0)

    def test_busy_queue(self):
        """A page that shows a busy queue of 100 downloads costs the service next to nothing"""
        def processor():
            with open(f"/proc/{self.vault.service.process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        def used(seconds):
            before = processor()
            time.sleep(seconds)
            return (processor() - before) / seconds

        self.vault.result("config", "set", "download-rate", "200k")
        self.addCleanup(self.vault.result, "downloads", "cancel", "--all", "--yes")
        self.addCleanup(self.vault.result, "config", "unset", "download-rate")
        urls = "\n".join(self.origin.url(f"large.mp4?{place}") for place in range(100))
        self.vault.result("fetch", "--detach", "--list", "-", input=urls.encode())
        self.go("")
        self.page.goto("about:blank")
        alone = used(8)
        self.page.goto(f"{self.address}/#/downloads")
        expect(self.page.locator("ul[aria-label=Queue] > li").nth(99)).to_be_attached()
        expect(self.page.locator("main li", has_text="running").first).to_be_visible()
        self.page.wait_for_timeout(2000)
        watched = used(12)
        self.figure("share of a core with a queue of 100 and no page", alone * 100, "for comparison", " %")
        self.figure("share of a core with its page", watched * 100, "at most 3 beside that", " %")
        self.assertLess(watched - alone, 0.2, "far more than a page should cost")

    def test_feeds(self):
        """A feed is followed, run and forgotten"""
        feed = self.new_scripted_origin()
        feed.add("feed.xml", type="application/rss+xml", content=(
            "<rss version='2.0'><channel><title>A feed &lt;b&gt;</title><item><title>Part</title>"
            f"<enclosure url='{self.origin.url(OTHER + '?feed')}' type='video/webm' length='1'/></item></channel></rss>").encode())
        self.go("downloads")
        self.page.locator("summary", has_text="Follow a feed").click()
        self.page.get_by_label("Address of the feed").fill(feed.url("feed.xml"))
        self.page.locator("details button").click()
        line = self.page.locator("main li", has_text="feed")
        line.get_by_role("button", name="Run now").click()
        expect(self.page.locator("main li", has_text="A feed <b>")).to_contain_text("1 title")
        self.page.locator("main li", has_text="A feed").get_by_role("button", name="Remove").click()
        self.confirm("Remove", "No new titles come from it")
        expect(self.page.get_by_text("The vault follows no feed.")).to_be_visible()

    def test_health(self):
        """Health tells what is missing, checks every block with progress, and lists events as they come"""
        self.vault.result("pin", self.origin.url(FILM))
        self.go("health")
        expect(self.page.locator("main")).to_contain_text("Not ready")
        self.page.get_by_role("button", name="Check now").click()
        expect(self.page.locator("main")).to_contain_text("Sound:")
        expect(self.page.locator("main")).to_contain_text("Ready: 1 title")
        self.vault.result("unpin", self.origin.url(FILM))
        expect(self.page.locator("main")).not_to_contain_text("Ready: 1 title")
        expect(self.page.get_by_role("log", name="Events")).to_contain_text("moov-first.mp4")

    def test_report(self):
        """Health has the version and the last lines of the log; the text for a report has neither names nor addresses"""
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.vault.result("viewers", "add", "Secretia")
        self.go("health")
        expect(self.page.get_by_role("log", name="Log")).to_contain_text("the vault was unlocked")
        self.page.get_by_role("button", name="Copy for a report").click()
        expect(self.page.locator(".note").last).to_contain_text("Copied")
        text = self.page.evaluate("navigator.clipboard.readText()")
        self.assertRegex(text, r"^MediaVault \d+\.")
        self.assertIn("the vault was unlocked", text)
        for secret in ("Secretia", "127.0.0.1", FILM, self.vault.folder):
            self.assertNotIn(secret, text)
        self.vault.result("viewers", "remove", "Secretia")

    def test_storage(self):
        """Storage shows what takes the disk, and the limits"""
        self.go("storage")
        expect(self.page.locator("main li", has_text=FILM)).to_contain_text("held whole")
        expect(self.page.locator("main")).to_contain_text("downloaded:")
        expect(self.page.locator("main")).to_contain_text("Free on the disk")
        played = f"{OTHER}?played"
        client.get(self.vault.address(self.origin.url(played)))
        self.assert_eventually(lambda: self.vault.info(self.origin.url(played))["bytes"], self.media.size(OTHER))
        self.go("")
        self.go("storage")
        expect(self.page.locator("main li", has_text="last used")).to_contain_text(OTHER)
        expect(self.page.locator("main")).to_contain_text("no limit")

    def test_access(self):
        """Tokens and named links are created, shown once, and revoked after a question"""
        self.go("access")
        self.page.locator("summary", has_text="Create a token").click()
        form = self.page.locator("details", has=self.page.locator("summary", has_text="Create a token"))
        form.get_by_label("Name", exact=True).fill("The television")
        form.locator("button").click()
        secret = self.page.locator("dialog code").inner_text()
        self.assertRegex(secret, r"^mvt_[A-Za-z0-9_-]{64}$")
        self.page.keyboard.press("Escape")
        line = self.page.locator("tr", has_text="The television")
        expect(line).to_contain_text("see and play")
        line.get_by_role("button", name="Revoke").click()
        self.confirm("Revoke", "refused at once")
        expect(line).to_have_count(0)
        self.go(f"titles/{self.id_of(FILM)}")
        self.act("Make a link")
        self.page.get_by_label("Name").fill("Bookmark")
        self.page.locator("dialog").get_by_role("button", name="Make a link").click()
        address = self.page.locator("dialog code").inner_text()
        self.assertEqual(client.get(address, "bytes=0-9").status, 206)
        self.page.keyboard.press("Escape")
        self.go("access")
        self.page.locator("tr", has_text="Bookmark").get_by_role("button", name="Revoke").click()
        self.confirm("Revoke", "stop at once")
        self.assert_eventually(lambda: client.get(address, "bytes=0-9").status, 404)

    def test_playing(self):
        """The owner sees who plays what: a browser, and a player with a named link; the charts count them"""
        film, other = self.id_of(FILM), f"{OTHER}?watched"
        self.vault.result("fetch", self.origin.url(other))
        address = self.vault.result("url", self.origin.url(other), "--name", "The hall").decode().strip()
        client.get(address, "bytes=0-99")
        page = self.context.new_page()
        page.goto(f"{self.address}/#/play/{film}")
        page.get_by_role("button", name="Play").first.click()
        self.assert_eventually(lambda: page.evaluate("document.querySelector('video').currentTime > 0.5"), True)
        self.go("access")
        rows = self.page.get_by_role("table", name="Playing now").locator("tbody tr")
        expect(rows.filter(has_text="Named link: The hall")).to_contain_text(TITLE)
        expect(rows.filter(has_text="Browser of the owner: ").filter(has_text=FILM)).to_have_count(1)
        self.vault.result("links", "revoke", "The hall")
        self.go("health")
        expect(self.page.locator("figure", has_text="Titles that players ask for")).to_contain_text(re.compile(r"ask for: [2-9] now"), timeout=40_000)
        expect(self.page.locator("figure", has_text="Sent to players")).to_contain_text("at most")
        page.close()

    def test_sessions(self):
        """The browsers that are signed in are listed, and another one is signed out"""
        other = self.browser.new_context()
        self.addCleanup(other.close)
        page = other.new_page()
        page.goto(self.link())
        expect(page.locator("h1")).to_have_text("Shelf")
        self.go("access")
        rows = self.page.get_by_role("table", name="Signed-in browsers").locator("tbody tr")
        mine = rows.filter(has_text="this one")
        expect(mine).to_have_count(1)
        revoke = re.compile("^Revoke")
        expect(mine.get_by_role("button", name=revoke)).to_have_count(0)
        mine.get_by_role("button", name=re.compile("^Rename")).click()
        self.page.get_by_label("New name").fill("The desk")
        self.page.locator("dialog").get_by_role("button", name="Save").click()
        expect(mine).to_contain_text("The desk")
        before = rows.count()
        rows.filter(has=self.page.get_by_role("button", name=revoke)).last.get_by_role("button", name=revoke).click()
        self.confirm("Revoke", "signed out at once")
        expect(rows).to_have_count(before - 1)
        expect(page.locator("main")).to_contain_text("mediavault open", timeout=40_000)

    def test_other_device(self):
        """A code for a camera signs another device in"""
        self.go("access")
        self.page.get_by_role("button", name="Sign another device in").click()
        link = self.page.locator("dialog code").inner_text()
        picture = os.path.join(self.scratch, "code.png")
        self.page.locator("dialog svg.code").screenshot(path=picture)
        read = subprocess.run(["zbarimg", "--quiet", "--raw", picture], capture_output=True, text=True, check=True)
        self.assertEqual(read.stdout.strip(), link)
        other = self.browser.new_context()
        self.addCleanup(other.close)
        page = other.new_page()
        page.goto(link)
        expect(page.locator("h1")).to_have_text("Shelf")

    def test_settings(self):
        """Settings are changed together; only what was changed is sent"""
        self.go("settings")
        sent = []
        self.page.on("request", lambda request: request.method == "PATCH" and sent.append(request.post_data_json))
        self.page.get_by_label("Most bytes").fill("5 GB")
        self.page.get_by_label("Days that played titles stay").fill("30")
        self.page.get_by_label("Limits may evict downloaded titles").check()
        self.page.get_by_role("button", name="Save").click()
        expect(self.page.get_by_text("The settings are saved.").last).to_be_visible()
        self.assertEqual(sent, [{"maxSize": "5 GB", "maxAge": 2592000, "evictDownloads": True}])
        known = self.vault.result("config", "get").decode()
        self.go("")
        self.go("settings")
        expect(self.page.get_by_label("Most bytes")).to_have_value("5 GB")
        self.assertIn("30d", known)
        # What is no size is not sent; only the service knows all units.
        sent.clear()
        self.page.get_by_label("Most bytes").fill("five")
        self.page.get_by_role("button", name="Save").click()
        self.wait_for("document.querySelector('form :invalid') === document.activeElement")
        self.assertEqual(sent, [])
        self.page.get_by_label("Most bytes").fill("5 GX")
        self.expected = ("400",)
        self.page.get_by_role("button", name="Save").click()
        expect(self.page.locator(".note.bad")).to_contain_text("The service refused this")
        self.page.get_by_label("Most bytes").fill("")
        self.page.get_by_label("Days that played titles stay").fill("")
        self.page.get_by_label("Limits may evict downloaded titles").uncheck()
        self.page.get_by_role("button", name="Save").click()
        expect(self.page.get_by_text("The settings are saved.").last).to_be_visible()


class Keys(PagesCase):
    @classmethod
    def fill(cls):
        cls.hold(OTHER)

    def test_keys(self):
        """Keys are rotated, rewrapped and retired with receipts; locking says what stops, and that it is locked"""
        self.go("keys")
        self.page.get_by_role("button", name="Rotate").click()
        self.confirm("Rotate", "Nothing is lost")
        expect(self.page.locator("tbody").first).to_contain_text("older")
        self.page.get_by_role("button", name="Rewrap").click()
        expect(self.page.locator("main")).to_contain_text("moved to generation 2")
        self.page.get_by_role("button", name="Reseal").click()
        self.confirm("Reseal", "Nothing is lost")
        expect(self.page.locator("main")).to_contain_text("Every title has a new key.")
        expect(self.page.locator("tr", has_text="key file")).to_have_count(1)
        self.page.get_by_role("button", name="Retire").click()
        self.confirm("Retire", "will never open again")
        expect(self.page.locator("tbody").first).to_contain_text("retired")
        expect(self.page.locator("main")).to_contain_text("all signed, none missing")
        expect(self.page.locator("tbody").last).to_contain_text("Retirement")
        self.page.screenshot(path=f"{SHOTS}/keys.png", full_page=True)
        self.expected = ("401", "503")
        self.page.get_by_role("button", name="Lock now").click()
        self.confirm("Lock now", "Everything that plays stops", "restarts the service")
        expect(self.page.locator("h1")).to_have_text("The vault is locked")
        expect(self.page.locator("form")).to_have_count(0)
        self.assertEqual(self.vault.run("list", MEDIAVAULT_KEY_FILE="/nowhere").returncode, 3)
