"""An HLS title of many files is fetched, listed, played offline and removed as one."""

import json
import os
import subprocess

from harness import players
from harness.case import VaultCase
from harness.control import KEYLESS

SECONDS, PART = 8, 2
FOLDER = "whole-title"
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


class WholeTitles(VaultCase):
    @classmethod
    def prepare(cls):
        folder = os.path.join(cls.media.folder, FOLDER)
        if not os.path.isdir(folder):
            making = folder + "-making"
            subprocess.run(["rm", "-rf", making], check=True)
            os.makedirs(making)
            _make(making)
            os.replace(making, folder)
        cls.origin = cls.new_origin()

    def setUp(self):
        self.vault = self.new_vault()
        self.url = self.origin.url(f"{FOLDER}/master.m3u8")

    def listed(self):
        return json.loads(self.vault.result("list", "--json"))

    def requested(self):
        return {item.uri for item in self.origin.requests() if item.uri.startswith(f"/{FOLDER}/")}

    def test_fetched_as_one(self):
        """fetch takes the chosen renditions and nothing else; list shows one line with the size of all files; remove
        leaves nothing"""
        before = self.requested()
        record = json.loads(self.vault.result("fetch", "--json", "--video", "200", "--audio", "de", "--connections", "4",
                                              self.url))
        self.assertTrue(record["complete"])
        new = {os.path.dirname(uri).rpartition("/")[2] for uri in self.requested() - before}
        self.assertEqual(new, {FOLDER, "low", "de"})
        (title,) = self.listed()
        held = sum(os.path.getsize(os.path.join(parent, file))
                   for part in ("low", "de") for parent, _, files in os.walk(
                       os.path.join(self.media.folder, FOLDER, part)) for file in files)
        self.assertEqual(title["bytes"], held + len(MASTER.encode()))
        self.assertEqual((title["complete"], title["title"]["name"]), (True, "A film of two qualities"))
        self.assertEqual(title["title"]["duration"] // 1000, SECONDS)
        self.assertIn(b"A film of two qualities", self.vault.result("list"))
        self.assertIn(b"180p", self.vault.result("info", self.url))
        self.vault.result("pin", self.url)
        self.assertEqual(self.listed()[0]["class"], "pinned")
        self.vault.result("remove", self.url)
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.vault.segment_bytes(), 0)

    def test_named(self):
        """--title names a title, also through a running service, which fetches for the command"""
        self.vault.serve()
        self.vault.result("fetch", "--video", "worst", "--title", "My film", self.url, **KEYLESS)
        self.assertEqual([item["title"]["name"] for item in self.listed()], ["My film"])

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
