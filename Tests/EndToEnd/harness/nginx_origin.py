"""A real origin: nginx with a log of every range that it serves."""

import collections
import os
import re
import socket
import subprocess

from .media import FILMS, HUGE, SAMPLES
from .waiting import eventually

MEDIA = {*FILMS, *SAMPLES, HUGE}

# libcurl resolves every name under localhost to loopback, so the vault sees a host name that occurs nowhere else.
HOST = "film-origin.localhost"

_CONFIGURATION = """
{user} worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  include /etc/nginx/mime.types; default_type application/octet-stream; sendfile on; keepalive_requests 1000000;
  log_format ranges '$request_method $uri "$http_range" $status $body_bytes_sent $connection "$http_user_agent"';
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port} sndbuf=64k; root {root}; access_log {folder}/access.log ranges;
    location /brief/ {{ alias {root}/; add_header Cache-Control max-age=1; }}
  }}
}}
"""

Request = collections.namedtuple("Request", "method uri range status sent connection agent")
_LINE = re.compile(r'(\S+) (\S+) "([^"]*)" (\d+) (\d+) (\d+) "([^"]*)"$')


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class NginxOrigin:
    def __init__(self, folder, media):
        self.folder, self.port, self._media, self._process = folder, free_port(), media, None
        os.makedirs(folder)
        self._configuration = os.path.join(folder, "nginx.conf")
        with open(self._configuration, "w", encoding="ascii") as file:
            file.write(_CONFIGURATION.format(
                folder=folder, root=media.folder, port=self.port, user="user root;" if os.geteuid() == 0 else ""))
        self.start()

    def url(self, name):
        """Returns the URL of a media file, creating the file if it is missing; under `brief/`, it is fresh for one
        second."""
        medium = name.removeprefix("brief/").partition("?")[0]
        if medium in MEDIA:
            self._media.path(medium)
        return f"http://{HOST}:{self.port}/{name}"

    def start(self):
        self._process = subprocess.Popen(
            ["nginx", "-e", os.path.join(self.folder, "error.log"), "-c", self._configuration],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not eventually(self._answers):
            raise RuntimeError(f"nginx does not answer on port {self.port}.")

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def stop(self):
        if self._process:
            self._process.terminate()
            self._process.wait(timeout=10)
            self._process = None

    def requests(self, name=None):
        """Returns the finished requests so far, in the order in which they ended."""
        try:
            with open(os.path.join(self.folder, "access.log"), encoding="utf-8") as file:
                lines = [match.groups() for match in map(_LINE.match, file) if match]
        except FileNotFoundError:
            lines = []
        found = [Request(method, uri, asked, int(status), int(sent), int(connection), agent)
                 for method, uri, asked, status, sent, connection, agent in lines]
        return [item for item in found if name is None or item.uri == "/" + name]

    def body_bytes(self, name=None):
        """Returns the number of body bytes that this origin sent for GET."""
        return sum(item.sent for item in self.requests(name) if item.method == "GET")
