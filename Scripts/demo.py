#!/usr/bin/env python3
"""Demonstrates MediaVault with a generated clip and no network: plays it, plays it again without its server, and checks
that nothing of it is readable in the vault's folder. Scripts/run --demo calls it.

    demo.py COMMAND

Exit code 0 if everything was shown, 1 if something was not; leaves nothing behind in either case.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir))
sys.path.insert(0, os.path.join(ROOT, "Tests", "EndToEnd"))
sys.dont_write_bytecode = True

from harness import client  # noqa: E402
from harness.players import decoded_frames  # noqa: E402
from harness.scripted_origin import ScriptedOrigin  # noqa: E402
from harness.vault import Vault  # noqa: E402
from harness.waiting import eventually  # noqa: E402

NAME, TITLE = "holiday-in-vaduz.mp4", "A title that only its owner may read"
PIECES, PIECE = 1000, 16  # of the clip, to search for
MADE_WITH = (
    "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=12,noise=alls=20:allf=t+u:all_seed=7",
    "-f", "lavfi", "-i", "sine=d=12:r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "28",
    "-pix_fmt", "yuv420p", "-c:a", "aac", "-metadata", f"title={TITLE}", "-movflags", "+faststart")


class NotShown(Exception):
    """Something that the demo should show, and did not."""


def require(is_so, sentence):
    if not is_so:
        raise NotShown(sentence)


def amount(count):
    return f"{count / 1e6:.2f} MB"


def say(sentence):
    print(f"- {sentence}", flush=True)


class Clip:
    """The clip, its frames, and the bytes that would reveal it."""

    def __init__(self, folder):
        self.path = os.path.join(folder, NAME)
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *MADE_WITH, self.path],
                       stdin=subprocess.DEVNULL, check=True)
        with open(self.path, "rb") as file:
            self.content = file.read()
        self.size, (_, self.frames) = len(self.content), decoded_frames(self.path)
        require(self.count() > 100, "the clip cannot be decoded")

    def count(self):
        """Returns the number of frames of its first stream, which is the video."""
        return self.frames.count(b"\n0,")

    def pieces(self):
        """Returns pieces of it from all over, each distinctive enough not to occur in other files."""
        step = self.size // PIECES
        pieces = (self.content[first:first + PIECE] for first in range(0, self.size - PIECE, step))
        return [piece for piece in pieces if len(set(piece)) >= PIECE // 2]

    def play(self, address):
        """Decodes everything at the address; the frames must be those of the clip."""
        code, frames = decoded_frames(address)
        require(code == 0, "the player did not reach the end of the clip")
        require(frames == self.frames, "the frames that the player saw are not the clip's")


def contents(folder):
    """Returns the bytes of every file, and all names, in a folder."""
    for parent, folders, names in os.walk(folder):
        yield "\n".join([*folders, *names]).encode()
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                yield file.read()


def found(needles, haystacks):
    haystacks = list(haystacks)
    return sum(any(needle in haystack for haystack in haystacks) for needle in needles)


def show(binary, folder):
    clip = Clip(folder)
    origin = ScriptedOrigin()
    vault = Vault(binary, os.path.join(folder, "place")).init()
    try:
        url = origin.add(NAME)
        origin.film(NAME).content = clip.content
        say(f"Created a clip of {clip.count()} frames with sound, {amount(clip.size)}, served as {url}: "
            "on this machine, without any network.")
        vault.serve()
        address = vault.address(url)
        say(f"Created a temporary vault and key in {folder}; serving it on {vault.listen}.")

        clip.play(address)
        require(eventually(lambda: vault.info(url)["bytes"] == clip.size), "the clip was played but is not complete")
        fetched, held = vault.bytes_fetched(), vault.info(url)["bytes"]
        require(fetched == clip.size, f"{fetched} bytes were fetched for a clip of {clip.size}")
        say(f"Played it through the vault: {clip.count()} frames and the sound, identical to the file. "
            f"Fetched {amount(fetched)}, each byte once; stored {amount(held)}, encrypted.")

        origin.stop()
        require(decoded_frames(url)[0] != 0, "the origin answers although it was stopped")
        say("Stopped the origin: a player that asks it gets nothing.")

        clip.play(address)
        answer = client.get(address, "bytes=1000-1999")
        require(answer.status == 206 and answer.body == clip.content[1000:2000], "a range of the held clip differs")
        again = vault.bytes_fetched() - fetched
        require(again == 0, f"{again} bytes were fetched although the origin was stopped")
        say(f"Played it again from the vault: the same {clip.count()} frames and sound. "
            f"Fetched nothing; stored {amount(held)}.")
    finally:
        vault.stop()
        origin.stop()

    pieces, words = clip.pieces(), [word.encode() for word in (TITLE, NAME, url)]
    require(found([*pieces, words[0]], [clip.content]) == len(pieces) + 1,
            "the search does not find the clip in itself")
    betrayed = found([*pieces, *words], contents(vault.folder))
    require(betrayed == 0, f"{betrayed} of the things that must not be readable are in the vault's folder")
    files = sum(len(names) for _, _, names in os.walk(vault.folder))
    say(f"Searched the {files} files of the vault's folder for the clip's title, name, URL and {len(pieces)} "
        "pieces of it: none is there. In the clip itself the same search finds them all.")


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    folder = tempfile.mkdtemp(prefix="mediavault-demo-")
    try:
        show(os.path.abspath(sys.argv[1]), folder)
    except (NotShown, AssertionError, OSError, subprocess.SubprocessError) as error:
        print(f"Not shown: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("Everything was shown and cleaned up.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
