"""Proxies as offices have them: HTTP with tunnels, and SOCKS 5; both may want a user and a password. Every host name
that they are asked for stands for 127.0.0.1, so only what went through a proxy finds its origin. And an authority that
certifies origins."""

import base64
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import threading


class _Server:
    """Serves each connection to a port of this machine in a thread of its own."""

    def __init__(self):
        owner = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                try:
                    owner._serve(self.request)
                except (OSError, ValueError, struct.error):
                    pass

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads, allow_reuse_address = True, True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class _Proxy(_Server):
    scheme = None

    def __init__(self, user=None, password=None):
        self.user, self.password = user, password
        self.asked = []  # (host, port) of each request that was let through
        self.refused = 0  # requests without the right credentials
        self.heads = []  # the heads with which HTTP tunnels were asked for
        super().__init__()

    def url(self, password=None):
        """Returns the address of the proxy, with its credentials if it wants any."""
        credentials = f"{self.user}:{password or self.password}@" if self.user else ""
        return f"{self.scheme}://{credentials}127.0.0.1:{self.port}"

    def _connect(self, host, port):
        self.asked.append((host, port))
        return socket.create_connection(("127.0.0.1", port), timeout=30)

    @staticmethod
    def _pump(one, other):
        """Passes on bytes in both directions until one side ends."""
        def copy(source, target):
            try:
                while data := source.recv(64 << 10):
                    target.sendall(data)
            except OSError:
                pass
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        back = threading.Thread(target=copy, args=(other, one), daemon=True)
        back.start()
        copy(one, other)
        back.join()
        other.close()


class HTTPProxy(_Proxy):
    """A proxy that forwards requests for http URLs, and opens tunnels for CONNECT."""

    scheme = "http"

    def _serve(self, client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (byte := client.recv(1)):
                return
            head += byte
        request, *lines = head.decode("latin-1").strip().split("\r\n")
        method, target, _ = request.split(" ")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if self.user:
            expected = "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            if fields.get("proxy-authorization") != expected:
                self.refused += 1
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
                               b"Content-Length: 0\r\nConnection: close\r\n\r\n")
                return
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            self.heads.append(head.decode("latin-1"))
            origin = self._connect(host, int(port))
            client.sendall(b"HTTP/1.1 200 Connection established\r\nX-Of-The-Proxy: yes\r\n\r\n")
        else:
            authority, slash, path = target.removeprefix("http://").partition("/")
            host, _, port = authority.partition(":")
            origin = self._connect(host, int(port or 80))
            kept = [line for line in lines if not line.lower().startswith(("proxy-", "connection:"))]
            origin.sendall("\r\n".join([f"{method} {slash}{path} HTTP/1.1", *kept, "Connection: close", "", ""])
                           .encode("latin-1"))
        self._pump(client, origin)


class SOCKSProxy(_Proxy):
    """A SOCKS 5 proxy (RFC 1928, RFC 1929)."""

    scheme = "socks5h"

    @staticmethod
    def _exactly(client, count):
        data = b""
        while len(data) < count:
            if not (more := client.recv(count - len(data))):
                raise OSError("the client has left")
            data += more
        return data

    def _serve(self, client):
        _, count = self._exactly(client, 2)
        offered = self._exactly(client, count)
        method = 2 if self.user else 0
        if method not in offered:
            self.refused += 1
            client.sendall(b"\x05\xff")
            return
        client.sendall(bytes([5, method]))
        if self.user:
            _, length = self._exactly(client, 2)
            user = self._exactly(client, length)
            password = self._exactly(client, self._exactly(client, 1)[0])
            is_right = (user, password) == (self.user.encode(), self.password.encode())
            client.sendall(b"\x01\x00" if is_right else b"\x01\x01")
            if not is_right:
                self.refused += 1
                return
        _, _, _, kind = self._exactly(client, 4)
        if kind == 3:
            host = self._exactly(client, self._exactly(client, 1)[0]).decode()
        else:
            family, length = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
            host = socket.inet_ntop(family, self._exactly(client, length))
        (port,) = struct.unpack(">H", self._exactly(client, 2))
        origin = self._connect(host, port)
        client.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        self._pump(client, origin)


class Authority:
    """A certificate authority of an office's own."""

    def __init__(self, folder):
        self.folder = folder
        self.path, self._key = (os.path.join(folder, name) for name in ("authority.pem", "authority.key"))
        self._openssl("req", "-x509", *self._new_key(self._key), "-days", "2", "-subj", "/CN=The office", "-out",
                      self.path)

    @staticmethod
    def _new_key(path):
        return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    def certify(self, host):
        """Returns the paths of a certificate for the host and of its key."""
        certificate, key, request, names = (
            os.path.join(self.folder, f"{host}.{kind}") for kind in ("pem", "key", "csr", "ext"))
        with open(names, "w", encoding="ascii") as file:
            file.write(f"subjectAltName=DNS:{host}\n")
        self._openssl("req", *self._new_key(key), "-subj", f"/CN={host}", "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.path, "-CAkey", self._key, "-CAcreateserial", "-days",
                      "2", "-extfile", names, "-out", certificate)
        return certificate, key


class TLSFront(_Server):
    """Gives an origin TLS: passes on what it receives over TLS to a port of this machine. With the path of an authority
    as `clients`, it requires a certificate of that authority."""

    def __init__(self, port, certificate, key, clients=None):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        if clients:
            self._context.load_verify_locations(clients)
            self._context.verify_mode = ssl.CERT_REQUIRED
        self._origin = port
        super().__init__()

    def _serve(self, connection):
        client = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        try:
            client.do_handshake()
        except ssl.SSLError:
            # A connection that is closed with bytes to read is reset, and the alert with it.
            raw = socket.socket(fileno=client.detach())
            raw.shutdown(socket.SHUT_WR)
            raw.settimeout(10)
            while raw.recv(1 << 16):
                pass
            raw.close()
            return
        reader = client.makefile("rb")
        # One request on each connection: TLS cannot be read and written by two threads at once.
        head = b""
        while (line := reader.readline()) not in (b"\r\n", b""):
            head += line if not line.lower().startswith(b"connection:") else b""
        if not head:
            return
        with socket.create_connection(("127.0.0.1", self._origin), timeout=30) as origin:
            origin.sendall(head + b"Connection: close\r\n\r\n")
            answer = origin.makefile("rb")
            lines, length = [], 0
            while (line := answer.readline()) not in (b"\r\n", b""):
                lines.append(line)
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            client.sendall(b"".join(lines) + b"Connection: close\r\n\r\n")
            if not head.startswith(b"HEAD"):
                client.sendall(answer.read(length))
        client.unwrap()
