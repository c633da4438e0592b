"""Plays a URL with GStreamer's playbin as a player does, and prints what it saw as JSON. Run by sessions.GStreamer.

    gstreamer_session.py URL SECOND...
    gstreamer_session.py URL              only plays it; prints the number of pictures
"""

import hashlib
import json
import sys
import time
import urllib.parse

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

ANSWER_WITHIN = 60 * Gst.SECOND
TRIES = 20
GROUP = 25  # frames from one key frame to the next
SETTLING = 4  # sound buffers after a seek whose content depends on what the decoder had before


class Sink:
    """Receives the decoded data and computes its checksum."""

    def __init__(self, is_sound):
        self.is_sound = is_sound
        self.element = Gst.ElementFactory.make("fakesink")
        self.element.set_property("signal-handoffs", True)
        self.element.connect("handoff", self._take)
        self.begin()

    def begin(self):
        self.pieces, self._all = [], hashlib.sha256()

    def _take(self, _, buffer, __):
        data = buffer.extract_dup(0, buffer.get_size())
        self.pieces.append(hashlib.sha256(data).hexdigest())
        self._all.update(data)

    def taken(self):
        return self._all.hexdigest() if self.pieces else None

    def shown(self):
        """Returns the checksum of the frame, or the place of the sound buffer, that a paused player shows.

        The first sound after a seek differs from run to run, even for a local file."""
        sample = self.element.get_property("last-sample")
        buffer = sample and sample.get_buffer()
        if buffer and self.is_sound:
            return f"{buffer.get_size()} bytes at {buffer.pts}"
        return buffer and hashlib.sha256(buffer.extract_dup(0, buffer.get_size())).hexdigest()


class Player:
    def __init__(self, url):
        self.sinks = {"video-sink": Sink(False), "audio-sink": Sink(True)}
        self.playbin = Gst.ElementFactory.make("playbin")
        self.playbin.set_property("uri", url)
        for name, sink in self.sinks.items():
            self.playbin.set_property(name, sink.element)

    def wait_for(self, kind):
        """Waits for a message of this kind; raises an error that arrives first."""
        message = self.playbin.get_bus().timed_pop_filtered(ANSWER_WITHIN, kind | Gst.MessageType.ERROR)
        if message is None:
            raise TimeoutError("the player has gone silent")
        if message.type == Gst.MessageType.ERROR:
            raise RuntimeError(message.parse_error()[0].message)

    def open(self):
        self.playbin.set_state(Gst.State.PAUSED)
        self.wait_for(Gst.MessageType.ASYNC_DONE)
        return self

    def is_seekable(self):
        query = Gst.Query.new_seeking(Gst.Format.TIME)
        return self.playbin.query(query) and query.parse_seeking()[1]

    def seek(self, second):
        """Returns what the player shows there; None if it cannot seek, which it also reports while it determines an
        Ogg's length."""
        flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE
        for _ in range(TRIES):
            if self.playbin.seek_simple(Gst.Format.TIME, flags, second * Gst.SECOND):
                self.wait_for(Gst.MessageType.ASYNC_DONE)
                return self.shown()
            time.sleep(0.05)
        return None

    def shown(self):
        return [sink.shown() for sink in self.sinks.values()]

    def play_to_end(self):
        """Decodes everything from here on as fast as possible; returns the checksums."""
        for sink in self.sinks.values():
            sink.begin()
        self.playbin.set_state(Gst.State.PLAYING)
        self.wait_for(Gst.MessageType.EOS)
        return [sink.taken() for sink in self.sinks.values()]

    def stop(self):
        self.playbin.set_state(Gst.State.NULL)


def opened(url):
    """Returns a paused player. GStreamer finds the length of an Ogg only if it looks before the last byte has
    arrived."""
    player = Player(url).open()
    for _ in range(TRIES):
        if player.is_seekable():
            break
        player.stop()
        player = Player(url).open()
    return player


def is_end(sink, resumed, whole, settling):
    """Whether a resumed player saw the end of the whole, apart from the first pieces, and from the last ones: how these
    are cut depends on the seek."""
    frames, all_frames = resumed.sinks[sink].pieces[settling:-1], whole.sinks[sink].pieces
    if not frames or frames[0] not in all_frames:
        return False
    first = all_frames.index(frames[0])
    end = first + len(frames)
    return frames == all_frames[first:end] and end >= len(all_frames) - 2


def sought(player, url, second):
    """Returns what a player shows at a second. One that takes a wrong length for that of an Ogg cannot seek, at any
    address, and is replaced."""
    for _ in range(TRIES):
        if shown := player.seek(second):
            return player, shown
        if not path(url).endswith(".ogg"):
            break
        player.stop()
        player = opened(url)
    return player, None


def resume(url, second, is_whole):
    """Plays from a second to the end; returns the player, and what it played. One that takes a wrong length for that of
    an Ogg seeks elsewhere, at any address, and is replaced."""
    for _ in range(TRIES):
        player = opened(url)
        played = player.seek(second) and player.play_to_end()
        player.stop()
        if played != [None, None] and is_whole(player):
            break
    return player, played


def path(url):
    return urllib.parse.urlsplit(url).path


def session(url, seconds):
    """Starts, seeks, stops; then resumes at the last second and plays to the end; then plays everything."""
    seen, player = {}, opened(url)
    seen["start"] = player.shown()
    for second in seconds:
        player, seen[f"seek to {second} s"] = sought(player, url, second)
    player.stop()
    resumed, seen["resume"] = resume(url, seconds[-1], lambda _: True)
    whole = opened(url)
    seen["whole"] = whole.play_to_end()
    whole.stop()
    if path(url).endswith((".ts", ".ogg")):
        # In a transport stream or an Ogg, a seek goes where the estimated bit rate leads, and may show half a picture
        # first: both differ from run to run, at any address. So only what plays from there on is compared with the
        # whole file.
        for second in seconds:
            seen[f"seek to {second} s"] = seen[f"seek to {second} s"] and True
    if path(url).endswith(".ts"):
        seen["resume"] = is_end("video-sink", resumed, whole, GROUP) or None
    else:
        def ends(player):
            return is_end("audio-sink", player, whole, SETTLING)
        if path(url).endswith(".ogg") and not ends(resumed):
            resumed, seen["resume"] = resume(url, seconds[-1], ends)
        if seen["resume"] and ends(resumed):
            seen["resume"][1] = True
    return seen


def pictures(url):
    """Plays from wherever the player starts by itself; returns the number of pictures."""
    player = Player(url).open()
    player.play_to_end()
    player.stop()
    return len(player.sinks["video-sink"].pieces)


if __name__ == "__main__":
    Gst.init(None)
    seconds = [int(second) for second in sys.argv[2:]]
    print(json.dumps(session(sys.argv[1], seconds) if seconds else pictures(sys.argv[1])))
