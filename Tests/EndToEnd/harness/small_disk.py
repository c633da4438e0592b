"""A file system of a few mebibytes that others fill."""

import os
import shutil
import subprocess

MEBIBYTE = 1 << 20


class SmallDisk:
    """A vault's folder, moved to a small disk of its own for one check, which only root can mount."""

    def __init__(self, case, vault, mebibytes):
        self.folder = os.path.join(vault.base, "disk")
        os.mkdir(self.folder)
        if os.geteuid() != 0 or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", self.folder],
                capture_output=True).returncode != 0:
            case.skipTest("a file system can be mounted by root only")
        case.addCleanup(subprocess.run, ["umount", "-l", self.folder], check=False)
        case.addCleanup(vault.stop)
        folder = os.path.join(self.folder, "vault")
        shutil.copytree(vault.folder, folder)
        vault.folder = vault.environment["MEDIAVAULT_DIR"] = folder
        # What is tested here is a disk that is full, not one of which a part is to be left free.
        vault.result("config", "set", "min-free", "0")
        self._ballast = os.path.join(self.folder, "ballast")

    def fill(self, leaving=0):
        """Others fill the disk."""
        with open(self._ballast, "wb") as file:
            file.write(bytes(max(0, self.free() - leaving)))

    def free(self):
        status = os.statvfs(self.folder)
        return status.f_bavail * status.f_frsize

    def empty(self):
        """Others make room."""
        os.unlink(self._ballast)

    def grow(self, mebibytes):
        subprocess.run(["mount", "-o", f"remount,size={mebibytes}m", self.folder], check=True)
