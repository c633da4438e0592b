"""An origin as far away as real ones: each answer comes after a delay, over connections that stay open."""

import contextlib
import socketserver
import threading
import time

from .nginx_origin import HOST


class DelayingOrigin:
    """Serves `files`, bytes and a media type by path, each answer `delay` seconds after its request."""

    def __init__(self, files, delay):
        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                with contextlib.suppress(ConnectionError):  # a player leaves when it has seen enough
                    self.answer()

            def answer(self):
                while line := self.rfile.readline():
                    path = line.split()[1].decode()
                    while self.rfile.readline().strip():
                        pass
                    time.sleep(delay)
                    content, kind = files.get(path, (b"", None))
                    head = (f"HTTP/1.1 {200 if kind else 404} -\r\nContent-Length: {len(content)}\r\n"
                            f"Content-Type: {kind}\r\nETag: \"{len(content)}-{path}\"\r\n\r\n")
                    self.wfile.write(head.encode() + content)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = allow_reuse_address = True
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://{HOST}:{self.port}/{path}"

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
