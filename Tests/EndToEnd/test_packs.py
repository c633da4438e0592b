"""The thousands of small segments of a title are stored in few files, with few syncs."""

import collections
import os
import sqlite3
import subprocess
import time

from harness.case import VaultCase

FOLDER, SEGMENTS, SIZE = "many-segments", 2000, 100_000
SYNCS, FILES, ROWS = 150, 40, 100
SYSCALLS = "fsync,fdatasync,sync_file_range,msync"


class Packs(VaultCase):
    @classmethod
    def prepare(cls):
        folder = os.path.join(cls.media.folder, FOLDER)
        os.makedirs(folder, exist_ok=True)
        for number in range(SEGMENTS):
            path = os.path.join(folder, f"{number}.ts")
            if not os.path.exists(path) or os.path.getsize(path) != SIZE:
                with open(path, "wb") as file:
                    file.write(cls.content(number))
        with open(os.path.join(folder, "list.m3u8"), "w", encoding="ascii") as file:
            file.write("#EXTM3U\n#EXT-X-TARGETDURATION:4\n")
            file.writelines(f"#EXTINF:4,\n{number}.ts\n" for number in range(SEGMENTS))
            file.write("#EXT-X-ENDLIST\n")
        cls.origin = cls.new_origin()

    @staticmethod
    def content(number):
        return number.to_bytes(4, "big") * (SIZE // 4)

    def fetch(self, vault, traced):
        """Fetches the title; returns the seconds, and how often the command had the disk write, if it was traced."""
        counts = os.path.join(vault.base, "syncs")
        trace = ["strace", "-f", "-c", "--seccomp-bpf", "-e", f"trace={SYSCALLS}", "-o", counts] if traced else []
        start = time.monotonic()
        done = subprocess.run(
            [*trace, vault.binary, "fetch", "--connections", "8", self.origin.url(f"{FOLDER}/list.m3u8")],
            env=vault.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        seconds = time.monotonic() - start
        self.assertEqual(done.returncode, 0, done.stderr)
        if not traced:
            return seconds, None
        with open(counts, encoding="ascii") as file:
            lines = [line.split() for line in file if line.split()[-1:] and line.split()[-1] in SYSCALLS.split(",")]
        self.assertTrue(lines, "strace counted nothing")
        return seconds, sum(int(line[3]) for line in lines)

    def rows(self, vault):
        """Returns the number of rows of each table of the index."""
        connection = sqlite3.connect(f"file:{vault.folder}/index.sqlite?mode=ro", uri=True)
        try:
            names = [name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return collections.Counter({
                name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names})
        finally:
            connection.close()

    def test_few_syncs(self):
        """A title of 2 000 segments of 100 KB is stored with at most 150 syncs, in few files and rows, whole"""
        vault = self.new_vault()
        _, syncs = self.fetch(vault, traced=True)
        files = sum(len(names) for _, _, names in os.walk(os.path.join(vault.folder, "segments")))
        rows = self.rows(vault)
        for what, count, bound in (("syncs", syncs, SYNCS), ("files", files, FILES),
                                   ("rows besides one for each", sum(rows.values()) - SEGMENTS, ROWS)):
            self.figure(f"{what} of a title of {SEGMENTS} segments", count, f"at most {bound}")
        self.assertLessEqual(syncs, SYNCS)
        self.assertLessEqual(files, FILES)
        self.assertEqual(rows["packedPart"], SEGMENTS)
        self.assertLessEqual(sum(rows.values()) - SEGMENTS, ROWS)
        for number in (0, 1, 83, 84, SEGMENTS - 1):
            url = self.origin.url(f"{FOLDER}/{number}.ts")
            self.assertTrue(vault.result("cat", "--offline", url) == self.content(number), f"segment {number}")
        vault.result("verify")
        refused = vault.run("pin", self.origin.url(f"{FOLDER}/0.ts"))
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn(b"name the title instead", refused.stderr)

    def test_speed(self):
        """The time in which these are fetched, without a bound, because it depends on the machine"""
        seconds, _ = self.fetch(self.new_vault(), traced=False)
        self.figure(f"fetch of {SEGMENTS} segments of {SIZE} bytes", seconds, "no bound", " s")
