"""Media files created once with ffmpeg and kept in a folder; noise if they must be large or unguessable."""

import fcntl
import hashlib
import os
import subprocess

TITLE = "A title that no vault may show"
FILMS = ("tone.mp3", "moov-first.mp4", "moov-last.mp4", "film.webm", "large.mp4")
SAMPLES = ("moov-first.mp4", "moov-last.mp4", "fragmented.mp4", "film.mkv", "film.webm", "film.ts",
           "tone.mp3", "audio.m4a", "audio.flac", "audio.ogg")
LARGE, LARGE_BYTES = "large.mp4", 300 << 20
HUGE, HUGE_BYTES = "huge.bin", 1 << 30

_NOISE = ("-f", "lavfi", "-i", "anoisesrc=c=pink:r=48000:d={seconds}:seed=7")
_SCENE = ("-f", "lavfi", "-i", "testsrc2=s={size}:r=25:d={seconds},noise=alls={noise}:allf=t+u:all_seed=7")
_H264_AAC = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "25",
             "-c:a", "aac", "-b:a", "128k")
_VP8_OPUS = ("-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M", "-g", "25",
             "-c:a", "libopus", "-b:a", "96k")
_MOOV_FIRST = ("-movflags", "+faststart")
_FRAGMENTS = ("-movflags", "+frag_keyframe+empty_moov+default_base_moof")
_SOUND = {
    "audio.m4a": ("-c:a", "aac", "-b:a", "128k"), "audio.flac": ("-c:a", "flac"),
    "audio.ogg": ("-c:a", "libvorbis", "-b:a", "128k")}
_REPEATABLE = ("-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact")


def _recipe(name):
    """Returns the inputs and the encoding options of a media file."""
    if name in _SOUND:
        return [*_filled(_NOISE, seconds=120 if name == "audio.ogg" else 60), *_SOUND[name], *_REPEATABLE]
    if name == "tone.mp3":
        return [*_filled(_NOISE, seconds=120), "-c:a", "libmp3lame", "-b:a", "128k"]
    if name == "film.webm":
        return [*_filled(_SCENE + _NOISE, size="320x180", seconds=12, noise=20), *_VP8_OPUS]
    if name == LARGE:
        return [*_filled(_SCENE + _NOISE, size="1280x720", seconds=8, noise=100), *_H264_AAC, "-crf", "0", *_MOOV_FIRST]
    film = [*_filled(_SCENE + _NOISE, size="640x360", seconds=20, noise=20), *_H264_AAC, "-crf", "28"]
    if name in ("film.mkv", "film.ts", "fragmented.mp4"):
        return [*film, *(_FRAGMENTS if name == "fragmented.mp4" else ()), *_REPEATABLE]
    return film if name == "moov-last.mp4" else [*film, *_MOOV_FIRST]


def _filled(arguments, **values):
    return [argument.format(**values) for argument in arguments]


def _write_noise(path, size):
    with open(path, "wb") as file:
        for _ in range(size >> 20):
            file.write(os.urandom(1 << 20))


def _encode(path, name):
    subprocess.run(
        ["ffmpeg", "-v", "error", "-nostdin", "-y", *_recipe(name), "-metadata", f"title={TITLE}", path],
        check=True, stdin=subprocess.DEVNULL)


class Media:
    """A folder of media files, each created on its first use, by one of several runners that may need it."""

    def __init__(self, folder):
        self.folder = folder
        self._digests = {}
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return self.made(name, lambda path: _write_noise(path, HUGE_BYTES) if name == HUGE else _encode(path, name))

    def made(self, name, make):
        """Returns the path of a file or folder below the folder of media, after `make` has made it if it is not there.

        `make` gets another path in the same folder: what is cut off leaves nothing that looks complete."""
        path = os.path.join(self.folder, name)
        parent, last = os.path.split(path)
        os.makedirs(parent, exist_ok=True)
        with open(os.path.join(parent, f".{last}.lock"), "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not os.path.exists(path):
                making = os.path.join(parent, "making-" + last)
                subprocess.run(["rm", "-rf", making], check=True)
                make(making)
                os.replace(making, path)
        return path

    def size(self, name):
        return os.path.getsize(self.path(name))

    def sha256(self, name):
        if name not in self._digests:
            with open(self.path(name), "rb") as file:
                self._digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[name]

    def bytes(self, name, first, end):
        with open(self.path(name), "rb") as file:
            file.seek(first)
            return file.read(end - first)
