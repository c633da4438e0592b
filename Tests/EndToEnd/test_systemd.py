"""The systemd units, and a key that only this machine's TPM releases."""

import os
import re
import shutil
import subprocess
import unittest

from harness import client, software_tpm
from harness.case import ROOT, VaultCase
from harness.waiting import eventually

UNITS = os.path.join(ROOT, "Scripts", "systemd")
SERVICES = ("mediavault.service", "mediavault-rotate.service", "mediavault-verify.service")
NAMES = (*SERVICES, "mediavault-rotate.timer", "mediavault-verify.timer")
NAME = "mediavault.key"
SIZE = 5 << 20
MOST_EXPOSURE = 2.0


def lines_of(name):
    with open(os.path.join(UNITS, name), encoding="utf-8") as file:
        return file.read().splitlines()


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
class Units(VaultCase):
    @classmethod
    def prepare(cls):
        cls.folder = os.path.join(cls.scratch, "units")
        os.makedirs(cls.folder)
        for name in NAMES:
            with open(os.path.join(UNITS, name), encoding="utf-8") as file:
                unit = file.read()
            # The programs that the units start need not be installed here.
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as file:
                file.write(re.sub(r"/usr/local/(bin|libexec)\S*", "/bin/true", unit))

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60)

    def test_verify(self):
        """systemd-analyze verifies the units without a finding"""
        for name in NAMES:
            done = self.analyze("verify", "--man=no", os.path.join(self.folder, name))
            self.assertEqual((done.returncode, name in done.stderr), (0, False), done.stderr)

    def test_exposure(self):
        """systemd-analyze rates the exposure of the services as low"""
        for name in SERVICES:
            said = self.analyze("security", "--offline=true", "--no-pager", os.path.join(self.folder, name)).stdout
            exposure = float(re.search(r"exposure level for \S+: ([0-9.]+)", said)[1])
            self.figure(f"exposure of {name}", exposure, f"<= {MOST_EXPOSURE}")
            self.assertLessEqual(exposure, MOST_EXPOSURE)

    def test_memory(self):
        """All services keep keys and media off the disk: no swap, no core file, and a lock limit that is enough to
        lock the keys"""
        for name in SERVICES:
            lines = lines_of(name)
            for wanted in ("MemorySwapMax=0", "LimitMEMLOCK=8M", "LimitCORE=0"):
                self.assertIn(wanted, lines)

    def test_as_service(self):
        """The as-service command has the service's user, folders, credential and limits"""
        words = re.sub(r"\s+", " ", " ".join(lines_of("as-service")).replace("\\", " ").replace('"', ""))
        settings = [line for line in lines_of("mediavault.service")
                    if re.match(r"(User|Group|UMask|StateDirectory|LoadCredential|MemorySwap|Limit|Environment=MEDIA)", line)]
        self.assertEqual(len(settings), 12)
        for setting in settings:
            self.assertIn(setting.removeprefix("Environment="), words)

    def test_failed_runs(self):
        """A scheduled run that keeps failing puts its unit into the failed state before systemd forgets the attempts"""
        for name in SERVICES[1:]:
            settings = dict(line.split("=", 1) for line in lines_of(name) if re.match(r"\w+=", line))
            tries, pause = int(settings["StartLimitBurst"]), int(settings["RestartSec"].removesuffix("min"))
            interval = settings["StartLimitIntervalSec"]
            self.assertLess(tries * pause, int(interval[:-1]) * {"h": 60, "d": 1440}[interval[-1]], name)


@unittest.skipIf(software_tpm.missing_tools(), "swtpm and systemd-creds are not installed")
class SealedToMachine(VaultCase):
    def machine(self, name):
        tpm = software_tpm.SoftwareTPM(os.path.join(self.scratch, name)).start()
        self.addCleanup(tpm.stop)
        return tpm

    def credential(self, folder):
        """Returns the path at which systemd puts a decrypted credential, and the environment that names it to the
        command."""
        path = os.path.join(self.scratch, folder)
        os.makedirs(path)
        os.chmod(path, 0o700)
        return os.path.join(path, NAME), {
            "CREDENTIALS_DIRECTORY": path, "MEDIAVAULT_CREDENTIAL": NAME, "MEDIAVAULT_KEY_FILE": None}

    def test_power_cut(self):
        """A key sealed to the machine's TPM opens the vault after a power cut, and opens nothing on another machine"""
        vault, origin, here = self.new_vault(), self.new_scripted_origin(), self.machine("here")
        url = origin.add("film", size=SIZE)
        vault.result("fetch", url)
        sealed = os.path.join(self.scratch, "sealed")
        self.assertTrue(here.encrypt(NAME, vault.key, sealed), "the key cannot be sealed")
        os.remove(vault.key)
        here.stop()
        here.start()
        path, environment = self.credential("after-a-power-cut")
        self.assertTrue(eventually(lambda: here.decrypt(NAME, sealed, path).returncode == 0))
        os.chmod(path, 0o400)
        self.assertEqual(vault.result("cat", url, "--offline", **environment), origin.film("film").content)
        vault.environment.update({name: value for name, value in environment.items() if value})
        del vault.environment["MEDIAVAULT_KEY_FILE"]
        vault.serve("--offline")
        self.assertEqual(len(client.get(vault.address(url)).body), SIZE)
        vault.stop()
        # The disk, moved to another machine that has a working TPM.
        there = self.machine("there")
        self.assertTrue(there.encrypt(NAME, sealed, os.path.join(self.scratch, "its-own")))
        path, environment = self.credential("elsewhere")
        self.assertNotEqual(there.decrypt(NAME, sealed, path).returncode, 0)
        self.assertEqual(vault.run("cat", url, "--offline", **environment).returncode, 3)
