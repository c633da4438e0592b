"""Titles of many files, made once with ffmpeg from one encoded film: HLS and DASH in the layouts that packagers use."""

import os
import shutil
import subprocess

SECONDS = 12
PART = 2  # seconds of a segment
KEY = bytes(range(16))

_SOURCE = (
    "-f", "lavfi", "-i", f"testsrc2=s=320x180:r=25:d={SECONDS},noise=alls=20:allf=t+u:all_seed=7",
    "-f", "lavfi", "-i", f"anoisesrc=c=pink:r=48000:d={SECONDS}:seed=7",
    "-c:v", "libx264", "-preset", "ultrafast", "-crf", "30", "-pix_fmt", "yuv420p", "-g", "50", "-keyint_min", "50",
    "-sc_threshold", "0", "-bf", "0", "-c:a", "aac", "-b:a", "64k")
_REPEATABLE = ("-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact")
_HLS = ("-f", "hls", "-hls_time", str(PART), "-hls_list_size", "0", "-hls_playlist_type", "vod")
_DASH = ("-f", "dash", "-seg_duration", str(PART))

MASTER = """#EXTM3U
#EXT-X-VERSION:4
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="sound/index.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=NO,URI="text/index.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=600000,RESOLUTION=320x180,CODECS="avc1.42c00d,mp4a.40.2",AUDIO="sound",SUBTITLES="text"
picture/index.m3u8
"""
SUBTITLES = "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nWords that no vault may show\n"
SUBTITLE_LIST = f"""#EXTM3U
#EXT-X-TARGETDURATION:{SECONDS}
#EXT-X-PLAYLIST-TYPE:VOD
#EXTINF:{SECONDS},
words.vtt
#EXT-X-ENDLIST
"""

# The manifest of each layout.
HLS = {
    "hls-ts": "index.m3u8", "hls-fmp4": "index.m3u8", "hls-byte-ranges": "index.m3u8", "hls-aes": "index.m3u8",
    "hls-master": "master.m3u8"}
DASH = {
    "dash-template": "manifest.mpd", "dash-timeline": "manifest.mpd", "dash-list": "manifest.mpd",
    "dash-on-demand": "manifest.mpd", "dash-periods": "manifest.mpd"}


def _ffmpeg(folder, *arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *arguments], cwd=folder, check=True,
                   stdin=subprocess.DEVNULL)


def _write(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _hls(folder, film, *options, name="index.m3u8"):
    _ffmpeg(folder, "-i", film, "-c", "copy", *_REPEATABLE, *_HLS, *options, name)


def _dash(folder, film, *options):
    _ffmpeg(folder, "-i", film, "-c", "copy", "-map", "0", *_REPEATABLE, *_DASH, *options, "manifest.mpd")


def _make(name, folder, film):
    if name == "hls-ts":
        _hls(folder, film)
    elif name == "hls-fmp4":
        _hls(folder, film, "-hls_segment_type", "fmp4")
    elif name == "hls-byte-ranges":
        _hls(folder, film, "-hls_segment_type", "fmp4", "-hls_flags", "single_file")
    elif name == "hls-aes":
        _write(folder, "keys/one.key", KEY)
        _write(folder, "key-info", "keys/one.key\nkeys/one.key\n")
        _hls(folder, film, "-hls_key_info_file", "key-info")
    elif name == "hls-master":
        for part, options in (("picture", ("-an",)), ("sound", ("-vn",))):
            os.makedirs(os.path.join(folder, part))
            _hls(os.path.join(folder, part), film, *options)
        _write(folder, "text/index.m3u8", SUBTITLE_LIST)
        _write(folder, "text/words.vtt", SUBTITLES)
        _write(folder, "master.m3u8", MASTER)
    elif name == "dash-template":
        _dash(folder, film, "-use_template", "1", "-use_timeline", "0")
    elif name == "dash-timeline":
        _dash(folder, film, "-use_template", "1", "-use_timeline", "1")
    elif name == "dash-list":
        _dash(folder, film, "-use_template", "0", "-use_timeline", "0")
    elif name == "dash-on-demand":
        _dash(folder, film, "-single_file", "1", "-use_template", "0", "-use_timeline", "0")
    elif name == "dash-periods":
        _make_periods(folder, film)


def _make_periods(folder, film):
    """Two periods of half the film each, in folders of their own."""
    periods = []
    for number, start in enumerate((0, SECONDS // 2)):
        part = os.path.join(folder, f"period-{number}")
        os.makedirs(part)
        half = os.path.join(folder, f"half-{number}.mp4")
        _ffmpeg(part, "-ss", str(start), "-i", film, "-t", str(SECONDS // 2), "-c", "copy", *_REPEATABLE, half)
        _dash(part, half, "-use_template", "1", "-use_timeline", "0")
        os.remove(half)
        with open(os.path.join(part, "manifest.mpd"), encoding="utf-8") as file:
            text = file.read()
        first = text.index("<Period")
        body = text[text.index(">", first) + 1:text.index("</Period>")]
        periods.append(
            f'<Period id="{number}" start="PT{start}S" duration="PT{SECONDS // 2}S">'
            f"<BaseURL>period-{number}/</BaseURL>{body}</Period>")
        head, tail = text[:first], text[text.index("</Period>") + len("</Period>"):]
    shown = f'mediaPresentationDuration="PT{SECONDS}S"'
    before, _, after = head.partition('mediaPresentationDuration="')
    _write(folder, "manifest.mpd", before + shown + after.partition('"')[2] + "".join(periods) + tail)


class Manifests:
    """A folder of such titles beside other media, each made on its first use."""

    FOLDER = "manifests"

    def __init__(self, media):
        self.folder = os.path.join(media.folder, self.FOLDER)
        os.makedirs(self.folder, exist_ok=True)
        self.film = os.path.join(self.folder, "film.mp4")
        if not os.path.exists(self.film):
            _ffmpeg(self.folder, *_SOURCE, *_REPEATABLE, "making.mp4")
            os.replace(os.path.join(self.folder, "making.mp4"), self.film)

    def path(self, name):
        """Returns the folder of a title."""
        folder = os.path.join(self.folder, name)
        if not os.path.isdir(folder):
            made = os.path.join(self.folder, f"making-{name}")
            shutil.rmtree(made, ignore_errors=True)
            os.makedirs(made)
            _make(name, made, self.film)
            os.replace(made, folder)
        return folder

    def target(self, name):
        """Returns the path of a title's manifest at the origin."""
        self.path(name)
        return f"{self.FOLDER}/{name}/{(HLS | DASH)[name]}"

    def files(self, name):
        """Returns the paths of all files of a title."""
        return [os.path.join(parent, file) for parent, _, files in os.walk(self.path(name)) for file in files]
