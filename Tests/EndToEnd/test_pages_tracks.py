"""Sound and subtitles of HLS titles in the player: what can be chosen, what comes when, and what hostile ones do not do."""

import glob
import os
import re
import subprocess

from harness.own_pages import PagesCase, expect

LENGTH, PART = 150, 10  # seconds of the title, and of one segment of its subtitles
VOICES = {"en": ("English", 440), "de": ("Deutsch", 880)}

_MASTER = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Deutsch",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=NO,URI="de.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",LANGUAGE="en",DEFAULT=NO,URI="text.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="<b>Hostile</b>",LANGUAGE="de",DEFAULT=NO,URI="hostile.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=500000,CODECS="avc1.42c01e,mp4a.40.2",AUDIO="sound",SUBTITLES="text"
picture.m3u8
"""

# What subtitles could carry that is no text. `{trap}` is another host.
_HOSTILE = """WEBVTT <script>document.title='taken'</script>
X-TIMESTAMP-MAP=LOCAL:99999999999:00:00.000,MPEGTS:99999999999999999999999999
Region: id=r src=url({trap}region)

STYLE
::cue {{ background: url({trap}style.png) }}
@import url({trap}import.css);

REGION
id:r
regionanchor:0%,url({trap}anchor)

NOTE <img src={trap}note.png onerror="document.title='taken'">

00:00:00.000 --> 00:01:00.000 region:r position:1e99% line:-99999999999% size:url({trap}size)% align:<script> vertical:javascript:1
<script>document.title='taken'</script><img src={trap}cue.png onerror="document.title='taken'"> &lt;i&gt; <c.url({trap}class)>one</c>

00:00:00.000 --> 00:01:00.000 align:start position:10%
<v <script>document.title='taken'</script>>voice</v> <lang javascript:alert(1)>two</lang>

99999999999999999999:00:00.000 --> 999999999999999999999:00:00.000
never
00:00:05.000 --> 00:00:01.000
never

00:00:00.000 --> 9999:59:59.999
for ever
"""


def encode(folder):
    """Makes a picture and two sounds whose timestamps begin at ten seconds, each in segments."""
    def make(name, *source):
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", *source, "-output_ts_offset", "10", "-muxdelay", "0",
                        "-f", "hls", "-hls_time", "10", "-hls_playlist_type", "vod", os.path.join(folder, f"{name}.m3u8")], check=True)
    os.makedirs(folder, exist_ok=True)
    make("picture", f"testsrc2=s=320x180:r=10:d={LENGTH}", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "100")
    for name, (_, tone) in VOICES.items():
        make(name, f"sine=f={tone}:r=48000:d={LENGTH}", "-c:a", "aac", "-b:a", "32k")


def listed(names, length):
    parts = "".join(f"#EXTINF:{length},\n{name}\n" for name in names)
    return f"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:{length}\n#EXT-X-PLAYLIST-TYPE:VOD\n{parts}#EXT-X-ENDLIST\n".encode()


class Tracks(PagesCase):
    @classmethod
    def fill(cls):
        cls.parts = cls.media.made("tracks", encode)

    def title(self, hostile="WEBVTT\n", **files):
        """Serves the title at an origin of its own; returns the origin and the title's address."""
        origin = self.new_scripted_origin()
        for path in sorted(glob.glob(os.path.join(self.parts, "*"))):
            with open(path, "rb") as file:
                kind = "application/vnd.apple.mpegurl" if path.endswith(".m3u8") else "video/mp2t"
                origin.add("film/" + os.path.basename(path), content=file.read(), type=kind)
        for number in range(LENGTH // PART):
            at = number * PART
            # The times count from the beginning of the title, which is the tenth second of its timestamps.
            cue = f"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\n\n{at // 3600:02}:{at // 60:02}:{at % 60:02}.000 --> 00:{at // 60:02}:{at % 60 + 9:02}.000\npart {number}\n"
            origin.add(f"film/text{number}.vtt", content=cue.encode(), type="text/vtt")
        texts = {"text.m3u8": listed([f"text{number}.vtt" for number in range(LENGTH // PART)], PART),
                 "hostile.m3u8": listed(["hostile.vtt"], LENGTH)}
        for name, content in texts.items():
            origin.add(f"film/{name}", content=content, type="application/vnd.apple.mpegurl")
        origin.add("film/hostile.vtt", content=hostile.encode(), type="text/vtt")
        return origin, origin.add("film/title.m3u8", content=_MASTER.encode(), type="application/vnd.apple.mpegurl", **files)

    def open(self, url):
        """Opens the player of a title, which plays from now on."""
        self.go(f"play/{self.vault.info(url)['id']}")
        self.wait_for("document.querySelector('video').readyState > 1")
        self.page.keyboard.press(" ")
        self.wait_for("document.querySelector('video').currentTime > 0.5")
        self.choices()

    def choices(self):
        """Opens the panel with the choices of the player."""
        self.page.get_by_role("button", name="Speed, sound and subtitles").click()

    def shown(self):
        return self.page.evaluate("[...document.querySelector('video').textTracks].filter(one => one.mode === 'showing')"
                                  ".flatMap(one => [...one.activeCues].map(cue => cue.text))")

    def cues(self):
        return self.page.evaluate("[...document.querySelector('video').textTracks].flatMap(one => one.mode === 'disabled' ? [] : [...one.cues].map("
                                  "cue => [cue.startTime, cue.endTime, cue.text]))")

    def test_subtitles(self):
        """Subtitles show at their times, come as they come near, without the origin, and go on with the next title"""
        origin, url = self.title()
        self.vault.result("fetch", url, "--audio", "all", "--subtitles", "all")
        origin.stop()
        self.open(url)
        chosen = self.page.get_by_label("Subtitles", exact=True)
        self.assertEqual(chosen.locator("option").all_inner_texts(), ["No subtitles", "English", "<b>Hostile</b>"])
        chosen.select_option("English")
        self.assert_eventually(lambda: len(self.cues()), 7, within=20)
        self.assertEqual(self.cues()[0], [0, 9, "part 0"])
        self.assertEqual(self.shown(), ["part 0"])
        self.page.evaluate("document.querySelector('video').currentTime = 122")
        self.assert_eventually(self.shown, ["part 12"], within=20)
        self.assert_eventually(lambda: [text for _, _, text in self.cues()], [f"part {number}" for number in [*range(7), 12, 13, 14]], within=20)
        self.go("")
        self.open(url)
        expect(self.page.get_by_label("Subtitles", exact=True).locator("option:checked")).to_have_text("English")
        self.assert_eventually(lambda: len(self.cues()) > 0, True, within=20)
        self.page.get_by_label("Subtitles", exact=True).select_option("No subtitles")
        self.assertEqual(self.cues(), [])
        self.assertEqual(self.page.evaluate("Object.keys(localStorage).filter(name => name !== 'mv.proof').join()"), "")

    def test_added(self):
        """Subtitles that were added show in the viewer's language unless they hear it, and go on the page of the title"""
        origin, url = self.title()
        self.vault.result("fetch", url, "--video", "best", "--subtitles", "none")
        self.assertEqual(self.vault.info(url)["title"]["otherAudio"], ["de"])
        with open(os.path.join(self.scratch, "film.fr.srt"), "w", encoding="utf-8") as file:
            file.write("1\n00:00:00,000 --> 00:01:00,000\nBonjour & bienvenue\n")
        self.vault.result("subtitles", "add", url, file.name)
        origin.stop()
        self.open(url)
        chosen = self.page.get_by_label("Subtitles", exact=True)
        self.assertEqual(chosen.locator("option").all_inner_texts(), ["No subtitles", "fr"])
        self.assertEqual(self.shown(), [])
        chosen.select_option("fr")
        self.assert_eventually(self.shown, ["Bonjour &amp; bienvenue"], within=20)
        for languages, expected in [("fr,en", []), ("fr", ["Bonjour &amp; bienvenue"])]:
            self.vault.result("config", "set", "languages", languages)
            self.go("")
            self.page.reload()
            self.open(url)
            self.assert_eventually(self.shown, expected, within=20)
        self.vault.result("config", "unset", "languages")
        self.go(f"titles/{self.vault.info(url)['id']}")
        expect(self.page.locator("main")).to_contain_text("Sound that was not fetched")
        self.act("Remove subtitles: fr")
        self.assert_eventually(lambda: self.vault.info(url)["subtitles"], [], within=20)

    def test_sound(self):
        """Another sound plays on at the same place, without the origin, and is chosen again for the next title"""
        origin, url = self.title()
        self.vault.result("fetch", url, "--audio", "all", "--subtitles", "all")
        origin.stop()
        asked = []
        # Files alone: the id of a title may begin with any letters.
        self.page.on("request", lambda request: asked.extend(re.findall(r"/([a-z]+\d*\.\w+)$", request.url)))
        self.open(url)
        chosen = self.page.get_by_label("Sound track")
        self.assertEqual(chosen.locator("option").all_inner_texts(), ["English", "Deutsch"])
        expect(chosen.locator("option:checked")).to_have_text("English")
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("5")
        self.wait_for("document.querySelector('video').currentTime > 75.5")
        self.choices()
        self.assertFalse([name for name in asked if name.startswith("de")])
        asked.clear()
        chosen.select_option("Deutsch")
        self.wait_for("!document.querySelector('video').paused && document.querySelector('video').currentTime > 76")
        self.assertLess(self.seconds(), 90)
        self.assertIn("de7.ts", asked)
        self.assertFalse([name for name in asked if name.startswith("en")])
        self.assertGreater(self.page.evaluate("document.querySelector('video').webkitAudioDecodedByteCount"), 0)
        expect(self.page.get_by_label("Sound track").locator("option:checked")).to_have_text("Deutsch")
        asked.clear()
        self.go("")
        self.open(url)
        expect(self.page.get_by_label("Sound track").locator("option:checked")).to_have_text("Deutsch")
        self.assertFalse([name for name in asked if name.startswith("en")])

    def test_not_held(self):
        """Subtitles that are not held are said not to be, and come when their origin is back"""
        self.expected = ("Failed to load", "ERR_", "504", "502")
        origin, url = self.title()
        self.vault.result("fetch", url, "--audio", "all", "--subtitles", "all")
        self.page.route("**/text*.vtt", lambda route: route.fulfill(status=504, body="{}"))
        self.open(url)
        self.page.get_by_label("Subtitles", exact=True).select_option("English")
        expect(self.page.get_by_text("These subtitles are not held here, and their origin does not give them now.")).to_be_visible()
        self.assertFalse(self.page.evaluate("document.querySelector('video').paused"))
        self.page.unroute("**/text*.vtt")
        self.page.get_by_label("Subtitles", exact=True).select_option("No subtitles")
        expect(self.page.get_by_text("These subtitles are not held here")).to_be_hidden()
        self.page.get_by_label("Subtitles", exact=True).select_option("English")
        self.assert_eventually(self.shown, ["part 0"], within=20)

    def test_hostile(self):
        """Subtitles with scripts, styles, regions and huge numbers run nothing, fetch nothing, and show as text"""
        trap = self.new_scripted_origin()
        _, url = self.title(hostile=_HOSTILE.format(trap=trap.url("")))
        self.vault.result("fetch", url, "--audio", "all", "--subtitles", "all")
        elsewhere = []
        self.page.on("request", lambda request: request.url.startswith((self.address, "blob:", "data:")) or elsewhere.append(request.url))
        self.open(url)
        self.page.get_by_label("Subtitles", exact=True).select_option("<b>Hostile</b>")
        self.assert_eventually(lambda: len(self.cues()), 3, within=20)
        self.assertEqual(sorted(end for _, end, _ in self.cues()), [60, 60, 600])
        shown = self.page.evaluate("[...document.querySelector('video').textTracks[0].cues].map(cue => cue.getCueAsHTML().textContent)")
        self.assertEqual([text.count("one") + text.count("voice") + text.count("for ever") for text in shown], [1, 1, 1])
        names = self.page.evaluate("[...document.querySelector('video').textTracks[0].cues].flatMap(cue => [...cue.getCueAsHTML().querySelectorAll('*')].map(one => one.tagName))")
        self.assertFalse(set(names) & {"SCRIPT", "IMG", "STYLE"})
        regions = self.page.evaluate("[...document.querySelector('video').textTracks[0].cues].filter(cue => cue.region).length")
        self.assertEqual(regions, 0)
        self.page.wait_for_timeout(1000)
        self.assertEqual((elsewhere, trap.exchanges), ([], []))
        self.assertNotEqual(self.page.title(), "taken")

    def test_endless(self):
        """Millions of cues, endless lines and cues upon cues are cut, and the film plays on"""
        lines = "".join(f"00:{at // 60 % 60:02}:{at % 60:02}.000 --> 00:59:59.000\n{at}\n\n" for at in range(200_000))
        _, url = self.title(hostile="WEBVTT\n\n00:00:00.000 --> 00:00:30.000\n" + "x" * 1_000_000 + "\n\n" + lines)
        self.vault.result("fetch", url, "--audio", "all", "--subtitles", "all")
        self.open(url)
        self.page.get_by_label("Subtitles", exact=True).select_option("<b>Hostile</b>")
        expect(self.page.get_by_text("These subtitles are too long")).to_be_visible()
        before = self.seconds()
        self.assertLessEqual(max(len(text) for _, _, text in self.cues()), 1000)
        self.assertTrue(1 < len(self.cues()) <= 20_000)
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("5")
        self.wait_for(f"document.querySelector('video').currentTime > {before + 5}")
        self.assertLessEqual(len(self.shown()), 100)

    def test_values(self):
        """Odd texts and playlists are read as what they are: bounded cues, names, and addresses of this service alone"""
        result = self.page.evaluate("""async () => {
            const folder = document.querySelector('script[type=module]').src;
            const {parse, shift, beginning, room} = await import(new URL('subtitles.js', folder));
            const {addressOf, renditions, segments, withAudio} = await import(new URL('renditions.js', folder));
            const cue = timing => parse(`WEBVTT\\n\\n${timing}\\ntext`).cues.map(one => [one.start, one.end, one.settings]);
            const map = line => parse(`WEBVTT\\n${line}\\n`).map, base = location.origin + '/media/a/b.m3u8';
            const takes = room();
            return {
                noText: [parse(''), parse('WEBVTTX'), parse('<MPD/>'), parse('\\uFEFFWEBVTT').cues.length],
                times: [cue('00:01.000 --> 00:02.500'), cue('01:00:00.000 --> 01:00:01.000'), cue('00:61.000 --> 00:62.000'), cue('1 --> 2'),
                    cue('00:02.000 --> 00:01.000'), cue('00:00.000 --> 99:00:00.000')],
                settings: [cue('00:01.000 --> 00:02.000 align:end line:-2 size:50%'), cue('00:01.000 --> 00:02.000 line:90% __proto__:x position:101%')],
                maps: [map('X-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:01.000'), map('X-TIMESTAMP-MAP=LOCAL:00:00:00.000'), map('x')],
                shifts: [shift(null, 5), shift({ticks: 900000, local: 1}, 0), shift({ticks: 0, local: 0}, 2 ** 33 - 90000), shift({ticks: 7, local: 2}, null)],
                beginnings: [beginning(new Uint8Array(0), null), beginning(new Uint8Array(400).fill(0x47), null), beginning(new Uint8Array(64), new Uint8Array(64))],
                room: [1, 1, 2].map(end => takes({start: 0, end, text: 'a'})),
                addresses: ['c.vtt', '/media/x', '/api/v1/status', 'http://elsewhere.test/media/x', 'javascript:1', 'data:,x'].map(uri => addressOf(uri, base)),
                names: renditions('#EXTM3U\\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",LANGUAGE="<b>",URI="x"\\n#EXT-X-MEDIA:TYPE=SUBTITLES,URI="http://elsewhere.test/"', base),
                withAudio: withAudio('#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="http://elsewhere.test/x"\\n#EXT-X-STREAM-INF:BANDWIDTH=1\\n../v.m3u8', base, ' x'),
                segments: segments('#EXTINF:1e999,\\na\\n#EXTINF:-4,\\nb\\n#EXTINF:4,\\nhttp://elsewhere.test/c\\nd', base).segments.map(one => [one.start, one.end]),
            };
        }""")
        own = self.address
        self.assertEqual(result, {
            "noText": [None, None, None, 0],
            "times": [[[1, 2.5, {}]], [[3600, 3601, {}]], [], [], [], [[0, 600, {}]]],
            "settings": [[[1, 2, {"align": "end", "line": -2, "snapToLines": True, "size": 50}]], [[1, 2, {"line": 90, "snapToLines": False}]]],
            "maps": [{"local": 1, "ticks": 900000}, None, None],
            "shifts": [0, 9, 1, -2],
            "beginnings": [None, None, None],
            "room": [True, False, True],
            "addresses": [own + "/media/a/c.vtt", own + "/media/x", None, None, None, None],
            "names": {"audio": [{"type": "AUDIO", "group": "a", "name": "x", "language": None, "key": " x", "isDefault": False, "uri": "x"}],
                      "subtitles": [], "variant": None},
            "withAudio": f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="{own}/refused"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{own}/media/v.m3u8',
            "segments": [[0, 86400], [86400, 86400], [86404, 86404]],
        })
