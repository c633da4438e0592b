"""The command, run as a user runs it, and its service."""

import contextlib
import json
import os
import signal
import subprocess
import time

from .nginx_origin import free_port
from .client import raw
from .waiting import eventually


class Vault:
    """A vault with its own key file, controlled by the command."""

    launcher = ()  # a command that starts the service, unless it is started directly

    def __init__(self, binary, folder):
        self.binary, self.base = binary, folder
        self.folder = os.path.join(folder, "vault")
        self.keyring = os.path.join(folder, "keys", "keyring.json")
        self.key = os.path.join(folder, "keys", "key")
        self.listen = f"127.0.0.1:{free_port()}"
        self.service = None
        os.makedirs(folder)
        outside = {name: value for name, value in os.environ.items() if not name.startswith("MEDIAVAULT_")}
        self.environment = {
            **outside, "MEDIAVAULT_DIR": self.folder, "MEDIAVAULT_KEYRING": self.keyring,
            "MEDIAVAULT_KEY_FILE": self.key, "MEDIAVAULT_LISTEN": self.listen,
            "XDG_DATA_HOME": os.path.join(folder, "data"), "XDG_CONFIG_HOME": os.path.join(folder, "config")}

    def run(self, *arguments, timeout=120, input=b"", **environment):
        """Runs the command to its end; an environment variable with the value None is removed."""
        changed = {**self.environment, **environment}
        return subprocess.run(
            [self.binary, *arguments], env={name: value for name, value in changed.items() if value is not None},
            input=input, capture_output=True, timeout=timeout)

    def result(self, *arguments, **options):
        """Returns the standard output of a command that must succeed."""
        done = self.run(*arguments, **options)
        if done.returncode != 0:
            raise AssertionError(f"mediavault {arguments[0]} exited {done.returncode}: {done.stderr.decode().strip()}")
        return done.stdout

    def init(self):
        self.result("init")
        return self

    def address(self, url, *options):
        """Returns the playable address of a URL."""
        return self.result("url", url, *options).decode().strip()

    def token(self, scope="admin", *options):
        """Returns a new token with a scope."""
        return self.result("token", "create", "--scope", scope, *options).decode().strip()

    def status(self):
        return json.loads(self.result("status", "--json"))

    def bytes_fetched(self):
        """Returns how many bytes this vault has ever received from origins."""
        return self.status()["bytesFetched"]

    def info(self, url):
        return json.loads(self.result("info", url, "--json"))

    def segment_bytes(self):
        """Returns the total size of all segment files; one that goes meanwhile does not count."""
        size = 0
        for parent, _, names in os.walk(os.path.join(self.folder, "segments")):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    size += os.path.getsize(os.path.join(parent, name))
        return size

    def serve(self, *options):
        """Starts the service and waits until it answers."""
        self.service = Service(self, options)
        return self.service

    def stop(self):
        if self.service:
            self.service.stop()


class Service:
    def __init__(self, vault, options=()):
        self.port = int(vault.listen.rpartition(":")[2])
        self._log = os.path.join(vault.base, "service.log")
        with open(self._log, "ab") as log:
            self.process = subprocess.Popen(
                [*vault.launcher, vault.binary, "serve", *options], env=vault.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            is_decided = eventually(lambda: self.process.poll() is not None or self.is_up())
        except BaseException:  # after an interrupt, no other code could stop the process
            self.process.kill()
            raise
        if not is_decided:
            self.process.kill()
        if self.process.poll() is not None:
            raise AssertionError(f"the service does not start: {self.log()[-400:]}")

    def is_up(self):
        try:
            return raw(self.port, f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()) == 200
        except OSError:
            return False

    def log(self):
        with open(self._log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self, within=30):
        """Ends the service with SIGTERM; returns its exit code and how long that took."""
        started = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=within), time.monotonic() - started
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the service did not end within {within} s of SIGTERM") from None

    def memory(self, field="VmRSS"):
        """Returns a value of the process's status, in bytes: VmRSS is the current size, VmHWM the peak."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(field + ":"))
