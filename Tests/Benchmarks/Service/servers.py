"""What the vault is compared with: an nginx origin; in front of it an nginx slice cache, in a gocryptfs folder and in a
plain one; and rclone, which serves files that it has encrypted itself."""

import contextlib
import os
import shutil
import subprocess

from harness import client
from harness.nginx_origin import free_port
from harness.waiting import eventually

HOST = "127.0.0.1"
SYSTEM_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"

# The origin answers any query, so that a new query is a new title. For the same reason, the peer's cache key contains
# the query.
_CONFIGURATION = """
{user} worker_processes 2; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  include /etc/nginx/mime.types; default_type application/octet-stream;
  sendfile on; tcp_nopush on; keepalive_requests 100000000;
  log_format protocols '$server_protocol $connection';
  client_body_temp_path {folder}/tmp/a; proxy_temp_path {folder}/tmp/b; fastcgi_temp_path {folder}/tmp/c;
  uwsgi_temp_path {folder}/tmp/d; scgi_temp_path {folder}/tmp/e;
  proxy_cache_path {sealed}/cache levels=1:2 keys_zone=sealed:10m max_size=100g use_temp_path=off;
  proxy_cache_path {folder}/cache levels=1:2 keys_zone=bare:10m max_size=100g use_temp_path=off;
  proxy_cache_valid 200 206 1h; proxy_http_version 1.1;
  server {{
    listen 127.0.0.1:{plain}; root {media}; access_log off;
    location ~ ^/copy-[0-9]+/(.+)$ {{ alias {media}/$1; }} # relative references drop the query
  }}
  server {{ listen 127.0.0.1:{shaped}; root {media}; access_log off; limit_rate 200m; }}
  server {{
    listen 127.0.0.1:{http2} ssl http2; root {media}; access_log {folder}/http2.log protocols;
    ssl_certificate {folder}/origin.crt; ssl_certificate_key {folder}/origin.key;
  }}
{slices}
}}
"""

_SLICE = """
  server {{
    listen 127.0.0.1:{port}; access_log off;
    tcp_nopush off; # else a short range waits 40 ms for an acknowledgement
    location / {{
      slice 1m; proxy_cache {zone}; proxy_cache_key $uri$is_args$args$slice_range; proxy_set_header Range $slice_range;
      proxy_set_header Connection ""; proxy_pass http://127.0.0.1:{plain};
    }}
  }}
"""

# Starts a process that must not outlive the benchmark, however the benchmark ends.
BOUND = ("setpriv", "--pdeathsig", "TERM", "--")


class Servers:
    def __init__(self, folder, media):
        self.folder, self.media, self._running = folder, media, []
        self.ports = {name: free_port() for name in ("plain", "shaped", "http2", "peer", "slice", "rclone")}
        self._cipher, self._sealed = os.path.join(folder, "cipher"), os.path.join(folder, "sealed")
        for name in ("tmp", "cipher", "sealed", "rclone"):
            os.makedirs(os.path.join(folder, name))

    def url(self, server, target):
        scheme = "https" if server == "http2" else "http"
        return f"{scheme}://{HOST}:{self.ports[server]}/{target}"

    def start(self):
        self._trust_own_authority()
        self._mount_sealed_folder()
        configuration = os.path.join(self.folder, "nginx.conf")
        with open(configuration, "w", encoding="ascii") as file:
            slices = (("peer", "sealed"), ("slice", "bare"))
            file.write(_CONFIGURATION.format(
                slices="".join(
                    _SLICE.format(port=self.ports[name], zone=zone, plain=self.ports["plain"]) for name, zone in slices),
                folder=self.folder, media=self.media, sealed=self._sealed, **self.ports,
                user="user root;" if os.geteuid() == 0 else ""))
        errors = os.path.join(self.folder, "error.log")
        self._start("nginx", "-e", errors, "-c", configuration)
        if not eventually(lambda: os.path.exists(os.path.join(self.folder, "nginx.pid"))):
            raise RuntimeError(f"nginx does not start: {_end_of(errors)}")

    def start_rclone(self, name):
        """Lets rclone encrypt a media file and serve it."""
        obscured = subprocess.run(
            ["rclone", "obscure", "bench"], capture_output=True, text=True, check=True).stdout.strip()
        environment = {
            **os.environ, "RCLONE_CONFIG": "/dev/null", "RCLONE_CONFIG_SEALED_TYPE": "crypt",
            "RCLONE_CONFIG_SEALED_REMOTE": os.path.join(self.folder, "rclone"),
            "RCLONE_CONFIG_SEALED_PASSWORD": obscured}
        _quiet("rclone", "copy", os.path.join(self.media, name), "sealed:", environment=environment)
        self._start(
            "rclone", "serve", "http", "sealed:", "--addr", f"{HOST}:{self.ports['rclone']}", environment=environment)

        def is_up():
            with contextlib.suppress(OSError):
                return client.get(self.url("rclone", name), "bytes=0-0").status == 206
        if not eventually(is_up, within=30):
            raise RuntimeError("rclone does not serve what it has sealed")

    def stop(self):
        for process in reversed(self._running):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if os.path.ismount(self._sealed):
            subprocess.run(["fusermount3", "-uz", self._sealed], check=False)

    def protocols(self):
        """Returns the protocol of each request that the HTTP/2 origin has answered completely."""
        path = os.path.join(self.folder, "http2.log")
        if not os.path.exists(path):
            return []
        with open(path, encoding="ascii") as file:
            return [line.split()[0] for line in file]

    def _start(self, *command, environment=None):
        with open(os.path.join(self.folder, "servers.log"), "ab") as log:
            self._running.append(subprocess.Popen(
                [*BOUND, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment))

    def _mount_sealed_folder(self):
        password = ("-extpass", "echo bench")
        _quiet("gocryptfs", "-q", "-init", *password, self._cipher)
        self._start("gocryptfs", "-q", "-fg", *password, self._cipher, self._sealed)
        if not eventually(lambda: os.path.ismount(self._sealed)):
            raise RuntimeError(f"gocryptfs does not mount: {_end_of(os.path.join(self.folder, 'servers.log'))}")
        os.makedirs(os.path.join(self._sealed, "cache"))

    def _trust_own_authority(self):
        """Creates a certificate for the HTTP/2 origin, and mounts a copy of the system's authorities with its issuer
        over them: only in the mount namespace of the benchmark, so that no other process ever trusts it."""
        def inside(name):
            return os.path.join(self.folder, name)
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        _quiet("openssl", "req", "-x509", *key, "-subj", "/CN=MediaVault bench authority", "-days", "2",
               "-keyout", inside("authority.key"), "-out", inside("authority.crt"))
        _quiet("openssl", "req", "-x509", *key, "-subj", "/CN=MediaVault bench origin", "-days", "2",
               "-addext", f"subjectAltName=IP:{HOST}", "-addext", "basicConstraints=critical,CA:FALSE",
               "-CA", inside("authority.crt"), "-CAkey", inside("authority.key"),
               "-keyout", inside("origin.key"), "-out", inside("origin.crt"))
        with open(inside("authorities.crt"), "wb") as file:
            for part in (SYSTEM_AUTHORITIES, inside("authority.crt")):
                with open(part, "rb") as source:
                    shutil.copyfileobj(source, file)
        _quiet("mount", "--bind", inside("authorities.crt"), SYSTEM_AUTHORITIES)


def _quiet(*command, environment=None):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.decode().strip()[-400:]}")


def _end_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()[-400:].strip()
