"""Nothing that was played can be read in the vault's folder; the format document alone is enough to open it with the
key."""

import glob
import json
import os
import subprocess
import sys
import time

from harness import client
from harness.case import NIGHT, ROOT, VaultCase
from harness.media import FILMS, LARGE, TITLE
from harness.nginx_origin import HOST

# A search of the large one takes most of a minute.
PLAYED = FILMS if "plaintext" in NIGHT else [name for name in FILMS if name != LARGE]
READER = os.path.join(ROOT, "Tests", "IndependentReader")


def tool(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(READER, name), *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


class NothingReadable(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()
        cls.heads = []
        for name in PLAYED:
            cls.media.path(name)
            head = client.get(f"http://127.0.0.1:{cls.origin.port}/{name}", method="HEAD")
            cls.heads.append(head.headers)
            client.digest(cls.vault.address(cls.origin.url(name)))
        partly = cls.vault.address(cls.origin.url("tone.mp3?token=a-secret-of-the-query"))
        with client.Stream(partly) as stream:
            stream.read(200_000)
        fields = os.path.join(cls.scratch, "fields")
        with open(fields, "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("Cookie: a-secret-of-the-queue\n")
        cookies = os.path.join(cls.scratch, "cookies.txt")
        with open(cookies, "w", encoding="ascii") as file:
            file.write("settings.example\tFALSE\t/\tFALSE\t0\tname\ta-secret-of-the-settings\n")
        cls.vault.result("config", "set", "cookie-file", cookies)
        cls.vault.result("config", "set", "header-for", "settings.example", "X-Key: a-secret-of-the-settings")
        cls.vault.result("config", "set", "download-hours", cls.later())
        cls.vault.result("fetch", "--detach", "--title", "A name in the queue", "--content-id", "the-queued-one",
                         "--header-file", fields, "http://queued.example/film.mp4?token=a-secret-of-the-queue")
        cls.vault.result("sync", "add", "http://user:a-secret-of-the-feed@feeds.example/x?token=a-secret-of-the-feed",
                         "--name", "A name of a feed", "--untried")
        cls.vault.stop()

    @staticmethod
    def later():
        """Returns hours that have not begun."""
        return "-".join(time.strftime("%H:%M", time.localtime(time.time() + ahead * 3600)) for ahead in (6, 8))

    def told(self):
        """Returns every string that the search must not find."""
        yield from (TITLE, HOST, f"{HOST}:{self.origin.port}", "token=a-secret-of-the-query")
        yield from ("a-secret-of-the-queue", "A name in the queue", "the-queued-one", "queued.example")
        yield from ("a-secret-of-the-settings", "settings.example")
        yield from ("a-secret-of-the-feed", "A name of a feed", "feeds.example")
        for name, headers in zip(PLAYED, self.heads):
            yield from (name, self.origin.url(name), headers["etag"].strip('"'), headers["last-modified"])
            yield headers["content-type"]

    def lines(self, name, lines):
        """Writes these lines to a file and returns its path."""
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(dict.fromkeys(lines)) + "\n")
        return path

    def test_search(self):
        """The vault contains no 16 bytes of media and no URL, host, title, validator, header value or key in readable
        form"""
        media = [self.media.path(name) for name in PLAYED]
        done = tool("search_plaintext.py", self.vault.folder, "--media", *media,
                    "--strings", self.lines("strings", self.told()), "--secrets", self.vault.key)
        self.assertEqual(done.returncode, 0, done.stdout[-1500:] + done.stderr[-500:])

    def test_search_finds(self):
        """The search finds 24 bytes of media hidden in a file of random bytes"""
        open_folder = os.path.join(self.scratch, "open")
        os.makedirs(open_folder)
        with open(os.path.join(open_folder, "file"), "wb") as file:
            file.write(os.urandom(100_001) + self.media.bytes("tone.mp3", 500_000, 500_024) + os.urandom(100_001))
        done = tool("search_plaintext.py", open_folder, "--media", self.media.path("tone.mp3"))
        self.assertEqual(done.returncode, 1)

    def test_independent_reader(self):
        """A reader written from the format document alone opens the vault: lengths and SHA-256 agree"""
        done = tool("read_vault.py", self.vault.folder, self.vault.keyring, "--key-file", self.vault.key)
        self.assertEqual(done.returncode, 0, done.stdout[-1000:] + done.stderr[-500:])
        report = json.loads(done.stdout)
        self.assertEqual(report["damage"], [])
        queued, = report["downloads"]
        self.assertEqual((queued["url"], queued["name"], queued["contentID"], queued["fields"]),
                         ("http://queued.example/film.mp4?token=a-secret-of-the-queue", "A name in the queue",
                          "the-queued-one", ["Cookie"]))
        followed, = report["subscriptions"]
        self.assertEqual((followed["name"], followed["interval"]), ("A name of a feed", 21_600))
        resources = {item["url"]: item for item in report["resources"]}
        for name in PLAYED:
            found, size = resources[self.origin.url(name)], self.media.size(name)
            self.assertEqual((found["size"], found["held"]), (size, [[0, size]]))
            self.assertEqual(found["sha256"], [self.media.sha256(name)])

    def test_modes(self):
        """Only the owner can access the folder and every file in it"""
        self.assertEqual(os.stat(self.vault.folder).st_mode & 0o777, 0o700)
        found = glob.glob(os.path.join(self.vault.folder, "**"), recursive=True)
        files = [path for path in found if os.path.isfile(path)]
        self.assertGreater(len(files), 5)
        self.assertEqual({oct(os.stat(path).st_mode & 0o777) for path in [*files, self.vault.keyring, self.vault.key]},
                         {"0o600"})


class Segments(VaultCase):
    def test_segment_count(self):
        """The vault stores a large title in few segments of at most 8 MiB each"""
        origin, vault, held = self.new_origin(), self.new_vault(), self.media.size(LARGE)
        vault.result("fetch", origin.url(LARGE))
        sizes = [os.path.getsize(path) for path in glob.glob(os.path.join(vault.folder, "segments", "*", "*"))]
        self.assertLessEqual(max(sizes), (8 << 20) + 88 + 16 * 2048)
        self.figure("segments of a large title", len(sizes), f"<= {2 * held // (8 << 20) + 6}")
        self.assertLessEqual(len(sizes), 2 * held // (8 << 20) + 6)
        self.assertGreater(len(sizes), held // (8 << 20))
