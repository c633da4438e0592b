"""HLS and DASH titles of many files are fetched, listed, played offline, exported and removed as one."""

import json
import os
import subprocess
import time

from harness import client, players
from harness.case import NIGHT, VaultCase, each
from harness.control import KEYLESS
from harness.delaying_origin import DelayingOrigin
from harness.manifests import DASH, HLS, Manifests

SECONDS, PART = 8, 2
FOLDER = "whole-titles"
SIZES = {"low": ("320x180", 180), "high": ("640x360", 360)}
SUBTITLES = "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nWords that no vault may show\n"
SUBTITLE_LIST = f"#EXTM3U\n#EXT-X-TARGETDURATION:{SECONDS}\n#EXTINF:{SECONDS},\nwords.vtt\n#EXT-X-ENDLIST\n"
MASTER = """#EXTM3U
#PLAYLIST:A film of two qualities
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="en/index.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Deutsch",LANGUAGE="de",AUTOSELECT=YES,URI="de/index.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=NO,URI="text/index.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=400000,RESOLUTION=320x180,AUDIO="sound",SUBTITLES="text"
low/index.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=1200000,RESOLUTION=640x360,AUDIO="sound",SUBTITLES="text"
high/index.m3u8
"""
PART_OF_IT = """#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Deutsch",LANGUAGE="de",AUTOSELECT=YES,URI="de/index.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=400000,RESOLUTION=320x180,AUDIO="sound"
low/index.m3u8
"""
# The layouts of DASH, each with two qualities and two languages.
DASH_LAYOUTS = {
    "template": ("-use_template", "1", "-use_timeline", "0"), "timeline": ("-use_template", "1", "-use_timeline", "1"),
    "list": ("-use_template", "0", "-use_timeline", "0"),
    "on-demand": ("-single_file", "1", "-use_template", "0", "-use_timeline", "0")}
_HLS = ("-f", "hls", "-hls_time", str(PART), "-hls_list_size", "0", "-hls_playlist_type", "vod", "-fflags", "+bitexact")


def _make(folder):
    """Encodes two pictures and two sounds, each as a playlist of segments of its own."""
    def hls(name, *options):
        os.makedirs(os.path.join(folder, name))
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *options, *_HLS, "index.m3u8"],
                       cwd=os.path.join(folder, name), check=True, stdin=subprocess.DEVNULL)

    for name, (size, _) in SIZES.items():
        hls(name, "-f", "lavfi", "-i", f"testsrc2=s={size}:r=25:d={SECONDS}", "-c:v", "libx264", "-preset", "ultrafast",
            "-pix_fmt", "yuv420p", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0", "-flags:v", "+bitexact")
    for number, name in enumerate(("en", "de")):
        hls(name, "-f", "lavfi", "-i", f"anoisesrc=c=pink:r=48000:d={SECONDS}:seed={number}", "-c:a", "aac", "-b:a",
            "64k", "-flags:a", "+bitexact")
    os.makedirs(os.path.join(folder, "text"))
    for name, content in (("text/index.m3u8", SUBTITLE_LIST), ("text/words.vtt", SUBTITLES), ("master.m3u8", MASTER),
                          ("part.m3u8", PART_OF_IT)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)


def _make_dash(folder):
    """Packages the same pictures and sounds as DASH: all of them, and the part that one viewer chooses."""
    inputs = [part for name in ("low", "high", "en", "de")
              for part in ("-i", os.path.join(folder, name, "index.m3u8"))]
    languages = ("-metadata:s:a:0", "language=en", "-metadata:s:a:1", "language=de")
    for name, layout in DASH_LAYOUTS.items():
        for choice, options in (
                ("dash-", ("-map", "0", "-map", "1", "-map", "2", "-map", "3", *languages, "-adaptation_sets",
                           "id=0,streams=0,1 id=1,streams=2 id=2,streams=3")),
                ("part-", ("-map", "0", "-map", "3", "-adaptation_sets", "id=0,streams=0 id=1,streams=1"))):
            os.makedirs(os.path.join(folder, choice + name))
            subprocess.run(
                ["ffmpeg", "-v", "error", "-nostdin", "-y", *inputs, *options, "-c", "copy", "-tag:v", "avc1", "-tag:a", "mp4a", "-bsf:a", "aac_adtstoasc",
                 "-fflags", "+bitexact", "-f", "dash", "-seg_duration", str(PART), *layout, "manifest.mpd"],
                cwd=os.path.join(folder, choice + name), check=True, stdin=subprocess.DEVNULL)


def _streams(frames):
    """Returns the hashes of the frames of each stream."""
    streams = {}
    for line in frames.decode().splitlines():
        if not line.startswith("#"):
            streams.setdefault(line.split(",")[0], []).append(line.split(",")[-1].strip())
    return streams


class TitleCase(VaultCase):
    # ffmpeg asks for numbered segments beyond the duration of a title until one is missing, and decodes a last moment of
    # sound from there, or from the error.
    SOUND_AT_THE_END = 4

    def assert_same_frames(self, frames, expected, message):
        """Checks that the pictures are the same, and the sound but for its last moment."""
        frames, expected = _streams(frames), _streams(expected)
        self.assertEqual(frames.keys(), expected.keys(), message)
        for number, wanted in expected.items():
            seen, slack = frames[number], 0 if number == "0" else self.SOUND_AT_THE_END
            self.assertLessEqual(abs(len(seen) - len(wanted)), slack, message)
            common = max(len(seen), len(wanted)) - slack
            self.assertTrue(seen[:common] == wanted[:common], f"{message}, stream {number}")


class WholeTitles(TitleCase):
    @classmethod
    def prepare(cls):
        def make(folder):
            os.makedirs(folder)
            _make(folder)
            _make_dash(folder)
        cls.media.made(FOLDER, make)
        cls.origin = cls.new_origin()

    def setUp(self):
        self.vault = self.new_vault()
        self.url = self.origin.url(f"{FOLDER}/master.m3u8")

    def listed(self):
        return json.loads(self.vault.result("list", "--json"))

    def requested(self):
        return [item.uri for item in self.origin.requests() if item.uri.startswith(f"/{FOLDER}/")]

    def test_fetched_as_one(self):
        """fetch takes the chosen renditions and nothing else; list shows one line with the size of all files; remove
        leaves nothing"""
        before = len(self.requested())
        record = json.loads(self.vault.result("fetch", "--json", "--video", "200", "--audio", "de", "--connections", "4",
                                              self.url))
        self.assertTrue(record["complete"])
        new = {os.path.dirname(uri).rpartition("/")[2] for uri in self.requested()[before:]}
        self.assertEqual(new, {FOLDER, "low", "de"})
        (title,) = self.listed()
        held = sum(os.path.getsize(os.path.join(parent, file))
                   for part in ("low", "de") for parent, _, files in os.walk(
                       os.path.join(self.media.folder, FOLDER, part)) for file in files)
        self.assertEqual(title["bytes"], held + len(MASTER.encode()))
        self.assertEqual((title["complete"], title["name"]), (True, "A film of two qualities"))
        self.assertEqual(title["title"]["duration"] // 1000, SECONDS)
        self.assertIn(b"A film of two qualities", self.vault.result("list"))
        self.assertIn(b"180p", self.vault.result("info", self.url))
        self.vault.result("pin", self.url)
        self.assertEqual(self.listed()[0]["class"], "pinned")
        self.vault.result("remove", self.url)
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.vault.segment_bytes(), 0)

    def test_missing_language(self):
        """A language that the title lacks is named after the fetch, with what was fetched in its place; info shows the
        size of the title, not of its manifest"""
        done = self.vault.run("fetch", "--video", "worst", "--audio", "fr,deu", "--subtitles", "fr", self.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = done.stderr.decode()
        self.assertRegex(told, r"note: the title has no audio in fr; fetched: de\b")
        self.assertIn("note: the title has no subtitles in fr; fetched: none\n", told)
        (title,) = self.listed()
        facts = dict(line.split(None, 1) for line in self.vault.result("info", self.url).decode().splitlines())
        self.assertEqual(facts["bytes"], str(title["bytes"]))
        self.assertNotIn("size", facts)
        again = self.vault.run("fetch", "--video", "worst", "--audio", "de", self.url)
        self.assertNotIn("note: the title has no", again.stderr.decode())

    def test_named(self):
        """--title names a title, also through a running service, which fetches for the command"""
        self.vault.serve()
        self.vault.result("fetch", "--video", "worst", "--title", "My film", self.url, **KEYLESS)
        self.assertEqual([item["name"] for item in self.listed()], ["My film"])

    def frames(self, name):
        """Returns the frames of a manifest that is played directly."""
        straight = self.new_origin()
        code, frames = players.decoded_frames(f"http://127.0.0.1:{straight.port}/{FOLDER}/{name}")
        self.assertEqual(code, 0)
        self.assertGreater(players.frame_count(frames), 200)
        return frames

    def assert_plays_offline(self, expected, *modes):
        """Checks that the title plays with these frames, and to its end, although its origin has stopped."""
        self.origin.stop()
        self.addCleanup(self.origin.start)
        for mode in modes:
            self.vault.serve("--mode", mode)
            address = self.vault.address(self.url)
            code, frames = players.decoded_frames(address)
            self.assertEqual(code, 0, mode)
            self.assertTrue(frames == expected, f"the frames differ in mode {mode}")
            self.assertEqual(players.mpv_exit(address), 0, mode)
            self.vault.stop()

    def test_plays_offline(self):
        """A title that was fetched whole plays with the same frames after its origin has stopped"""
        self.vault.result("fetch", "--video", "all", "--audio", "all", "--subtitles", "all", "--connections", "4",
                          self.url)
        self.assert_plays_offline(self.frames("master.m3u8"), "online")

    def test_plays_what_is_held(self):
        """Of a title of which one quality and one language were fetched, players are offered these, with the frames of
        direct play, online with an unreachable origin, and offline"""
        self.vault.result("fetch", "--video", "200", "--audio", "de", "--connections", "4", self.url)
        self.assert_plays_offline(self.frames("part.m3u8"), "online", "offline", "prefer-vault")

    @each(*DASH_LAYOUTS)
    def test_dash_plays_offline(self, layout):
        """Of a DASH title ({}) of two qualities and two languages, the chosen ones are fetched and nothing else; without
        the origin, the manifest names only these, and ffmpeg decodes the frames of direct play"""
        expected = self.frames(f"part-{layout}/manifest.mpd")
        self.url = self.origin.url(f"{FOLDER}/dash-{layout}/manifest.mpd")
        self.vault.result("fetch", "--video", "200", "--audio", "de", self.url)
        (title,) = self.listed()
        self.assertTrue(title["complete"])
        heights = {item.get("height") for item in title["title"]["renditions"] if item["kind"] == "video"}
        self.assertEqual(heights, {180})
        self.origin.stop()
        self.addCleanup(self.origin.start)
        for mode in ("online", "offline"):
            self.vault.serve("--mode", mode)
            address = self.vault.address(self.url)
            text = client.get(address).body.decode()
            self.assertEqual(text.count("<Representation"), 2, mode)
            self.assertNotIn('height="360"', text)
            code, frames = players.decoded_frames(address)
            self.assertEqual(code, 0, mode)
            self.assert_same_frames(frames, expected, mode)
            self.vault.stop()

    @each("master.m3u8", *(f"dash-{layout}/manifest.mpd" for layout in DASH_LAYOUTS))
    def test_exported(self, name):
        """export of a title ({}) creates a folder that ffmpeg decodes to the frames of direct play, with numbers for
        names"""
        part = name.replace("dash-", "part-") if "dash-" in name else "part.m3u8"
        expected = self.frames(part)
        url = self.origin.url(f"{FOLDER}/{name}")
        self.vault.result("fetch", "--video", "200", "--audio", "de", url)
        folder = os.path.join(self.vault.folder + "-exported", "film")
        os.makedirs(os.path.dirname(folder))
        requests = len(self.origin.requests())
        self.vault.result("export", url, folder)
        self.assertEqual(len(self.origin.requests()), requests)
        manifest = "manifest.mpd" if name.endswith("mpd") else "index.m3u8"
        names = set(os.listdir(folder)) - {manifest}
        self.assertEqual([item for item in names if not item[0].isdigit()], [])
        code, frames = players.decoded_frames(os.path.join(folder, manifest))
        self.assertEqual(code, 0)
        self.assert_same_frames(frames, expected, "the exported title differs")

    def test_searched(self):
        """list --search finds titles by their name and URL, whatever their capitals and accents; media without a given
        name have the one within them"""
        film = os.path.join(self.media.folder, FOLDER, "named.mp4")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "anoisesrc=d=1", "-metadata",
                        "title=Der Königsweg", film], check=True, stdin=subprocess.DEVNULL)
        sound = os.path.join(self.media.folder, FOLDER, "named.mp3")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "anoisesrc=d=1", "-metadata",
                        "title=Ein Lied", sound], check=True, stdin=subprocess.DEVNULL)
        for name in ("named.mp4", "named.mp3"):
            self.vault.result("fetch", self.origin.url(f"{FOLDER}/{name}"))
        self.vault.result("fetch", "--video", "worst", self.url)

        def found(text):
            return {item["name"] for item in json.loads(self.vault.result("list", "--json", "--search", text))}

        self.assertEqual(found("konigs"), {"Der Königsweg"})
        self.assertEqual(found("LIED"), {"Ein Lied"})
        self.assertEqual(found("named.mp"), {"Der Königsweg", "Ein Lied"})
        self.assertEqual(found("two QUAL"), {"A film of two qualities"})
        self.assertEqual(found("nothing like it"), set())

    def test_verified(self):
        """verify of a title opens all bytes of its files and no others, without and with a running service"""
        self.vault.result("fetch", "--video", "worst", self.url)
        self.vault.result("fetch", self.origin.url(f"{FOLDER}/high/index0.ts"))
        held = next(item["bytes"] for item in self.listed() if item["title"])
        for serves in (False, True):
            if serves:
                self.vault.serve()
            report = json.loads(self.vault.result("verify", "--json", *(["--repair"] if serves else []), self.url))
            self.assertEqual((report["sound"], report["bytesOpened"]), (True, held))

    def test_missing_segment(self):
        """If the origin lacks a segment, fetch keeps the others, exits 5 and lists the title as incomplete"""
        path = os.path.join(self.media.folder, FOLDER, "low", "index1.ts")
        os.rename(path, path + ".away")
        try:
            done = self.vault.run("fetch", "--video", "worst", self.url)
        finally:
            os.rename(path + ".away", path)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(b"low/index1.ts", done.stderr)
        self.assertFalse(self.listed()[0]["complete"])
        self.vault.result("fetch", "--video", "worst", self.url)
        self.assertTrue(self.listed()[0]["complete"])

    def test_page(self):
        """fetch of a web page warns and exits 1, unless --any-type is given"""
        with open(os.path.join(self.media.folder, FOLDER, "page.html"), "w", encoding="utf-8") as file:
            file.write("<!doctype html><title>Sign in</title>")
        url = self.origin.url(f"{FOLDER}/page.html")
        done = self.vault.run("fetch", url)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"--any-type", done.stderr)
        self.vault.result("fetch", "--any-type", url)


class Layouts(TitleCase):
    @classmethod
    def prepare(cls):
        cls.titles, cls.origin, cls.straight = Manifests(cls.media), cls.new_origin(), cls.new_origin()

    @each(*HLS, *DASH)
    def test_whole(self, name):
        """A title ({}) that was fetched whole plays without its origin, and from the folder that it is exported to, with
        the frames of direct play"""
        target = self.titles.target(name)

        def direct(target):
            code, frames = players.decoded_frames(f"http://127.0.0.1:{self.straight.port}/{target}")
            self.assertEqual(code, 0)
            return frames

        expected = direct(target)
        vault, url = self.new_vault(), self.origin.url(target)
        vault.result("fetch", "--video", "all", "--audio", "all", "--subtitles", "all", url)
        self.origin.stop()
        self.addCleanup(self.origin.start)
        vault.result("export", url, vault.folder + "-exported")
        manifest = "manifest.mpd" if name in DASH else "index.m3u8"
        code, frames = players.decoded_frames(os.path.join(vault.folder + "-exported", manifest))
        self.assertEqual(code, 0)
        self.assert_same_frames(frames, expected, "the exported title differs")
        vault.serve()
        code, frames = players.decoded_frames(vault.address(url))
        self.assertEqual(code, 0)
        self.assert_same_frames(frames, expected, "the title differs offline")


class Speed(VaultCase):
    COUNT, BYTES, DELAY = 500 if "downloads" in NIGHT else 100, 100_000, 0.02

    def test_many_small_files(self):
        """fetch of many segments of 100 KB from an origin 20 ms away, beside ffmpeg, which copies the same"""
        vault = self.new_vault()
        source = os.path.join(self.scratch, "source.ts")
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-c:v",
             "libx264", "-preset", "ultrafast", "-b:v", "400k", "-minrate", "400k", "-maxrate", "400k", "-bufsize",
             "400k", "-nal-hrd", "cbr", "-muxrate", "400k", "-f", "mpegts", source],
            check=True, stdin=subprocess.DEVNULL)
        with open(source, "rb") as file:
            segment = file.read()[:self.BYTES // 188 * 188].ljust(self.BYTES // 188 * 188, b"\x47")
        listed = "".join(f"#EXTINF:2,\n{number}.ts\n" for number in range(self.COUNT))
        files = {f"/{number}.ts": (segment, "video/mp2t") for number in range(self.COUNT)}
        files["/index.m3u8"] = (f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n{listed}#EXT-X-ENDLIST\n".encode(),
                                "application/vnd.apple.mpegurl")
        origin = DelayingOrigin(files, self.DELAY)
        self.addCleanup(origin.stop)
        begun = time.monotonic()
        subprocess.run(["ffmpeg", "-v", "fatal", "-nostdin", "-y", "-i", f"http://127.0.0.1:{origin.port}/index.m3u8", "-c", "copy", "-f",
                        "mpegts", os.path.join(self.scratch, "copy.ts")], stdin=subprocess.DEVNULL)
        copied = time.monotonic() - begun
        begun = time.monotonic()
        vault.result("fetch", origin.url("index.m3u8"))
        fetched = time.monotonic() - begun
        self.figure(
            f"{self.COUNT} segments of 100 KB, 20 ms away: fetch", fetched, f"ffmpeg -c copy: {copied:.3g} s", " s")
        self.figure("speed of fetch ÷ that of ffmpeg -c copy", copied / fetched, "at least 3")
