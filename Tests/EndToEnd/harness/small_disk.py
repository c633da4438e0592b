"""A file system of a few mebibytes that a check can fill."""

import errno
import os
import shutil
import subprocess

MEBIBYTE = 1 << 20


class SmallDisk:
    """Moves a vault's folder to its own small disk for one check; only root can mount it."""

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
        # This tests a full disk, not the setting that keeps part of the disk free.
        vault.result("config", "set", "min-free", "0")
        self._ballast = os.path.join(self.folder, "ballast")

    def fill(self, leaving=0):
        """Fills the disk with other data, except for `leaving` bytes, or wholly if a service takes them meanwhile."""
        with open(self._ballast, "wb", buffering=0) as file:
            try:
                file.write(bytes(max(0, self.free() - leaving)))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free(self):
        status = os.statvfs(self.folder)
        return status.f_bavail * status.f_frsize

    def empty(self):
        """Removes the other data."""
        os.unlink(self._ballast)

    def grow(self, mebibytes):
        subprocess.run(["mount", "-o", f"remount,size={mebibytes}m", self.folder], check=True)
