"""A TPM in software, and systemd credentials that only it can decrypt."""

import os
import shutil
import socket
import subprocess

from .nginx_origin import free_port
from .waiting import eventually

TOOLS = ("swtpm", "swtpm_setup", "systemd-creds")


def missing_tools():
    return [tool for tool in TOOLS if not shutil.which(tool)]


def free_pair():
    """Returns a free port whose successor is free as well."""
    while True:
        port = free_port()
        with socket.socket() as following:
            try:
                following.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue


class SoftwareTPM:
    """A TPM that can unseal after a restart what it has sealed; no other TPM can."""

    def __init__(self, folder):
        self.folder, self._process = folder, None
        os.makedirs(folder)
        subprocess.run(["swtpm_setup", "--tpm2", "--tpmstate", folder, "--overwrite"], check=True, capture_output=True)

    def start(self):
        self.port = free_pair()
        self._process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder}", "--server", f"type=tcp,port={self.port}",
             # Clients expect the control channel at the next port.
             "--ctrl", f"type=tcp,port={self.port + 1}", "--flags", "not-need-init,startup-clear"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def stop(self):
        if self._process:
            self._process.terminate()
            self._process.wait(timeout=10)
            self._process = None

    def _creds(self, *arguments):
        return subprocess.run(
            ["systemd-creds", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def encrypt(self, name, plain, sealed):
        """Seals a file to this TPM; returns whether that succeeded. Waits for a TPM that has just been started."""
        return eventually(lambda: self._creds(
            "encrypt", "--with-key=tpm2", self._device, f"--name={name}", plain, sealed).returncode == 0)

    def decrypt(self, name, sealed, plain):
        """Unseals a file, as systemd does when it starts a unit; returns the completed process."""
        return self._creds("decrypt", self._device, f"--name={name}", sealed, plain)

    @property
    def _device(self):
        return f"--tpm2-device=swtpm:host=127.0.0.1,port={self.port}"
