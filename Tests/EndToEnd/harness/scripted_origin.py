"""An origin that does what real ones seldom do: it delays, refuses, or sends invalid answers; and notes disconnects."""

import contextlib
import random
import re
import select
import socket
import socketserver
import threading
import time

from .nginx_origin import HOST

_RANGE = re.compile(r"bytes=(\d+)-(\d*)$")
_STEP = 64 << 10


class Exchange:
    """One request and its outcome."""

    def __init__(self, method, target, fields, connection):
        self.method, self.target, self.fields, self._connection = method, target, fields, connection
        self.range = fields.get("range")
        self.sent = 0
        self.waiting = threading.Event()  # set while the answer is held back
        self.ended = threading.Event()  # set when the answer is complete, or the client has disconnected
        self.left_at = None  # when the client disconnected before the end

    def cut(self):
        """Breaks the connection, as a failing network does."""
        self._connection.shutdown(socket.SHUT_RDWR)


class Film:
    """What a path answers with. `hold_at`: the offset at which answers wait for `release`; -1 holds back the head as
    well. `lies`: the Content-Range differs from the requested range, and stands there unasked, too. `secret`: the
    Authorization that the origin requires. `content`: the bytes. `type`: the media type. `tags`: entity tags of which
    each answer has a random one, against which it checks If-Range; an empty list means no tag."""

    def __init__(self, size=0, seed=1, hold_at=None, status=None, headers=(), lies=False, secret=None, content=None,
                 type="video/mp4", tags=None, silent_to_head=False):
        self.content = random.Random(seed).randbytes(size) if content is None else content
        self.type = type
        self.tags, self.silent_to_head = tags, silent_to_head
        self.hold_at, self.status, self.headers, self.lies = hold_at, status, dict(headers), lies
        self.secret = secret
        self.tag = f'"film-{seed}-{size}"'
        self.release = threading.Event()


class ScriptedOrigin:
    def __init__(self):
        self.films, self.exchanges = {}, []
        origin = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                origin._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads, allow_reuse_address, request_queue_size = True, True, 128

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, target):
        return f"http://{HOST}:{self.port}/{target}"

    def add(self, target, **script):
        """Serves a media file at that target; returns its URL."""
        self.films["/" + target] = Film(**script)
        return self.url(target)

    def film(self, target):
        return self.films["/" + target]

    def gets(self, target):
        return [item for item in list(self.exchanges) if item.method == "GET" and item.target == "/" + target]

    def stop(self):
        for film in self.films.values():
            film.release.set()
        self._server.shutdown()
        self._server.server_close()
        for exchange in self.exchanges:  # closes persistent connections
            with contextlib.suppress(OSError):
                exchange.cut()

    def _serve(self, connection):
        reader = connection.makefile("rb")
        try:
            while line := reader.readline():
                method, target = line.decode("latin-1").split()[:2]
                fields = {}
                while (field := reader.readline()) not in (b"\r\n", b"\n", b""):
                    name, _, value = field.decode("latin-1").partition(":")
                    fields[name.lower()] = value.strip()
                exchange = Exchange(method, target, fields, connection)
                self.exchanges.append(exchange)
                try:
                    if not self._answer(connection, exchange):
                        return
                finally:
                    exchange.ended.set()
        except OSError:
            pass

    def _answer(self, connection, exchange):
        """Answers a request; returns whether the connection can be kept."""
        film = self.films.get(exchange.target)
        status = film.status if film else 404
        if film and film.secret not in (None, exchange.fields.get("authorization")):
            status = 401
        if status:
            lines = [f"HTTP/1.1 {status} Refused", "Content-Length: 0"]
            self._head(connection, lines, film.headers if film else {})
            return True
        if exchange.method == "HEAD" and film.silent_to_head:
            return self._wait(connection, film, exchange)
        tags = [film.tag] if film.tags is None else film.tags
        tag = random.choice(tags) if tags else None
        condition = exchange.fields.get("if-range", "")
        if film.tags is not None and condition not in ("", tag, film.headers.get("Last-Modified")):
            exchange.range = None
        first, end = self._asked(exchange, film)
        if exchange.method == "HEAD":
            first, end, exchange.range = 0, len(film.content), None
        elif film.hold_at == -1 and not self._wait(connection, film, exchange):
            return False
        lines = ["HTTP/1.1 200 OK"]
        if exchange.range or film.lies and exchange.method == "GET":
            shown = first + (1 if film.lies else 0)
            lines = ["HTTP/1.1 206 Partial Content", f"Content-Range: bytes {shown}-{end - 1}/{len(film.content)}"]
        lines += [f"Content-Length: {end - first}", "Accept-Ranges: bytes", f"Content-Type: {film.type}"]
        self._head(connection, lines + ([f"ETag: {tag}"] if tag else []), film.headers)
        return exchange.method == "HEAD" or self._body(connection, exchange, film, first, end)

    def _asked(self, exchange, film):
        match = _RANGE.match(exchange.range or "")
        if not match:
            return 0, len(film.content)
        last = int(match[2]) if match[2] else len(film.content) - 1
        return int(match[1]), min(last + 1, len(film.content))

    def _head(self, connection, lines, headers):
        lines = lines + [f"{name}: {value}" for name, value in headers.items()]
        connection.sendall("\r\n".join(lines + ["", ""]).encode("latin-1"))

    def _body(self, connection, exchange, film, first, end):
        offset = first
        while offset < end:
            stop = min(offset + _STEP, end)
            if film.hold_at is not None and not film.release.is_set() and offset <= film.hold_at < stop:
                stop = film.hold_at
                if stop == offset:
                    if not self._wait(connection, film, exchange):
                        return False
                    continue
            try:
                connection.sendall(film.content[offset:stop])
            except OSError:
                exchange.left_at = time.monotonic()
                return False
            exchange.sent += stop - offset
            offset = stop
        return True

    def _wait(self, connection, film, exchange):
        """Holds the answer back until it is released (returns true) or the client disconnects (returns false)."""
        exchange.waiting.set()
        while not film.release.is_set():
            readable, _, _ = select.select([connection], [], [], 0.01)
            if readable and not self._still_there(connection):
                exchange.left_at = time.monotonic()
                return False
        exchange.waiting.clear()
        return True

    def _still_there(self, connection):
        try:
            return connection.recv(1, socket.MSG_PEEK) != b""
        except OSError:
            return False
