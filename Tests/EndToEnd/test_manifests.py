"""HLS and DASH play through the vault as they do directly, again without the origin, and nothing is requested around
the vault."""

import contextlib
import itertools
import json
import os
import re
import threading
import time
import urllib.parse

from harness import client, manifest_kinds, players, sessions
from harness.case import NIGHT, Settings, VaultCase, each
from harness.kept_sessions import digest_of, plain, straight
from harness.manifests import CHOICES, DASH, HLS, KEY, PART, SUBTITLES, Manifests
from harness.media import TITLE
from harness.pages import Browser, PageServer

SEEK = ("-ss", "7", "-t", "1")
PLAYERS = {"mpv": sessions.Mpv, "VLC": sessions.VLC, "GStreamer": sessions.GStreamer,
           "Chromium": lambda: sessions.Chromium(Settings.browser_python)}
# What players cannot do directly with nginx either.
UNABLE = {
    *(("mpv", name) for name in ("dash-list", "dash-on-demand")),  # hangs if it is told to start at 3 s
    ("VLC", "dash-periods"),  # decodes other sound each time
    ("VLC", "dash-beside"),  # plays nothing of it
    ("GStreamer", "dash-periods"),  # stops with an error between the periods
    # Plays other frames from a seek on each time.
    *(("GStreamer", name) for name in ("hls-aes", "hls-drm-keys", "hls-careless")),
    ("GStreamer", "hls-gap"),  # ends at the gap with an error
    ("GStreamer", "hls-none-key"),  # asks for the key
    *(("Chromium", name) for name in DASH),  # plays no DASH by itself
}
# What players see otherwise in an exported folder.
ELSEWHERE = {
    *(("Chromium", name) for name in HLS),  # reads no folder
    ("VLC", "hls-gap"),  # plays on behind the gap
}
# What each player plays in each run; ffmpeg plays all titles, and at night so does everyone, but for Chromium those that
# name more than their media.
BRIEFLY = [*(("mpv", name) for name in ("hls-master", "dash-template", "hls-gap")),
           *(("VLC", name) for name in ("hls-master", "dash-packager", "dash-one-file")),
           *(("GStreamer", name) for name in ("hls-ts", "hls-master", "dash-template", "dash-ranges")),
           *(("Chromium", name) for name in ("hls-ts", "hls-aes"))]
PLAYED = BRIEFLY if "players" not in NIGHT else [
    (who, name) for who in PLAYERS for name in HLS | DASH
    if (who, name) not in UNABLE and (who != "Chromium" or name not in manifest_kinds.HLS)]
CHOSEN = [(who, name) for who in PLAYERS for name in CHOICES if (who, name) != ("Chromium", "dash-choices")
          and ("players" in NIGHT or who in ("VLC", "GStreamer"))]

# Plays the DASH title of one file for each stream, with Media Source Extensions.
_PLAY_DASH = """
async ({manifest}) => {
    const description = new DOMParser().parseFromString(await (await fetch(manifest)).text(), 'application/xml');
    const video = document.createElement('video');
    document.body.replaceChildren(video);
    video.muted = true;
    const happens = (target, event) => new Promise((done, failed) => {
        target.addEventListener(event, done, {once: true});
        video.addEventListener('error', () => failed(new Error('media error ' + video.error.code)), {once: true});
    });
    const source = new MediaSource();
    video.src = URL.createObjectURL(source);
    await happens(source, 'sourceopen');
    const streams = [...description.querySelectorAll('Representation')].map(stream => {
        const type = `${stream.getAttribute('mimeType')}; codecs="${stream.getAttribute('codecs')}"`;
        return [stream, source.addSourceBuffer(type)];
    });
    for (const [stream, buffer] of streams) {
        const part = async (range) => {
            const answer = await fetch(new URL(stream.querySelector('BaseURL').textContent, manifest),
                                       {headers: {Range: `bytes=${range}`}});
            if (answer.status !== 206) throw new Error('status ' + answer.status);
            return answer.arrayBuffer();
        };
        const head = stream.querySelector('Initialization').getAttribute('range');
        for (const range of [head, `${Number(head.split('-')[1]) + 1}-`]) {
            buffer.appendBuffer(await part(range));
            await happens(buffer, 'updateend');
        }
    }
    source.endOfStream();
    const seen = [Math.round(video.duration)];
    for (const second of [9, 3]) {
        const there = happens(video, 'seeked');
        video.currentTime = second;
        await there;
        seen.push(video.currentTime, video.videoWidth);
    }
    await video.play();
    while (video.currentTime < 3.3) await happens(video, 'timeupdate');
    return seen;
}
"""
KIOSK = "kiosk.test"


class ManifestCase(VaultCase):
    """Checks with one origin for the vault, and another one to play directly."""

    @classmethod
    def prepare(cls):
        cls.titles = Manifests(cls.media)
        cls.origin, cls.straight, cls.vault = cls.new_origin(), cls.new_origin(), cls.served_vault()

    def direct(self, name):
        return f"http://127.0.0.1:{self.straight.port}/{self.titles.target(name)}"

    def address(self, name):
        return self.vault.address(self.origin.url(self.titles.target(name)))

    def without_origin(self):
        """Stops the origin until the check ends, and yields each mode in which titles play then."""
        self.addCleanup(self.origin.start)
        self.addCleanup(self.vault.result, "config", "unset", "mode")
        self.origin.stop()
        for mode in ("online", "offline"):
            self.vault.result("config", "set", "mode", mode)
            yield f"without the origin, {mode}"

    def exported(self, name):
        """Returns the manifest of a title in a folder that it was exported to, once for all players."""
        folder = os.path.join(self.scratch, name)
        if not os.path.exists(folder):
            vault, url = self.new_vault(), self.origin.url(self.titles.target(name))
            vault.result("fetch", "--video", "all", "--audio", "all", "--subtitles", "all", url)
            vault.result("export", url, folder)
        return os.path.join(folder, "manifest.mpd" if name in DASH else "index.m3u8")

    def assert_only_the_vault_asked(self):
        agents = {item.agent.partition("/")[0] for item in self.origin.requests()}
        self.assertEqual(agents, {"MediaVault"}, "something was requested around the vault")


class Frames(ManifestCase):
    @each(*HLS, *DASH)
    def test_decodes(self, name):
        """ffmpeg decodes {} through the vault to the same frames as directly, after a seek too, and again without the
        origin, online and offline; what was only played is listed as one title, which is not complete"""
        expected = [players.decoded_frames(self.direct(name), *seek) for seek in ((), SEEK)]
        self.assertGreater(players.frame_count(expected[0][1]), 300)
        address = self.address(name)
        for attempt in itertools.chain(["through the vault"], self.without_origin()):
            for seek, (code, frames) in zip(((), SEEK), expected):
                seen = players.decoded_frames(address, *seek)
                self.assertEqual(seen[0], code, attempt)
                self.assertTrue(seen[1] == frames, f"the frames differ {attempt}")
        self.assert_only_the_vault_asked()
        listed = {title["url"]: title for title in json.loads(self.vault.result("list", "--json"))}
        title = listed[self.origin.url(self.titles.target(name))]
        self.assertEqual((title["complete"], title["size"]), (False, None))
        self.assertGreater(title["bytes"], 100_000, "more than its manifests")
        self.assertLessEqual(set(listed), {self.origin.url(self.titles.target(each)) for each in (*HLS, *DASH)})


class Copies(ManifestCase):
    @each(*HLS, *DASH)
    def test_names_no_origin(self, name):
        """No playlist and no MPD in the folder that {} is exported to says where it came from"""
        folder = os.path.dirname(self.exported(name))
        texts = [file for file in os.listdir(folder) if file.endswith((".m3u8", ".mpd"))]
        self.assertTrue(texts)
        for file in texts:
            with open(os.path.join(folder, file), encoding="utf-8") as opened:
                text = opened.read()
            for trace in ("127.0.0.1", f":{self.origin.port}", ".invalid", "<!--"):
                self.assertNotIn(trace, text, file)


class PlayerCase(ManifestCase):
    """Checks with players, each of them started once."""

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.players = {}

    def player(self, who):
        if who not in self.players:
            self.players[who] = PLAYERS[who]()
            self.addClassCleanup(self.players[who].close)
        return self.players[who]

    def session(self, who, address):
        player = self.player(who)
        seen = plain((player.short_session if who == "VLC" else player.session)(address))
        if who == "Chromium":
            # It shows the frame beside the one it was told to seek to, one time or another, at any address.
            return {step: shown if step == "duration" else shown and shown[0]
                    for step, shown in seen.items() if step != "bytes"}
        if who == "GStreamer":
            # Where the sound begins after a seek differs from run to run, at any address; the picture does not.
            return {step: shown if step in ("start", "whole") else shown and shown[0] for step, shown in seen.items()}
        return seen


class Players(PlayerCase):
    @each(*map(" ".join, PLAYED))
    def test_plays(self, pair):
        """{}: start, seek, stop and resume give the same result as directly, and again without the origin, online,
        offline, and from the folder that the title is exported to"""
        who, name = pair.split()
        sample = f"{self.titles.target(name)} {digest_of(self.titles.files(name))}"
        with straight(who, sample, lambda: self.session(who, self.direct(name))) as expected:
            self.assertTrue(any(expected.values()), "the player plays nothing directly either")
            address, copy = self.address(name), self.exported(name)
            for attempt in itertools.chain(["through the vault"], self.without_origin()):
                self.assertEqual(self.session(who, address), expected, f"the player sees something else {attempt}")
            if (who, name) not in ELSEWHERE:
                seen = self.session(who, self.player(who).local(copy))
                self.assertEqual(seen, expected, "the player sees something else in the exported folder")
        self.assert_only_the_vault_asked()


class Chosen(PlayerCase):
    @each(*map(" ".join, CHOSEN))
    def test_plays(self, pair):
        """{}: of a title of which one of three qualities and one of two languages was fetched, only these are chosen
        without the origin, from start to end, after seeks and after a stop, and nothing that is missing is requested"""
        who, name = pair.split()
        sample = f"{self.titles.part(name)} {digest_of(self.titles.files(name))}"
        address = f"http://127.0.0.1:{self.straight.port}/{self.titles.part(name)}"
        with straight(who, sample, lambda: self.session(who, address)) as expected:
            self.assertTrue(any(expected.values()), "the player plays nothing directly either")
            url = self.origin.url(self.titles.target(name))
            self.vault.result("fetch", "--video", "480", "--audio", "de", url)
            address, refused = self.vault.address(url), self.refused()
            for attempt in self.without_origin():
                self.assertEqual(self.session(who, address), expected, f"the player sees something else {attempt}")
                self.assertEqual(self.refused(), refused, attempt)

    def refused(self):
        """Returns how many requests for media have failed."""
        token = self.vault.token()
        text = client.get(f"http://127.0.0.1:{self.vault.service.port}/metrics",
                          headers={"Authorization": f"Bearer {token}"}).body.decode()
        found = re.findall(r'^mediavault_http_requests_total\{code="(\d+)",method="[A-Z]+",route="media"\} (\d+)$', text,
                           re.MULTILINE)
        return sum(int(count) for status, count in found if not status.startswith("2"))


class Pages(ManifestCase):
    def test_dash(self):
        """In Chromium, a page of an allowed origin plays DASH with Media Source Extensions, directly as through the
        vault, and again without the origin; a page of another origin reads nothing"""
        pages = PageServer()
        self.addCleanup(pages.stop)
        vault = self.served_vault("--allow-origin", pages.origin(KIOSK))
        browser = Browser(Settings.browser_python, KIOSK, "evil.test")
        self.addCleanup(browser.close)
        address = vault.address(self.origin.url(self.titles.target("dash-packager")))
        page = pages.origin(KIOSK) + "/"
        _, seen = browser.visit(page, _PLAY_DASH, manifest=address)
        self.assertEqual(seen, [12, 9, 320, 3, 320])
        self.origin.stop()
        try:
            self.assertEqual(browser.visit(page, _PLAY_DASH, manifest=address)[1], seen)
        finally:
            self.origin.start()
        with self.assertRaisesRegex(AssertionError, "Failed to fetch"):
            browser.visit(pages.origin("evil.test") + "/", _PLAY_DASH, manifest=address)
        self.assert_only_the_vault_asked()


class Keeping(ManifestCase):
    def test_keys_are_sealed(self):
        """A key, an initialisation segment and subtitles are stored sealed like everything else"""
        for name in ("hls-aes", "hls-fmp4", "hls-master"):
            self.assertEqual(players.decoded_frames(self.address(name))[0], 0)
        text = f"{self.titles.FOLDER}/hls-master/text/"
        self.assertEqual(client.get(self.vault.address(self.origin.url(text + "words.vtt"))).body.decode(), SUBTITLES)
        self.assert_eventually(lambda: self.vault.info(self.origin.url(text + "words.vtt"))["bytes"], len(SUBTITLES))
        key = self.vault.info(self.origin.url(f"{self.titles.FOLDER}/hls-aes/keys/one.key"))
        self.assertEqual(key["held"], [[0, len(KEY)]])
        self.vault.stop()
        self.addCleanup(self.vault.serve)
        secrets = [KEY, b"no vault may show", b"#EXTM3U", TITLE.encode()]
        for name, part in (("hls-aes", "index0.ts"), ("hls-fmp4", "init.mp4"), ("hls-fmp4", "index0.m4s")):
            with open(os.path.join(self.titles.path(name), part), "rb") as file:
                secrets.append(file.read()[-32:])
        for parent, _, names in os.walk(self.vault.folder):
            for name in names:
                path = os.path.join(parent, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        content = file.read()
                    self.assertEqual([secret for secret in secrets if secret in content], [], name)

    def test_one_file(self):
        """The ranges that a playlist names fill the one file that they are in"""
        vault = self.served_vault()
        name = "hls-byte-ranges"
        address = vault.address(self.origin.url(self.titles.target(name)))
        self.assertEqual(players.decoded_frames(address)[0], 0)
        path = next(file for file in self.titles.files(name) if not file.endswith(".m3u8"))
        url = self.origin.url(f"{self.titles.FOLDER}/{name}/{os.path.basename(path)}")
        self.assert_eventually(lambda: vault.info(url)["held"], [[0, os.path.getsize(path)]])

    def test_answers(self):
        """A playlist has a length, a type and a strong tag of its own, and supports HEAD, ranges and conditions"""
        address = self.vault.address(self.origin.url(self.titles.target("hls-ts")))
        whole = client.get(address)
        self.assertEqual((whole.status, whole.complete), (200, True))
        self.assertEqual(whole.headers["content-type"], "application/vnd.apple.mpegurl")
        tag = whole.headers["etag"]
        self.assertTrue(tag.startswith('"'))
        head = client.get(address, method="HEAD")
        self.assertEqual((head.status, head.headers["content-length"], head.headers["etag"]),
                         (200, str(len(whole.body)), tag))
        part = client.get(address, "bytes=5-9")
        self.assertEqual((part.status, part.body), (206, whole.body[5:10]))
        self.assertEqual(part.headers["content-range"], f"bytes 5-9/{len(whole.body)}")
        self.assertEqual(client.get(address, "bytes=0-", headers={"If-Range": tag}).status, 206)
        self.assertEqual(client.get(address, "bytes=0-", headers={"If-Range": '"other"'}).status, 200)
        self.assertEqual(client.get(address, headers={"If-None-Match": tag}).status, 304)
        self.assertEqual(client.get(address, f"bytes={len(whole.body)}-").status, 416)
        parts = client.get(address, "bytes=0-6,-5")
        self.assertEqual((parts.status, parts.complete), (206, True))
        self.assertIn(whole.body[-5:], parts.body)
        self.assertNotEqual(client.get(self.vault.address(self.origin.url(self.titles.target("hls-aes")))).headers["etag"],
                            tag)
        # What the vault keeps is what the origin sent.
        with open(os.path.join(self.titles.path("hls-ts"), "index.m3u8"), "rb") as file:
            self.assertEqual(self.vault.result("cat", self.origin.url(self.titles.target("hls-ts"))), file.read())


class Live(VaultCase):
    WINDOW = 3

    @classmethod
    def prepare(cls):
        cls.titles = Manifests(cls.media)
        cls.parts = sorted(path for path in cls.titles.files("hls-ts") if path.endswith(".ts"))
        cls.straight, cls.vault = cls.new_origin(), cls.served_vault()

    def broadcast(self):
        """Returns an origin that has all segments, and a playlist with the first three of them."""
        origin = self.new_scripted_origin()
        for number, path in enumerate(self.parts):
            with open(path, "rb") as file:
                origin.add(f"live/{number}.ts", content=file.read(), type="video/mp2t")
        origin.add("live/index.m3u8", content=b"", type="application/vnd.apple.mpegurl", tags=[],
                   headers={"Cache-Control": "max-age=3600"})
        self.show(origin, 0)
        return origin

    @contextlib.contextmanager
    def sliding(self, origin):
        """Slides the window to the end of the film meanwhile."""
        last = len(self.parts) - self.WINDOW

        def slide():
            for first in range(1, last + 1):
                time.sleep(1.2)
                self.show(origin, first, ends=first == last)

        slider = threading.Thread(target=slide)
        slider.start()
        try:
            yield
        finally:
            slider.join()

    def whole(self):
        """Returns where the whole film can be played directly."""
        return f"http://127.0.0.1:{self.straight.port}/{self.titles.target('hls-ts')}"

    def show(self, origin, first, ends=False):
        """Shows the window from this segment on."""
        shown = "".join(f"#EXTINF:2.0,\n{number}.ts\n" for number in range(first, first + self.WINDOW))
        origin.film("live/index.m3u8").content = (
            f"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:{first}\n{shown}"
            + ("#EXT-X-ENDLIST\n" if ends else "")).encode()

    def listed(self):
        return [item["url"] for item in json.loads(self.vault.result("list", "--json"))]

    def test_slides(self):
        """A playlist that changes is requested each time, whatever its cache headers say, and is never stored"""
        origin = self.broadcast()
        address = self.vault.address(origin.url("live/index.m3u8"))
        for first in range(3):
            self.show(origin, first)
            self.assert_eventually(lambda first=first: f"{first}.ts" in client.get(address).body.decode().split(), True)
            self.assertNotIn(origin.url("live/index.m3u8"), self.listed())
        before = len(origin.gets("live/index.m3u8"))
        for _ in range(5):
            client.get(address, "bytes=0-")
        self.assertLessEqual(len(origin.gets("live/index.m3u8")) - before, 1, "a moment later it is not asked again")

    def test_ends(self):
        """ffmpeg plays a broadcast to its end to the same frames as the whole film; then the playlist is kept"""
        origin = self.broadcast()
        address = self.vault.address(origin.url("live/index.m3u8"))
        with self.sliding(origin):
            code, frames = players.decoded_frames(address, "-live_start_index", "0")
        self.assertEqual(code, 0)
        _, expected = players.decoded_frames(self.whole())
        self.assertTrue(frames == expected, "the frames differ")
        client.get(address)
        self.assertIn(origin.url("live/index.m3u8"), self.listed())

    @each(*(PLAYERS if "players" in NIGHT else ()))
    def test_players(self, who):
        """{} plays a broadcast to its end, and then what it saw of the last window again without the origin, online and
        offline"""
        player = PLAYERS[who]()
        self.addCleanup(player.close)
        origin = self.broadcast()
        address = self.vault.address(origin.url("live/index.m3u8"))
        window = self.WINDOW * PART
        with self.sliding(origin):
            self.assertGreater(player.seconds(address), window - 1)
        client.get(address)  # so the vault knows of the end
        origin.stop()
        self.addCleanup(self.vault.result, "config", "unset", "mode")
        for mode in ("online", "offline"):
            self.vault.result("config", "set", "mode", mode)
            self.assertGreater(player.seconds(address), window - PART - 1, mode)  # GStreamer may miss the last segment


class Hostile(VaultCase):
    """Manifests that lead to what the operator did not name."""

    SECRET = b"an answer from inside"

    @classmethod
    def prepare(cls):
        cls.vault = cls.served_vault()
        cls.origin, cls.inside = cls.new_scripted_origin(), cls.new_scripted_origin()
        cls.inside.add("secret.ts", content=cls.SECRET)
        cls.origin.add("a/own.ts", content=b"own")
        cls.origin.add("other/own.ts", content=b"own")
        port = cls.inside.port
        cls.targets = [
            f"http://127.0.0.1:{port}/secret.ts", f"http://localhost:{port}/secret.ts",
            f"http://2130706433:{port}/secret.ts", f"http://[::ffff:127.0.0.1]:{port}/secret.ts",
            f"http://film-origin.localhost:{port}/secret.ts", f"//127.0.0.1:{port}/secret.ts",
            "http://10.0.0.1/secret.ts", "http://192.168.0.1/secret.ts", "http://169.254.169.254/latest/meta-data/x.ts"]

    def links(self, text, base):
        """Returns every address that a player may take from a manifest."""
        found = re.findall(r'(?:URI|media|initialization|sourceURL)="([^"]*)"|<BaseURL>([^<]*)</BaseURL>|^([^#<\s].*)$',
                           text, re.MULTILINE)
        return [urllib.parse.urljoin(base, "".join(link)) for link in found]

    def assert_harmless(self, name, content, type):
        address = self.vault.address(self.origin.add(name, content=content.encode(), type=type))
        answer = client.get(address)
        self.assertEqual(answer.status, 200, answer.body)
        links = self.links(answer.body.decode(), address)
        self.assertGreaterEqual(len(links), len(self.targets))
        service = address.split("/media/")[0]
        seen = {}
        for link in links:
            self.assertTrue(link.startswith(service + "/"), f"{link} leads around the vault")
            got = client.get(link, timeout=20)
            self.assertNotIn(self.SECRET, got.body)
            seen.setdefault(got.status, []).append(got.body)
        self.assertEqual(self.inside.exchanges, [], "the other port was asked")
        return seen

    def test_playlist(self):
        """A playlist that names private addresses, another port of loopback and files gets nothing from there, while
        its own origin plays"""
        lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1", "#EXT-X-MEDIA-SEQUENCE:0"]
        lines += [f'#EXT-X-KEY:METHOD=AES-128,URI="{self.targets[0]}"', '#EXT-X-MAP:URI="file:///etc/passwd"',
                  '#EXT-X-KEY:METHOD=NONE']
        for target in [*self.targets, "file:///etc/passwd", "concat:/etc/passwd|/etc/hosts", "own.ts", "../other/own.ts",
                       "/a/own.ts"]:
            lines += ["#EXTINF:1,", target]
        seen = self.assert_harmless("a/hostile.m3u8", "\n".join([*lines, "#EXT-X-ENDLIST", ""]),
                                    "application/vnd.apple.mpegurl")
        self.assertEqual(seen.get(200), [b"own"] * 3)
        self.assertGreaterEqual(len(seen.get(502, [])), len(self.targets))
        self.assertEqual(set(seen), {200, 404, 502})

    def test_dash(self):
        """A DASH manifest that names private addresses, another port of loopback and files gets nothing from there,
        while its own origin plays"""
        files = "".join(
            f'<Representation id="{number}" bandwidth="1"><BaseURL>{target}</BaseURL><SegmentBase/></Representation>'
            for number, target in enumerate([*self.targets, "file:///etc/passwd", "own.ts", "../other/own.ts",
                                             "/a/own.ts"]))
        seen = self.assert_harmless(
            "a/hostile.mpd",
            '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT1S" '
            'profiles="urn:mpeg:dash:profile:isoff-on-demand:2011" mediaPresentationDuration="PT1S"><Period>'
            f'<AdaptationSet mimeType="video/mp4">{files}</AdaptationSet></Period></MPD>', "application/dash+xml")
        self.assertEqual(seen.get(200), [b"own"] * 3)
        self.assertEqual(len(seen.get(502, [])), len(self.targets))
        self.assertEqual(set(seen), {200, 404, 502})

    def test_allowed_host(self):
        """If the setting allow-host names a private host, manifests may lead there"""
        vault = self.served_vault()
        inside = self.new_scripted_origin()
        inside.add("part.ts", content=b"allowed")
        text = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{inside.url('part.ts')}\n#EXT-X-ENDLIST\n"
        address = vault.address(self.origin.add("a/allowed.m3u8", content=text.encode(),
                                                type="application/vnd.apple.mpegurl"))
        link = self.links(client.get(address).body.decode(), address)[0]
        self.assertEqual(client.get(link).status, 502)
        vault.result("config", "set", "allow-host", "film-origin.localhost")
        self.assertEqual(client.get(link).body, b"allowed")

    @each("a page", "a line without end", "a document type")
    def test_refused(self, what):
        """A manifest that cannot be used is refused with a problem document, and not passed on: {}"""
        name, content = {
            "a page": ("page.m3u8", b"<html><body>Sign in</body></html>"),
            "a line without end": ("line.m3u8", b"#EXTM3U\n#" + b"x" * (1 << 20)),
            "a document type": ("bomb.mpd", b'<?xml version="1.0"?><!DOCTYPE MPD [<!ENTITY a "b">]><MPD>&a;</MPD>'),
        }[what]
        answer = client.get(self.vault.address(self.origin.add(f"refused/{name}", content=content, type="text/plain")))
        self.assertEqual((answer.status, answer.headers["content-type"]), (502, "application/problem+json"))
        problem = json.loads(answer.body)
        self.assertEqual(problem["code"], "invalidResponse")
        self.assertIn("cannot be used", problem["detail"])

    def test_by_content(self):
        """A playlist that neither its type nor its path gives away is rewritten all the same"""
        text = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://10.0.0.1/a.ts\n#EXT-X-ENDLIST\n"
        address = self.vault.address(self.origin.add("a/stream", content=text, type="video/mp4"))
        for _ in range(3):
            answer = client.get(address, "bytes=0-")
            self.assertEqual(answer.status, 206)
            self.assertEqual(answer.headers["content-type"], "application/vnd.apple.mpegurl")
            self.assertNotIn(b"http:", answer.body)

    RAW = b"http://10.0.0.1/a.ts"

    def list(self, name, **script):
        """Returns the address of a playlist that neither its type nor its path gives away."""
        text = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + self.RAW + b"\n#EXT-X-ENDLIST\n"
        return self.vault.address(self.origin.add(name, content=text, **script))

    def test_by_content_that_drips(self):
        """A playlist whose first bytes come alone is rewritten all the same"""
        address = self.list("a/drips.ts", type="video/mp2t", hold_at=3)
        threading.Timer(1, self.origin.film("a/drips.ts").release.set).start()
        answer = client.get(address, "bytes=0-")
        self.assertEqual((answer.status, answer.headers["content-type"]), (206, "application/vnd.apple.mpegurl"))
        self.assertNotIn(self.RAW, answer.body)

    @each("bytes=20-", "bytes=-30", "bytes=0-60", "HEAD")
    def test_by_content_first(self, what):
        """A playlist that neither its type nor its path gives away is rewritten, also if the first request is {}"""
        address = self.list("a/first-" + "".join(filter(str.isalnum, what)), type="application/octet-stream")
        first = client.get(address, method="HEAD") if what == "HEAD" else client.get(address, what)
        whole = client.get(address)
        self.assertEqual((first.status, first.headers["etag"]), (200 if what == "HEAD" else 206, whole.headers["etag"]))
        self.assertNotIn(self.RAW, first.body + whole.body)

    @each("ID3", "UTF-16", "[playlist]", "# mpv EDL v0", "SmoothStreamingMedia")
    def test_disguised(self, what):
        """What some player takes for a playlist is refused, and not passed on: {}"""
        listed = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1,\n" + self.RAW + b"\n"
        content = {
            "ID3": b"ID3\x04\0\0\0\0\0\x0a" + b"\0" * 10 + listed,
            "UTF-16": '<?xml version="1.0" encoding="UTF-16"?><MPD/>'.encode("utf-16"),
            "[playlist]": b"[playlist]\nFile1=" + self.RAW, "# mpv EDL v0": b"# mpv EDL v0\n" + self.RAW,
            "SmoothStreamingMedia": b"<SmoothStreamingMedia Url='" + self.RAW + b"'/>"}[what]
        name = "".join(filter(str.isalnum, what))
        answer = client.get(self.vault.address(self.origin.add(f"a/{name}.mp3", content=content, type="audio/mpeg")))
        self.assertEqual(answer.status, 502)
        self.assertNotIn(self.RAW, answer.body)

    def test_variables(self):
        """A playlist imports the variables of the playlist that led to it, of no other, and after a restart, too"""
        vault = self.served_vault()
        child = b'#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-DEFINE:IMPORT="t"\n#EXTINF:1,\n{$t}.ts\n#EXT-X-ENDLIST\n'
        kind = "application/vnd.apple.mpegurl"
        own = vault.address(self.origin.add("v/child.m3u8", content=child, type=kind))
        links = {}
        for name in ("one", "two"):
            text = f'#EXTM3U\n#EXT-X-DEFINE:NAME="t",VALUE="{name}"\n#EXT-X-STREAM-INF:BANDWIDTH=1\nchild.m3u8\n'
            address = vault.address(self.origin.add(f"v/{name}.m3u8", content=text.encode(), type=kind))
            links[name], = self.links(client.get(address).body.decode(), address)
        vault.stop()
        vault.serve()
        for name, link in links.items():
            self.assertIn(f"\n{name}.ts\n", client.get(link).body.decode())
        self.assertIn("\n/refused\n", client.get(own).body.decode(), "no playlist defines the variable for this link")
