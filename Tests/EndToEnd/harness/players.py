"""Real players, run headless."""

import contextlib
import json
import os
import re
import socket
import subprocess

from .waiting import eventually

_MPV = ("mpv", "--no-config", "--vo=null", "--ao=null", "--ao-null-untimed", "--no-terminal")


def decoded_frames(source, *seek):
    """Returns ffmpeg's exit code and the hash of every decoded frame; `seek` options go before the input: -ss 5, -t
    1."""
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-nostdin", *seek, "-i", source, "-f", "framemd5", "-"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    return done.returncode, done.stdout


def frame_count(frames):
    return len(re.findall(rb"^\d", frames, re.MULTILINE))


def mpv_exit(source, *options):
    """Returns the exit code of mpv after playing to the end: 0 played, 2 could not open, 3 partly failed."""
    return subprocess.run(
        [*_MPV, "--untimed", *options, source],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=300).returncode


class Mpv:
    """An mpv process that can be told to seek and asked for its position. It stands still, because it would play sound
    that is discarded too fast; and it opens its source only when its events can be heard."""

    def __init__(self, source, control):
        self._process = subprocess.Popen(
            [*_MPV, "--idle", "--pause", f"--input-ipc-server={control}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not eventually(lambda: os.path.exists(control) and self._connected(control)):
            self._process.kill()
            raise AssertionError("mpv did not open its control socket")
        self._reader = self._socket.makefile("rb")
        self._say("loadfile", source)

    def _connected(self, control):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        try:
            self._socket.connect(control)
            return True
        except OSError:
            self._socket.close()
            return False

    def _say(self, *command):
        self._socket.sendall(json.dumps({"command": command}).encode() + b"\n")

    def wait_for(self, event):
        """Reads messages until the event arrives; drops all others."""
        for line in self._reader:
            told = json.loads(line).get("event")
            if told == event:
                return
            if told == "end-file":
                break
        raise AssertionError(f"mpv ended before {event}")

    def seek(self, seconds):
        self._say("seek", seconds, "absolute+exact")
        self.wait_for("playback-restart")

    def position(self):
        self._say("get_property", "time-pos")
        for line in self._reader:
            told = json.loads(line)
            if "error" in told:
                return told.get("data")
        raise AssertionError("mpv ended before it said where it is")

    def quit(self):
        self._say("quit")
        return self._process.wait(timeout=30)

    def close(self):
        self._socket.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
