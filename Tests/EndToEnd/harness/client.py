"""A client of the service: whole answers, answers read by and by, and requests no library would send."""

import collections
import hashlib
import http.client
import socket
import struct
import threading
import urllib.parse

Answer = collections.namedtuple("Answer", "status headers body complete")


def split(address):
    """Host, port and raw target of an address."""
    parts = urllib.parse.urlsplit(address)
    return parts.hostname, parts.port, address[len(f"{parts.scheme}://{parts.netloc}"):]


class Stream:
    """One answer, read as far as the caller likes, on a connection of its own."""

    def __init__(self, address, range=None, method="GET", headers=None, receive_buffer=None, timeout=60):
        host, port, target = split(address)
        self.connection = http.client.HTTPConnection(host, port, timeout=timeout)
        self.connection.sock = socket.socket()
        if receive_buffer:
            self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.connection.sock.settimeout(timeout)
        self.connection.sock.connect((host, port))
        self.socket = self.connection.sock
        fields = dict(headers or {})
        if range is not None:
            fields["Range"] = range
        self.connection.request(method, target, headers=fields)
        self._response = None
        self.received = 0

    @property
    def response(self):
        """The head of the answer: waits for it."""
        self._response = self._response or self.connection.getresponse()
        return self._response

    @property
    def status(self):
        return self.response.status

    @property
    def headers(self):
        return {name.lower(): value for name, value in self.response.getheaders()}

    @property
    def promised(self):
        length = self.headers.get("content-length")
        return None if length is None else int(length)

    def read(self, count):
        """Up to `count` bytes, fewer only where the answer or the connection ends."""
        parts = []
        while count > 0:
            try:
                part = self.response.read(min(count, 1 << 20))
            except (http.client.IncompleteRead, ConnectionError) as error:
                part = getattr(error, "partial", b"")
                parts.append(part)
                self.received += len(part)
                break
            if not part:
                break
            parts.append(part)
            self.received += len(part)
            count -= len(part)
        return b"".join(parts)

    def discard(self, count):
        """Reads so many bytes away."""
        while count > 0 and (part := self.read(min(count, 1 << 20))):
            count -= len(part)

    def digest_rest(self):
        """The SHA-256 of what is left."""
        digest = hashlib.sha256()
        while part := self.read(1 << 20):
            digest.update(part)
        return digest.hexdigest()

    def is_closed_by_service(self):
        self.socket.settimeout(5)
        try:
            return self.socket.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def close(self):
        """Goes away as a player does: the socket is closed, whatever is under way."""
        if self._response:
            self._response.close()
        self.connection.close()
        self.socket.close()

    def reset(self):
        """Goes away with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def get(address, range=None, method="GET", headers=None, timeout=60):
    """A whole answer; `complete` says whether it had the length it promised."""
    with Stream(address, range, method, headers, timeout=timeout) as stream:
        body = stream.read(1 << 40)
        complete = method == "HEAD" or stream.promised in (None, len(body))
        return Answer(stream.status, stream.headers, body, complete)


def digest(address, range=None):
    """Status, promised length and SHA-256 of an answer, however long."""
    with Stream(address, range) as stream:
        return stream.status, stream.promised, stream.digest_rest()


def raw(port, request, timeout=10):
    """The status of what is answered to these very bytes; None where no HTTP is answered."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(request)
        line = connection.makefile("rb").readline().split()
        return int(line[1]) if line and line[0].startswith(b"HTTP/") else None


def together(actions):
    """Runs all actions at once, each on a thread of its own; waits for all, then raises what they raised."""
    raised = []

    def run(action):
        try:
            action()
        except BaseException as error:  # a thread would print it and forget it
            raised.append(error)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(raised) == 1:
        raise raised[0]
    if raised:
        raise BaseExceptionGroup("several actions failed", raised)
