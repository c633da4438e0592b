"""What a viewer does with a player, done headless: start, seek, stop, resume, play everything; and what the player saw.

The `session` of each player returns a dictionary of what it saw, comparable with that of another address: checksums of
frames, of samples, of bytes. None stands for what the player cannot do.
"""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.parse

import numpy

from . import players
from .nginx_origin import free_port
from .waiting import eventually

RATE = 25  # pictures per second, in all media
SECONDS = (9, 3)  # positions to seek to, in this order
_STOPPED = SECONDS[-1]  # the position at which a player stops and resumes
_NOBODY = 65_534


def _digest(content):
    return hashlib.sha256(content).hexdigest()


def _run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **options)


class Player:
    """A player with a folder of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="mediavault-player-")

    def path(self, name):
        return os.path.join(self.folder, name)

    def taken(self, name):
        """Returns what the player wrote to a file, and removes the file."""
        try:
            with open(self.path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""
        finally:
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))

    def local(self, manifest):
        """Copies the folder of a manifest to where the player reads it; returns the address of the manifest there."""
        shutil.rmtree(self.path("film"), ignore_errors=True)
        shutil.copytree(os.path.dirname(manifest), self.path("film"))
        return os.path.join(self.path("film"), os.path.basename(manifest))

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Ffmpeg(Player):
    def session(self, address):
        def decoded(*options):
            code, frames = players.decoded_frames(address, *options)
            return (players.frame_count(frames), _digest(frames)) if code == 0 and players.frame_count(frames) else None
        return {
            "start": decoded("-t", "1"), **{f"seek to {at} s": decoded("-ss", str(at), "-t", "1") for at in SECONDS},
            "resume": decoded("-ss", str(_STOPPED + 1), "-t", "1"), "whole": decoded()}


class Mpv(Player):
    def session(self, address):
        return {
            **{f"goes to {at} s": reached for at, reached in self._by_hand(address)},
            **{f"seek to {at} s": self._decoded(address, f"--start={at}", "--length=1") for at in SECONDS},
            "resume": self._decoded(address, f"--start={_STOPPED + 1}", "--length=1"),
            "whole": self._decoded(address)}

    def seconds(self, address):
        """Returns how many seconds it plays from wherever it starts by itself, to the end."""
        return len(self._frames(address)[1].get("video", ())) / RATE

    def _decoded(self, address, *options):
        """Returns count and checksum of the frames."""
        code, frames = self._frames(address, *options)
        count = sum(map(len, frames.values()))
        return (count, _digest(json.dumps(frames, sort_keys=True).encode())) if code == 0 and count else None

    def _frames(self, address, *options):
        """Returns the exit code, and the frames of each kind. If mpv demuxes on its own thread, its timestamps differ
        from run to run at any address; so this option is off."""
        done = _run("mpv", "--no-config", "--no-terminal", "--demuxer-thread=no", "--of=framemd5", "--ovc=rawvideo",
                    "--oac=pcm_s16le", f"--o={self.path('frames')}", *options, address)
        return done.returncode, _by_kind(self.taken("frames").decode())

    def _by_hand(self, address):
        mpv = players.Mpv(address, self.path("control"))
        try:
            mpv.wait_for("playback-restart")
            for at in SECONDS:
                mpv.seek(at)
                yield at, abs(mpv.position() - at) < 1.5 or None
            mpv.quit()
        finally:
            mpv.close()


class VLC(Player):
    """VLC refuses to run as root, so root runs it as the user nobody; it needs only the address."""

    _CHUNK = slice(16_000, 44_000)  # of the samples after a seek: skips those that a decoder needs to warm up
    _TRIES = 8
    _NEAR = 2.5  # seconds: VLC seeks to the packet before, or to what it takes for that packet
    _ROUNDING = 2  # of 32 768: how much a decoder may differ that started elsewhere

    def __init__(self):
        super().__init__()
        self._prefix = ()
        if os.geteuid() == 0:
            os.chown(self.folder, _NOBODY, _NOBODY)
            self._prefix = ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups")
        self._environment = {**os.environ, "HOME": self.folder}

    def local(self, manifest):
        address = super().local(manifest)
        if self._prefix:
            folder = os.path.dirname(address)
            for path in (folder, *(os.path.join(folder, name) for name in os.listdir(folder))):
                os.chown(path, _NOBODY, _NOBODY)
        return address

    def seconds(self, address):
        """Returns how many seconds it plays from wherever it starts by itself, to the end."""
        samples, rate = self._samples(address)
        return len(samples) / rate if rate else 0

    def short_session(self, address):
        """Returns what a session sees, without the sound after each seek, which takes long."""
        whole, _ = self._samples(address)
        return {"whole": _digest(whole.tobytes()) if whole.size else None, **self._by_hand(address)}

    def session(self, address):
        whole, rate = self._samples(address)
        seen = {"bytes": self._bytes(address), "whole": _digest(whole.tobytes()) if whole.size else None}
        for name, at in [*((f"seek to {at} s", at) for at in SECONDS), ("resume", _STOPPED + 1)]:
            seen[name] = self._after_seek(address, at, whole, rate)
        return {**seen, **self._by_hand(address)}

    def _command(self, *options):
        return [*self._prefix, "cvlc", "--vout=dummy", "--aout=dummy", *options]

    def _bytes(self, address):
        _run(*self._command("-I", "dummy", "--demux=dump", f"--demuxdump-file={self.path('dump')}", address,
                            "vlc://quit"), env=self._environment)
        return _digest(self.taken("dump"))

    def _samples(self, address, *options):
        """Returns the decoded samples and the number of samples per second."""
        output = f"#transcode{{acodec=s16l}}:std{{access=file,mux=wav,dst={self.path('sound')}}}"
        _run(*self._command("-I", "dummy", "--no-video", "--sout", output, *options, address, "vlc://quit"),
             env=self._environment)
        sound = self.taken("sound")
        content = sound[sound.find(b"data") + 8:]
        return numpy.frombuffer(content[:len(content) & ~1], "<i2"), int.from_bytes(sound[28:32], "little") // 2

    def _after_seek(self, address, *arguments):
        """Whether the samples after a seek are those of the file. One time in twenty VLC starts an Ogg at its
        beginning, whatever the start time and the address; with a bare transport stream it always does."""
        tries = 1 if urllib.parse.urlsplit(address).path.endswith(".ts") else self._TRIES
        return any(self._is_after_seek(address, *arguments) for _ in range(tries)) or None

    def _is_after_seek(self, address, at, whole, rate):
        samples, _ = self._samples(address, f"--start-time={at}", f"--stop-time={at + 2}")
        chunk = samples[self._CHUNK].astype(float)
        first = max(0, int((at - self._NEAR) * rate))
        near = whole[first:int((at + self._NEAR + 1) * rate)].astype(float)
        if not 0 < len(chunk) <= len(near):
            return False
        place = int(numpy.argmax(_correlation(near, chunk)))
        differs = numpy.abs(near[place:place + len(chunk)] - chunk).max()
        return differs <= self._ROUNDING

    def _by_hand(self, address):
        port = free_port()
        vlc = subprocess.Popen(
            self._command("-I", "rc", "--rc-host", f"127.0.0.1:{port}", "--rc-fake-tty", address),
            env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            control = _Control(port)
            started = eventually(lambda: control.statistic("audio decoded") > 0)
            seen = {"start": started or None}
            for at, limit in zip(SECONDS, (1 << 30, SECONDS[0])):
                control.say(f"seek {at}")
                seen[f"goes to {at} s"] = eventually(lambda: at - 1 <= control.time() < limit, within=5) or None
            seen["damaged packets"] = control.statistic("demux corrupted")
            control.say("shutdown")
            vlc.wait(timeout=20)
            return seen
        finally:
            vlc.kill()
            vlc.wait()


def _by_kind(frames):
    """Returns the lines of the frames of picture and of sound apart, without their stream's number: mpv numbers the
    streams in the order in which it has decoded the first of each, which differs from run to run at any address."""
    kinds = dict(re.findall(r"^#media_type (\d+): (\w+)", frames, re.MULTILINE))
    found = {}
    for number, line in re.findall(r"^(\d+),(.*)", frames, re.MULTILINE):
        found.setdefault(kinds[number], []).append(line)
    return found


def _correlation(whole, part):
    """Returns the correlation of the part with the whole at each offset."""
    size = 1 << (len(whole) + len(part)).bit_length()
    spectrum = numpy.fft.rfft(whole, size) * numpy.conj(numpy.fft.rfft(part, size))
    return numpy.fft.irfft(spectrum, size)[:len(whole) - len(part) + 1]


class _Control:
    """VLC's remote control: sends a line, receives lines with a prompt at their end."""

    def __init__(self, port):
        self._socket = None
        if not eventually(lambda: self._connected(port)):
            raise AssertionError("VLC did not open its remote control")
        self._lines = self._socket.makefile("r", encoding="utf-8", errors="replace")

    def _connected(self, port):
        try:
            self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
            return True
        except OSError:
            return False

    def say(self, words):
        self._socket.sendall(words.encode() + b"\n")

    def _asked(self, question):
        """Yields the lines of an answer, none while nothing plays yet. VLC reports the unknown command `over`: the
        end."""
        self.say(f"{question}\nover")
        for line in self._lines:
            if "`over'" in line:
                return
            yield line.replace("> ", "").strip()
        raise AssertionError(f"VLC ended before it answered {question}")

    def time(self):
        return max((int(line) for line in self._asked("get_time") if line.isdigit()), default=-1)

    def statistic(self, name):
        return sum(int(line.rpartition(":")[2]) for line in self._asked("stats")
                   if line.startswith("|") and line[1:].partition(":")[0].strip() == name)


class GStreamer(Player):
    def local(self, manifest):
        return "file://" + super().local(manifest)

    def session(self, address):
        return self._run(address, *map(str, SECONDS))

    def seconds(self, address):
        """Returns how many seconds it plays from wherever it starts by itself, to the end."""
        return self._run(address) / RATE

    def _run(self, *arguments):
        script = os.path.join(os.path.dirname(__file__), "gstreamer_session.py")
        # One time in hundreds GStreamer itself is ended by a signal as it stops playing DASH: it gets a second chance.
        for _ in range(2):
            done = _run("/usr/bin/python3", script, *arguments)  # the Python that python3-gi belongs to
            if done.returncode == 0:
                return json.loads(done.stdout)
            if done.returncode > 0:
                break
        said = done.stderr.decode().strip().splitlines() or [""]
        raise AssertionError(f"GStreamer exited {done.returncode}: {said[-1]}")


class Chromium(Player):
    """One browser for all sessions, each with its own profile."""

    def __init__(self, python):
        super().__init__()
        script = os.path.join(os.path.dirname(__file__), "chromium_session.py")
        self._process = subprocess.Popen(
            [python, script], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def session(self, address):
        return self._asked(address=address, seconds=SECONDS) or {"start": None}

    def seconds(self, address):
        """Returns how many seconds it plays from wherever it starts by itself, to the end."""
        return self._asked(address=address) or 0

    def _asked(self, **request):
        print(json.dumps(request), file=self._process.stdin, flush=True)
        told = json.loads(self._process.stdout.readline() or '{"error": "the browser has ended"}')
        if "error" in told:
            raise AssertionError(f"Chromium: {told['error']}")
        return told["seen"]

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
        super().close()
