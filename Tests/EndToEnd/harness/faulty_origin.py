"""An origin with the faults of real networks and servers; a fault has a name and a seed, and can be changed at any
time."""

import contextlib
import random
import socket
import struct
import threading
import time

from .scripted_origin import HOST, Film, ScriptedOrigin  # noqa: F401: checks import both from here, too

_STEP = 16 << 10
LAST_MODIFIED = "Sun, 01 Nov 2026 12:00:00 GMT"


class Fault:
    """No fault; each subclass overrides what fails."""

    rate = None  # bytes per second; None for no limit

    def __init__(self, seed=1):
        self._lock, self._dice = threading.Lock(), random.Random(seed)

    def draw(self, *bounds):
        with self._lock:
            return self._dice.randrange(*bounds)

    def status(self, exchange):
        """Returns status and fields of a refusal; None for the real answer."""
        return None

    def is_reset(self, exchange):
        """Whether the connection is reset before the first byte of the answer."""
        return False

    def breaks_after(self, exchange):
        """Returns the number of body bytes after which the connection is reset; None for no reset."""
        return None

    def silence(self, exchange):
        """Returns the delay before the head, in seconds."""
        return 0

    def pause(self, exchange):
        """Returns the length of a pause in the middle of the body, in seconds."""
        return 0

    def tag(self, film):
        return film.tag

    def has_ranges(self):
        return True

    def head_length(self, film):
        """Returns the Content-Length of an answer to HEAD; None to omit it."""
        return len(film.content)


class Breaks(Fault):
    """Resets the connection after every 100 to 256 KB."""

    rate = 6_000_000

    def breaks_after(self, exchange):
        return self.draw(100_000, 256_000)


class _FirstSeeks(Fault):
    """Recognises the first request for each offset beyond the first block."""

    def __init__(self, seed=1):
        super().__init__(seed)
        self._met = set()

    def is_first(self, exchange):
        first = (exchange.range or "").removeprefix("bytes=").partition("-")[0]
        with self._lock:
            is_new = exchange.method == "GET" and first not in ("", "0") and (exchange.target, first) not in self._met
            self._met.add((exchange.target, first))
            return is_new


class ResetSeeks(_FirstSeeks):
    """Resets the first request of each seek."""

    def is_reset(self, exchange):
        return self.is_first(exchange)


class Busy(_FirstSeeks):
    """Answers the first request of each seek with 503 and a Retry-After of one second."""

    def status(self, exchange):
        return (503, {"Retry-After": "1"}) if self.is_first(exchange) else None


class TwoNodes(Fault):
    """Two nodes answer at random, each with its own entity tag for the same bytes."""

    rate = 6_000_000

    def tag(self, film):
        return f'"node-{self.draw(2)}"'


class ChangingWeakTags(Fault):
    """Each answer has a different weak tag for the same bytes."""

    rate = 6_000_000

    def __init__(self, seed=1):
        super().__init__(seed)
        self._count = 0

    def tag(self, film):
        with self._lock:
            self._count += 1
            return f'W/"{self._count}"'


class NoValidators(Fault):
    """Answers have no validators."""

    rate = 6_000_000

    def tag(self, film):
        return None


class SilentHead(Fault):
    """HEAD is answered after ten seconds."""

    def silence(self, exchange):
        return 10 if exchange.method == "HEAD" else 0


class EmptyHead(Fault):
    """HEAD is answered with Content-Length: 0, as some frameworks do."""

    def head_length(self, film):
        return 0


class RefusedHead(Fault):
    """HEAD is answered with 404, although GET works."""

    def status(self, exchange):
        return (404, {}) if exchange.method == "HEAD" else None


class WithoutRanges(Fault):
    """Every answer is the whole representation."""

    def has_ranges(self):
        return False


class Stalls(Fault):
    """One in four answers, at random, pauses for two seconds on its way."""

    def pause(self, exchange):
        return 0 if self.draw(4) else 2


class FaultyOrigin(ScriptedOrigin):
    """A scripted origin whose `fault` may be changed at any time."""

    def __init__(self, fault=None):
        super().__init__()
        self.fault = fault or Fault()
        self._is_stopped = threading.Event()

    def put(self, target, film):
        """Serves `film` at that target from now on; returns its URL."""
        self.films["/" + target] = film
        return self.url(target)

    def stop(self):
        self._is_stopped.set()
        super().stop()

    def _answer(self, connection, exchange):
        film, fault = self.films.get(exchange.target.partition("?")[0]), self.fault
        self._is_stopped.wait(fault.silence(exchange))
        if fault.is_reset(exchange):
            return self._reset(connection)
        status, fields = (404, {}) if film is None else fault.status(exchange) or (None, {})
        if status:
            self._head(connection, [f"HTTP/1.1 {status} Refused", "Content-Length: 8", "Content-Type: text/plain"], fields)
            if exchange.method != "HEAD":
                connection.sendall(b"refused\n")
            return True
        content, tag, modified = film.content, fault.tag(film), getattr(film, "modified", LAST_MODIFIED)
        first, end = self._asked(exchange, film)
        if first >= len(content) and exchange.range and fault.has_ranges():
            lines = ["HTTP/1.1 416 Range Not Satisfiable", f"Content-Range: bytes */{len(content)}", "Content-Length: 0"]
            self._head(connection, lines, {})
            return True
        is_part = bool(exchange.range) and fault.has_ranges() and exchange.method == "GET"
        if exchange.fields.get("if-range") not in (None, tag, modified) or not is_part:
            is_part, first, end = False, 0, len(content)
        lines = ["HTTP/1.1 200 OK"]
        if is_part:
            lines = ["HTTP/1.1 206 Partial Content", f"Content-Range: bytes {first}-{end - 1}/{len(content)}"]
        length = fault.head_length(film) if exchange.method == "HEAD" else end - first
        lines += [] if length is None else [f"Content-Length: {length}"]
        lines += ["Accept-Ranges: bytes"] if fault.has_ranges() else []
        lines += [f"ETag: {tag}", f"Last-Modified: {modified}"] if tag else []
        self._head(connection, [*lines, "Content-Type: video/mp4"], film.headers)
        return exchange.method == "HEAD" or self._flow(connection, exchange, memoryview(content)[first:end], fault)

    def _flow(self, connection, exchange, body, fault):
        """Sends the body; returns whether the connection can be kept."""
        breaks, pause = fault.breaks_after(exchange), fault.pause(exchange)
        stop = len(body) if breaks is None else min(breaks, len(body))
        for offset in range(0, stop, _STEP):
            if pause and offset >= stop // 2:
                self._is_stopped.wait(pause)
                pause = 0
            try:
                connection.sendall(body[offset:min(offset + _STEP, stop)])
            except OSError:
                exchange.left_at = time.monotonic()
                return False
            exchange.sent += min(_STEP, stop - offset)
            if fault.rate:
                self._is_stopped.wait(_STEP / fault.rate)
        return True if stop == len(body) else self._reset(connection)

    def _reset(self, connection):
        """Resets the connection, shortly after the bytes sent so far, so that they can arrive."""
        self._is_stopped.wait(0.02)
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.shutdown(socket.SHUT_RD)
            connection.close()
        return False
