"""An HLS title as streaming services offer it: three qualities, a playlist for each, segments of six seconds."""

import os
import subprocess

MANIFEST = "hls/master.m3u8"

_SECONDS, _PART, _RATE = 12, 6, 25
_QUALITIES = (("640x360", 1), ("1280x720", 3), ("1920x1080", 5))  # size of the picture, and Mbit/s
_KINDS = {".m3u8": "application/vnd.apple.mpegurl", ".ts": "video/mp2t"}


def make(media):
    """Encodes the title below the folder of media, unless it is there."""
    master = os.path.join(media, MANIFEST)
    if os.path.exists(master):
        return
    lines = ["#EXTM3U"]
    for size, rate in _QUALITIES:
        folder = os.path.join(os.path.dirname(master), size)
        os.makedirs(folder)
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
             f"testsrc2=s={size}:r={_RATE}:d={_SECONDS},noise=alls=20:allf=t+u", "-f", "lavfi", "-i",
             f"anoisesrc=c=pink:r=48000:d={_SECONDS}", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
             "-b:v", f"{rate}M", "-maxrate", f"{rate}M", "-bufsize", f"{rate}M", "-g", str(_PART * _RATE),
             "-sc_threshold", "0", "-c:a", "aac", "-b:a", "128k", "-f", "hls", "-hls_time", str(_PART),
             "-hls_playlist_type", "vod", "index.m3u8"], cwd=folder, check=True, stdin=subprocess.DEVNULL)
        lines += [f"#EXT-X-STREAM-INF:BANDWIDTH={rate}200000,RESOLUTION={size}", f"{size}/index.m3u8"]
    with open(master, "w", encoding="ascii") as file:
        file.write("\n".join([*lines, ""]))


class Files(dict):
    """The content and media type of each file of the title, by path, whatever the first folder of a path is."""

    def __init__(self, media):
        super().__init__()
        for parent, _, names in os.walk(os.path.join(media, os.path.dirname(MANIFEST))):
            for name in names:
                path = os.path.join(parent, name)
                with open(path, "rb") as file:
                    self["/" + os.path.relpath(path, media)] = file.read(), _KINDS[os.path.splitext(name)[1]]

    def get(self, path, default=None):
        return super().get("/" + path.split("/", 2)[-1], default)
