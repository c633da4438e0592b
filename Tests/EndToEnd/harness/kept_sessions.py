"""What players see of a sample straight from its origin, kept from run to run: it changes only with the player, the
sample, or what a session does. By night it is seen anew."""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess

from .case import NIGHT, Settings

_CODE = ("sessions.py", "players.py", "gstreamer_session.py", "chromium_session.py")


@functools.cache
def _players():
    """Returns the versions of all players and of what they decode with; None where the system does not tell."""
    if not shutil.which("dpkg-query"):
        return None
    names = ("ffmpeg", "mpv", "chromium", "libav*", "*gstreamer*", "*vlc*")
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names], capture_output=True, text=True,
                          timeout=60, check=False)
    return done.stdout


@functools.cache
def _code():
    digest = hashlib.sha256()
    for name in _CODE:
        with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def digest_of(paths):
    """Returns the SHA-256 of the files of a sample."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


@contextlib.contextmanager
def straight(who, sample, see):
    """Yields what a player sees of a sample straight from its origin: what an earlier run kept, or what `see` returns.

    It is kept if the block ends without an error: then all that was compared with it is equal."""
    name = hashlib.sha256(json.dumps([who, _players(), _code(), sample]).encode()).hexdigest()
    folder = os.path.join(Settings.media, "sessions")
    path = os.path.join(folder, name + ".json")
    os.makedirs(folder, exist_ok=True)
    with open(path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = None
        with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
            kept = json.load(file)
        seen = kept if kept is not None and _players() and "players" not in NIGHT else plain(see())
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        yield seen
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(seen, file)
        os.replace(path + ".new", path)


def plain(seen):
    """Returns what a session saw as it is after it was kept: tuples are lists."""
    return json.loads(json.dumps(seen))
