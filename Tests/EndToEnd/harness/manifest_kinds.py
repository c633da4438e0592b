"""What manifests name beside the media of a title, or as parts of files: made of titles that are there."""

import os
import re

# Of each title, the one that it is made of.
HLS = {"hls-interstitial": "hls-ts", "hls-gap": "hls-ts", "hls-low-latency": "hls-ts", "hls-none-key": "hls-ts",
       "hls-drm-keys": "hls-aes", "hls-careless": "hls-aes", "hls-session": "hls-master"}
DASH = {"dash-ranges": "dash-on-demand", "dash-one-file": "dash-on-demand", "dash-own-heads": "dash-on-demand",
        "dash-beside": "dash-timeline"}

_INTERSTITIAL = """\
#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z
#EXT-X-DATERANGE:ID="one",CLASS="com.apple.hls.interstitial",START-DATE="2026-01-01T00:00:04Z",DURATION=6,\
X-ASSET-URI="none/advertisement.m3u8",X-RESUME-OFFSET=0
#EXT-X-DATERANGE:ID="two",CLASS="com.apple.hls.interstitial",START-DATE="2026-01-01T00:00:06Z",DURATION=6,\
X-ASSET-LIST="none/advertisements.json"
"""
_PARTS = """\
#EXT-X-PART:DURATION=1,URI="none/5.0.ts",INDEPENDENT=YES
#EXT-X-PART:DURATION=1,URI="none/5.1.ts"
"""
_NEXT = """\
#EXT-X-PREFETCH:none/6.ts
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="none/6.0.ts"
#EXT-X-RENDITION-REPORT:URI="none/index.m3u8",LAST-MSN=5,LAST-PART=1
"""
_KEYS = """\
{tag}:METHOD=SAMPLE-AES,URI="skd://one",KEYFORMAT="com.apple.streamingkeydelivery",KEYFORMATVERSIONS="1"
{tag}:METHOD=SAMPLE-AES-CTR,URI="data:text/plain;base64,AAAAOHBzc2gAAAAA",\
KEYFORMAT="urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed",KEYFORMATVERSIONS="1"
{tag}:METHOD=SAMPLE-AES-CTR,URI="none/licence",KEYFORMAT="com.microsoft.playready",KEYFORMATVERSIONS="1"
"""
_SESSION = _KEYS.format(tag="#EXT-X-SESSION-KEY") + """\
#EXT-X-SESSION-DATA:DATA-ID="com.example.data",URI="none/data.json"
#EXT-X-CONTENT-STEERING:SERVER-URI="none/steering.json",PATHWAY-ID="one"
#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1000,RESOLUTION=320x180,CODECS="jpeg",URI="images.m3u8"
"""
_IMAGES = """\
#EXTM3U
#EXT-X-TARGETDURATION:12
#EXT-X-PLAYLIST-TYPE:VOD
#EXT-X-IMAGES-ONLY
#EXTINF:12,
1.jpg
#EXT-X-ENDLIST
"""
_EVENTS = """<EventStream schemeIdUri="urn:scte:scte35:2013:xml" timescale="1"><Event presentationTime="0" id="1">a word\
</Event></EventStream>"""
_REMARKS = "# made at http://cms.invalid/42\n#EXT-X-SOMETHING:URI=\"http://log.invalid/one\"\n"
_REMARK = "<!-- made at http://cms.invalid/42 --><Location>http://cms.invalid/a.mpd</Location>"
_TIME = '<UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-iso:2014" value="http://elsewhere.invalid/time"/>'
_PLACES = "<BaseURL>./</BaseURL><BaseURL>none/</BaseURL>"
_NOTHING = '<Period xlink:href="urn:mpeg:dash:resolve-to-zero:2013" xlink:actuate="onLoad"/>'


def change(name, folder, manifest):
    """Makes the title `name` of the one whose files are in the folder."""
    path = os.path.join(folder, manifest)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = _hls(name, folder, text) if name in HLS else _dash(name, folder, text)
    with open(path, "w", encoding="latin-1") as file:
        file.write(text)


def _hls(name, folder, text):
    segments = text.split("#EXTINF")
    if name == "hls-interstitial":
        segments[0] += _INTERSTITIAL
    elif name == "hls-gap":
        segments[4] = segments[4].replace("\n", "\n#EXT-X-GAP\n", 1)
        os.remove(os.path.join(folder, "index3.ts"))
    elif name == "hls-low-latency":
        segments[0] = segments[0].replace("#EXT-X-PLAYLIST-TYPE:VOD\n", "") + "#EXT-X-PART-INF:PART-TARGET=1\n"
        segments[5] += _PARTS
        segments[6] = segments[6].replace("#EXT-X-ENDLIST", _NEXT + "#EXT-X-ENDLIST")
    elif name == "hls-none-key":
        segments[0] += '#EXT-X-KEY:METHOD=NONE,URI="none/one.key"\n'
    elif name == "hls-drm-keys":
        segments[0] = segments[0].replace("#EXT-X-KEY", _KEYS.format(tag="#EXT-X-KEY") + "#EXT-X-KEY")
    elif name == "hls-careless":
        segments[0] = segments[0].replace('"keys/one.key"', "keys/one.key")
        segments[1] = segments[1].replace(",", ",Caf\u00e9", 1)
        segments[6] = segments[6].replace("#EXT-X-ENDLIST", _REMARKS + "#EXT-X-ENDLIST") + "a remark\n"
    elif name == "hls-session":
        for file, content in (("images.m3u8", _IMAGES.encode()), ("1.jpg", b"\xff\xd8\xff\xe0")):
            with open(os.path.join(folder, file), "wb") as image:
                image.write(content)
        return text.replace("#EXT-X-MEDIA", _SESSION + "#EXT-X-MEDIA", 1)
    return "#EXTINF".join(segments)


def _dash(name, folder, text):
    if name == "dash-beside":
        return text.replace("<Period", f"{_REMARK}{_PLACES}{_NOTHING}<Period", 1).replace(
            "<AdaptationSet", _EVENTS + "<AdaptationSet", 1).replace("</MPD>", _TIME + "</MPD>")
    # ffmpeg passes over the first segments of a list if their numbers begin with 1.
    before, *streams = text.replace(' startNumber="1"', "").split("<Representation ")
    sizes = [os.path.getsize(os.path.join(folder, f"manifest-stream{number}.mp4")) for number in range(len(streams))]
    for number, stream in enumerate(streams):
        file = f"manifest-stream{number}.mp4"
        if name == "dash-ranges":
            stream = stream.replace(f"<BaseURL>{file}</BaseURL>", "").replace(
                "<Initialization ", f'<Initialization sourceURL="{file}" ').replace(
                "<SegmentURL ", f'<SegmentURL media="{file}" ')
        elif name == "dash-one-file":
            stream = _moved(stream, sum(sizes[:number])).replace(file, "all.mp4")
        elif name == "dash-own-heads":
            last = int(re.search(r'<Initialization range="0-(\d+)"', stream)[1])
            with open(os.path.join(folder, file), "rb") as whole, \
                    open(os.path.join(folder, f"head-{number}.mp4"), "wb") as head:
                head.write(whole.read(last + 1))
            stream = re.sub("<Initialization [^>]*>", f'<Initialization sourceURL="head-{number}.mp4"/>', stream)
        streams[number] = stream
    if name == "dash-one-file":
        _join(folder, len(streams))
    return "<Representation ".join([before, *streams])


def _moved(stream, offset):
    return re.sub(r'"(\d+)-(\d+)"', lambda ends: f'"{int(ends[1]) + offset}-{int(ends[2]) + offset}"', stream)


def _join(folder, count):
    with open(os.path.join(folder, "all.mp4"), "wb") as whole:
        for number in range(count):
            path = os.path.join(folder, f"manifest-stream{number}.mp4")
            with open(path, "rb") as part:
                whole.write(part.read())
            os.remove(path)
