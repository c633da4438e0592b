"""A client of the control socket besides the command: what the scripts of the vault's owner can do."""

import http.client
import json
import os
import socket
import subprocess

# The environment of a command that must not need a key.
KEYLESS = {"MEDIAVAULT_KEY_FILE": "/nowhere/key", "MEDIAVAULT_KEYRING": "/nowhere/keyring.json"}

class _Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def path(vault):
    return os.path.join(vault.folder, "control.sock")


def ask(vault, method, target, document=None):
    """Returns status and body of an answer."""
    connection = _Connection(path(vault))
    body = None if document is None else json.dumps(document)
    connection.request(method, f"/api/v1/{target}", body=body)
    response = connection.getresponse()
    try:
        return response.status, response.read()
    finally:
        connection.close()


def status_for(vault, user):
    """Returns the status that another user receives; 0 if that user cannot even connect."""
    done = subprocess.run(
        ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", path(vault),
         "http://localhost/api/v1/status"], user=user, capture_output=True, timeout=30, cwd="/")
    return int(done.stdout)
