"""Sixty titles as people have them, with the names and the orders in which a person would write them down.

Each is its path at the origin, the name that a person expects (None if nothing tells one), and what its media state beside
that name: None if they state nothing, and the kind of a title of many files. They lie in a folder of the origin, and have
a query, that concern nobody but the owner.
"""

import hashlib
import html
import os
import subprocess

from .manifests import Manifests

FOLDER, QUERY = "Private-Archive/of.the-owner", "key=hunter2-is-secret"

# The collections, by kind and name; their titles in their order. Those of the feed have their names from it.
TOGETHER = {
    ("series", "The Harbour"): [
        ("tv/The.Harbour.S01E01.Arrival.1080p.x264.mkv", "The Harbour S01E01 Arrival", None),
        ("tv/The.Harbour.S01E02.mkv", "The Harbour S01E02", None),
        ("tv/The_Harbour_s01e10_fog.mkv", "The Harbour s01e10 fog", None),
        ("tv/more/The%20Harbour%202x01%20Ice.mkv", "The Harbour 2x01 Ice", None)],
    ("series", "Leuchtfeuer"): [
        ("v/9f3a1c2d4e5b6a70.mp4", "Ebbe", {"show": "Leuchtfeuer", "season_number": "1", "episode_sort": "1"}),
        ("v/b6a709f3a1c2d4e5.mkv", "Flut", {"show": "Leuchtfeuer", "season_number": "1", "episode_sort": "2"}),
        ("v/c2d4e5b6a709f3a1.mp4", "Böen", {"show": "Leuchtfeuer", "season_number": "1", "episode_sort": "10"}),
        ("v/a709f3a1c2d4e5b6.mkv", "Abschied", {"show": "Leuchtfeuer", "season_number": "2", "episode_sort": "1"})],
    ("album", "Nachtfahrt"): [
        ("Nachtfahrt/CD1/x1.flac", "Öde Straßen", {"album": "Nachtfahrt", "track": "1", "disc": "1"}),
        ("Nachtfahrt/CD1/x2.flac", "Zündung", {"album": "Nachtfahrt", "track": "2/10", "disc": "1/2"}),
        ("Nachtfahrt/CD1/x3.flac", "Ampel", {"album": "Nachtfahrt", "track": "10/10", "disc": "1/2"}),
        ("Nachtfahrt/CD2/x4.flac", "Bergab", {"album": "Nachtfahrt", "track": "1", "disc": "2"})],
    ("album", "Größenwahn"): [
        ("g/eins.opus", "Die Kür", {"album": "Größenwahn", "track": "1"}),
        ("g/zwei.ogg", "Am Ende", {"album": "Größenwahn", "track": "2"}),
        ("g/drei.mp3", "Über uns", {"album": "Größenwahn", "track": "11/12"})],
    ("album", "Greatest Hits"): [
        ("anna/Greatest%20Hits/01.mp3", "Sommer", {"album": "Greatest Hits", "track": "1", "artist": "Anna"}),
        ("anna/Greatest%20Hits/02.mp3", "Herbst", {"album": "Greatest Hits", "track": "2", "artist": "Anna"})],
    ("album", "Greatest hits"): [
        ("berta/Greatest%20Hits/01.m4a", "Zwei", {"album": "Greatest hits", "track": "1", "artist": "Berta"}),
        ("berta/Greatest%20Hits/02.m4a", "Eins", {"album": "Greatest hits", "track": "2", "artist": "Berta"})],
    ("album", "夜の海"): [
        ("yoru/%E6%B3%A2.m4a", "波", {"album": "夜の海", "track": "1"}),
        ("yoru/%E9%A2%A8.m4a", "風", {"album": "夜の海", "track": "2"}),
        ("yoru/%E5%85%89.m4a", "光", {"album": "夜の海", "track": "3"})],
    ("album", "Die Schatzinsel"): [
        ("b/part-b.m4b", "Teil 1", {"album": "Die Schatzinsel", "track": "1"}),
        ("b/part-c.m4b", "Teil 2", {"album": "Die Schatzinsel", "track": "2"}),
        ("b/part-a.m4b", "Teil 3", {"album": "Die Schatzinsel", "track": "3"})],
    ("folder", "Märchen für Anna"): [
        ("M%C3%A4rchen%20f%C3%BCr%20Anna/01%20-%20Es%20war%20einmal.mp3", "Es war einmal", None),
        ("M%C3%A4rchen%20f%C3%BCr%20Anna/02%20-%20Der%20Wolf.mp3", "Der Wolf", None),
        ("M%C3%A4rchen%20f%C3%BCr%20Anna/10%20-%20Das%20Ende.mp3", "Das Ende", None)],
    ("folder", "Piano Lessons"): [
        ("Piano_Lessons/1.%20Scales.mp4", "Scales", None), ("Piano_Lessons/2.%20Chords.mp4", "Chords", None),
        ("Piano_Lessons/12.%20Bach.mp4", "Bach", None)],
    ("feed", "Meer & mehr"): [
        (f"feed/{name}.mp3", f"#{number} {words}", {"title": "", "track": str(number)}) for name, number, words in (
            ("cdd1f0a97b2e4c66", 1, "Wale <sehen>"), ("0a97b2e4c66cdd1f", 2, "Ebbe & Flut"),
            ("2e4c66cdd1f0a97b", 9, "Übers Eis"), ("66cdd1f0a97b2e4c", 10, "Am Riff"))],
}

# Titles that belong to none.
ALONE = [
    ("f/5e8f3a9c1d2e4b5a.mp4", "Aurora", {}), ("f/The_Lost_Harbour.mp4", "The Lost Harbour", None),
    ("f/big.buck.bunny.2008.1080p.x264.mkv", "big buck bunny 2008", None), ("f/12%20Monkeys.mkv", "12 Monkeys", None),
    ("f/Die%20%C3%84rzte%20%E2%80%93%20live.webm", "Die Ärzte – live", None), ("f/Spider-Man.mp4", "Spider-Man", None),
    ("f/%E6%9D%B1%E4%BA%AC%E7%89%A9%E8%AA%9E.mp4", "東京物語", None), ("f/%D7%A9%D7%9C%D7%95%D7%9D.mp3", "שלום", None),
    ("f/made-backwards.webm", "ingnp.4pm", {"title": "in\u202Egnp.4\u202Cpm"}),
    ("f/dQw4w9WgXcQ.mp4", None, None), ("f/550e8400-e29b-41d4-a716-446655440000.webm", None, None),
    ("f/a1b2c3d4e5f6.mp3", "Ein Lied", {"artist": "Anna"}),
    ("f/Tom%20%26%20Jerry.mp4", "Tom & Jerry", None), ("f/Alien%3A%20Covenant.mkv", "Alien: Covenant", None),
    ("f/What%20is%20love%3F.ogg", "What is love?", None), ("f/Mu%CC%88nchen%20im%20Regen.mp4", "München im Regen", None),
    ("f/2001%20A%20Space%20Odyssey.mkv", "2001 A Space Odyssey", None), ("f/100%25%20Wolle.flac", "100% Wolle", None),
    ("f/x264.webm", "Le Fabuleux Destin d’Amélie", {}),
    ("f/0123456789abcdef.m4b", "Moby-Dick", {"album": "Moby-Dick", "artist": "Melville"}),
    ("s/Winter-am-See/index.m3u8", "Winter am See", "hls-fmp4"),
    ("s/Der%20lange%20Weg/master.m3u8", "Der lange Weg", "hls-master"),
    ("s/Le%20Grand%20Bleu/manifest.mpd", "Le Grand Bleu", "dash-template"),
    ("s/7c9e6679f3a1/manifest.mpd", "Wüste & Meer", "dash-list"),
    ("s/%E6%B5%B7/index.m3u8", "海", "hls-byte-ranges")]

BOOK = "f/0123456789abcdef.m4b"
CHAPTERS = ["Loomings", "Die Predigt – Kapitel 9", "鯨"]

_SCENE = ("-f", "lavfi", "-i", "testsrc2=s=64x36:r=5:d=2")
_TONE = ("-f", "lavfi", "-i", "sine=r=48000:d=6")
_CODECS = {
    "mp4": ("-c:v", "libx264", "-preset", "ultrafast"), "mkv": ("-c:v", "libx264", "-preset", "ultrafast"),
    "webm": ("-c:v", "libvpx"), "mp3": ("-c:a", "libmp3lame"), "flac": ("-c:a", "flac"), "ogg": ("-c:a", "libvorbis"),
    "opus": ("-c:a", "libopus"), "m4a": ("-c:a", "aac"), "m4b": ("-c:a", "aac", "-f", "ipod")}
_TYPES = {
    "mp4": "video/mp4", "mkv": "video/x-matroska", "webm": "video/webm", "mp3": "audio/mpeg", "flac": "audio/flac",
    "ogg": "audio/ogg", "opus": "audio/ogg", "m4a": "audio/mp4", "m4b": "audio/mp4", "ts": "video/mp2t",
    "m4s": "video/iso.segment", "m3u8": "application/vnd.apple.mpegurl", "mpd": "application/dash+xml",
    "vtt": "text/vtt"}

# What origins say of a file besides its type, and that concerns nobody but the owner either.
_FIELDS = {
    "Content-Disposition": f'attachment; filename="{QUERY}.bin"', "Content-Location": f"/{FOLDER}/", "Set-Cookie": QUERY,
    "Link": f"<http://film-origin.localhost/{FOLDER}/>; rel=canonical", "Content-Language": QUERY, "Warning": QUERY,
    "X-Amz-Meta-Path": FOLDER, "Via": "1.1 film-origin.localhost"}


def rows():
    """Returns all titles, with the key of their collection, or None."""
    together = [(key, *title) for key, titles in TOGETHER.items() for title in titles]
    return together + [(None, *title) for title in ALONE]


def address(origin, path):
    """Returns the URL of a title."""
    return origin.url(f"{FOLDER}/{path}?{QUERY}")


def publish(origin, media):
    """Serves all titles, and the feed; returns the URL of the feed."""
    manifests = Manifests(media)
    for _, path, name, states in rows():
        if isinstance(states, str):
            _publish_folder(origin, manifests, path, name, states)
        else:
            suffix = path.rpartition(".")[2]
            origin.add(f"{FOLDER}/{path}?{QUERY}", content=_made(media, suffix, name, states, path == BOOK),
                       type=_TYPES[suffix], headers=_FIELDS, tags=[f'"{FOLDER}:{path}"'])
    # The latest comes first, as publishers write them.
    entries = "".join(
        f"<item><title>{html.escape(name)}</title><pubDate>Wed, {number + 1:02} Oct 2002 13:00:00 GMT</pubDate>"
        f"<enclosure url='{html.escape(address(origin, path))}' type='audio/mpeg'/></item>"
        for number, (path, name, _) in reversed(list(enumerate(TOGETHER["feed", "Meer & mehr"]))))
    feed = f"<?xml version='1.0'?><rss version='2.0'><channel><title>Meer &amp; mehr</title>{entries}</channel></rss>"
    return origin.add(f"{FOLDER}/feed.xml?{QUERY}", content=feed.encode(), type="application/rss+xml")


def _publish_folder(origin, manifests, path, name, kind):
    folder, manifest = os.path.split(path)
    for file in manifests.files(kind):
        inner = os.path.relpath(file, manifests.path(kind))
        with open(file, "rb") as opened:
            content = opened.read()
        target = f"{FOLDER}/{folder}/{inner}"
        if inner == manifest:
            target += f"?{QUERY}"
            if manifest.endswith(".mpd") and _is_token(folder):
                stated = f"<ProgramInformation><Title>{html.escape(name)}</Title></ProgramInformation><Period"
                content = content.decode().replace("<Period", stated, 1).encode()
        origin.add(target, content=content, type=_TYPES.get(inner.rpartition(".")[2], "video/mp4"))


def _is_token(folder):
    return any(letter.isdigit() for letter in folder.rpartition("/")[2].replace("%", ""))


def _made(media, suffix, name, states, has_chapters):
    """Returns the bytes of a small file with tags, made once."""
    facts = {} if states is None else {"title": name, **states}
    text = ";FFMETADATA1\n" + "".join(f"{key}={value}\n" for key, value in facts.items())
    if has_chapters:
        text += "".join(f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={place * 2000}\nEND={place * 2000 + 2000}\ntitle={chapter}\n"
                        for place, chapter in enumerate(CHAPTERS))
    codecs = _CODECS[suffix]

    def encode(path):
        source = _SCENE if codecs[0] == "-c:v" else _TONE
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *source, "-i", "-", "-map", "0", "-map_metadata", "1",
                        *(("-map_metadata:s:0", "1") if suffix in ("ogg", "opus") else ()), *codecs, "-fflags", "+bitexact", path],
                       input=text.encode(), check=True)
    kept = hashlib.sha256(f"{codecs} {text}".encode()).hexdigest()[:16]
    with open(media.made(f"real-titles/{kept}.{suffix}", encode), "rb") as file:
        return file.read()
