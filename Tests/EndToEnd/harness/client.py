"""A client of the service: whole answers, answers read in steps, and raw requests that no library would send."""

import collections
import hashlib
import http.client
import socket
import struct
import threading
import urllib.parse

Answer = collections.namedtuple("Answer", "status headers body complete")


def split(address):
    """Returns host, port and raw target of an address."""
    parts = urllib.parse.urlsplit(address)
    return parts.hostname, parts.port, address[len(f"{parts.scheme}://{parts.netloc}"):]


class Stream:
    """One answer on its own connection, read as far as the caller wants."""

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
        """The head of the answer; waits until it has arrived."""
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
        """Returns up to `count` bytes; fewer only if the answer or the connection ends."""
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
        """Reads and drops up to `count` bytes."""
        while count > 0 and (part := self.read(min(count, 1 << 20))):
            count -= len(part)

    def digest_rest(self):
        """Returns the SHA-256 of the rest of the answer."""
        digest = hashlib.sha256()
        while part := self.read(1 << 20):
            digest.update(part)
        return digest.hexdigest()

    def is_closed_by_service(self):
        self.socket.settimeout(30)
        try:
            return self.socket.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def close(self):
        """Disconnects as a player does: closes the socket, even in the middle of an answer."""
        if self._response:
            self._response.close()
        self.connection.close()
        self.socket.close()

    def reset(self):
        """Disconnects with a TCP reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def get(address, range=None, method="GET", headers=None, timeout=60):
    """Returns a whole answer; `complete` states whether it had the promised length."""
    with Stream(address, range, method, headers, timeout=timeout) as stream:
        body = stream.read(1 << 40)
        complete = method == "HEAD" or stream.promised in (None, len(body))
        return Answer(stream.status, stream.headers, body, complete)


def digest(address, range=None):
    """Returns status, promised length and SHA-256 of an answer of any length."""
    with Stream(address, range) as stream:
        return stream.status, stream.promised, stream.digest_rest()


def raw(port, request, timeout=30):
    """Sends these exact bytes and returns the status of the answer; None if the answer is not HTTP."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(request)
        line = connection.makefile("rb").readline().split()
        return int(line[1]) if line and line[0].startswith(b"HTTP/") else None


def together(actions):
    """Runs all actions at once, each on its own thread; waits for all of them, then raises their errors."""
    raised = []

    def run(action):
        try:
            action()
        except BaseException as error:  # a thread would only print the error
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
