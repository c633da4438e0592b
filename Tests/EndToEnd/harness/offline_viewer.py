"""A viewer that plays held bytes repeatedly, without a service, while the keyring changes."""

import threading

LOCKED = 3


class OfflineViewer:
    """Runs `cat --offline` of one title with the first of the key files that opens the vault, and counts the
    results."""

    def __init__(self, vault, url, content, *key_files):
        self._vault, self._url, self._content = vault, url, content
        self._key_files, self._ends = key_files, threading.Event()
        self.whole, self.wrong = 0, []
        self._thread = threading.Thread(target=self._play)
        self._thread.start()

    def use(self, *key_files):
        """Replaces the key files: from now on, exactly one of them opens the vault at any moment."""
        self._key_files = key_files

    def _play(self):
        while not self._ends.is_set():
            key_files = self._key_files
            played = any(self._plays_with(key_file) for key_file in key_files)
            if not played and key_files is self._key_files:
                self.wrong.append("no key opens the vault")

    def _plays_with(self, key_file):
        done = self._vault.run("cat", self._url, "--offline", MEDIAVAULT_KEY_FILE=key_file)
        if done.returncode == LOCKED:
            return False
        if done.returncode == 0 and done.stdout == self._content:
            self.whole += 1
        else:
            self.wrong.append(f"exit code {done.returncode}, {len(done.stdout)} bytes: {done.stderr.decode()}")
        return True

    def end(self):
        self._ends.set()
        self._thread.join()
