"""A file that is already here becomes a title: with and without a service and an origin, and when something goes wrong."""

import json
import os
import signal
import subprocess

from harness.case import VaultCase, each
from harness.small_disk import SmallDisk
from harness.waiting import eventually

SIZE = 40_000_000
# Without a key the service answers.
KEYLESS = {"MEDIAVAULT_KEY_FILE": None}


class Import(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def film(self, vault, target, size=SIZE, seed=7):
        """Serves a film; returns its URL, and a file with the same bytes."""
        self.origin.add(target, size=size, seed=seed)
        path = os.path.join(vault.base, target)
        with open(path, "wb") as file:
            file.write(self.origin.film(target).content)
        return self.origin.url(target), path

    def fetched(self, target):
        """Returns how many bytes the requests for a film named."""
        return [item.range for item in self.origin.gets(target)]

    def assert_nothing_held(self, vault):
        self.assertEqual(json.loads(vault.result("list", "--json")), [])
        self.assertEqual(vault.segment_bytes(), 0)

    def test_subtitles(self):
        """Subtitles beside a file that are named after it come along; others do not, and what cannot be used is named"""
        vault = self.new_vault()
        url, path = self.film(vault, "quay.mp4", size=100_000)
        cue = b"1\n00:00:01,000 --> 00:00:02,000\n"
        for name, content in [("quay.de.srt", cue + b"Am Kai"), ("quay.vtt", b"WEBVTT\n\n" + cue + b"?"), ("quay.en.srt", cue + b"\xff"),
                              ("quays.fr.srt", cue + b"Quais"), ("quay.it.txt", cue + b"Molo"), ("quay.a.b.srt", cue)]:
            with open(os.path.join(vault.base, name), "wb") as file:
                file.write(content)
        done = vault.run("import", path, "--as", url, "--offline")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"left out quay.en.srt", done.stderr)
        info = vault.info(url)
        self.assertEqual(info["subtitles"], ["de", "und"])
        vault.result("subtitles", "remove", url, "und")
        vault.result("subtitles", "add", url, os.path.join(vault.base, "quays.fr.srt"))
        self.assertEqual(vault.info(url)["subtitles"], ["de", "fr"])
        for parent, _, names in os.walk(vault.folder):
            for name in names:
                with open(os.path.join(parent, name), "rb") as file:
                    self.assertNotIn(b"Am Kai", file.read())
        vault.result("remove", info["id"])
        self.assert_nothing_held(vault)

    @each("alone", "service")
    def test_same(self, kind):
        """An imported file plays offline byte for byte, costs the origin samples only, and is not fetched again: {}"""
        vault = self.served_vault() if kind == "service" else self.new_vault()
        environment = KEYLESS if kind == "service" else {}
        url, path = self.film(vault, f"same-{kind}.mp4")
        report = json.loads(vault.result("import", path, "--as", url, "--pin", "--title", "A film", "--json", **environment))
        self.assertEqual((report["origin"], report["bytes"]), ("same", SIZE))
        self.assertLessEqual(len(self.fetched(f"same-{kind}.mp4")), 8)
        self.assertNotIn(None, self.fetched(f"same-{kind}.mp4"))
        vault.stop()
        self.assertEqual(vault.bytes_fetched(), 0)
        info = vault.info(report["id"])
        self.assertEqual((info["name"], info["class"], info["bytes"]), ("A film", "pinned", SIZE))
        self.assertIsNotNone(info["etag"])
        with open(path, "rb") as file:
            content = file.read()
        self.assertTrue(vault.result("cat", url, "--offline") == content)
        asked = len(self.fetched(f"same-{kind}.mp4"))
        vault.result("fetch", url)
        self.assertEqual(len(self.fetched(f"same-{kind}.mp4")), asked)

    @each("alone", "service")
    def test_different(self, kind):
        """A file that differs from the origin's, in size or in bytes, is refused with exit code 1: {}"""
        vault = self.served_vault() if kind == "service" else self.new_vault()
        environment = KEYLESS if kind == "service" else {}
        url, path = self.film(vault, f"different-{kind}.mp4")
        with open(path, "r+b") as file:
            file.write(b"another beginning")
        done = vault.run("import", path, "--as", url, **environment)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertIn(b"is not what", done.stderr)
        with open(path, "ab") as file:
            file.write(b"more")
        done = vault.run("import", path, "--as", url, **environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"bytes and not", done.stderr)
        vault.stop()
        self.assert_nothing_held(vault)

    def test_own(self):
        """With the origin down, a file is stored as its own; once it answers, the title is a copy of its version, or
        gives way to it"""
        vault = self.new_vault()
        origin = self.new_scripted_origin()
        for target, seed in (("kept.mp4", 7), ("replaced.mp4", 8)):
            origin.add(target, size=SIZE, seed=seed)
        mine = os.path.join(vault.base, "mine.mp4")
        with open(mine, "wb") as file:
            file.write(origin.film("kept.mp4").content)
        urls = [origin.url("kept.mp4"), origin.url("replaced.mp4")]
        for url in urls:
            report = json.loads(vault.result("import", mine, "--as", url, "--offline", "--json"))
            self.assertEqual(report["origin"], "unasked")
            self.assertEqual(vault.result("cat", url, "--offline"), origin.film("kept.mp4").content)
            self.assertIsNone(vault.info(url)["etag"])
        self.assertEqual([len(origin.gets(name)) for name in ("kept.mp4", "replaced.mp4")], [0, 0])
        self.assertTrue(vault.result("cat", urls[0]) == origin.film("kept.mp4").content)
        self.assertTrue(vault.result("cat", urls[1]) == origin.film("replaced.mp4").content)
        self.assertIsNotNone(vault.info(urls[0])["etag"])
        self.assertLessEqual(len(origin.gets("kept.mp4")), 8)

    def test_unreached(self):
        """An origin that does not answer is no hindrance"""
        vault = self.new_vault()
        _, path = self.film(vault, "unreached.mp4")
        url = "http://127.0.0.1:9/unreached.mp4"
        self.assertEqual(json.loads(vault.result("import", path, "--as", url, "--json"))["origin"], "unreached")
        self.assertTrue(vault.result("cat", url) == self.origin.film("unreached.mp4").content)

    @each("alone", "service")
    def test_killed(self, kind):
        """Whatever is killed in the middle, no title is listed, nothing stays on the disk, and the next import succeeds:
        {}"""
        vault = self.new_vault()
        url, path = self.film(vault, f"killed-{kind}.mp4")
        pipe = os.path.join(vault.base, "slow.mp4")
        with open(pipe, "wb") as file:
            file.truncate(8 << 30)
        if kind == "service":
            vault.serve()
        environment = {**vault.environment}
        if kind == "service":
            del environment["MEDIAVAULT_KEY_FILE"]
        process = subprocess.Popen(
            [vault.binary, "import", pipe, "--as", url, "--offline"], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(eventually(lambda: vault.segment_bytes() > 20_000_000))
        self.assertIsNone(process.poll(), "premise")
        self.assertEqual(json.loads(vault.result("list", "--json", **KEYLESS if kind == "service" else {})), [])
        (vault.service.process if kind == "service" else process).send_signal(signal.SIGKILL)
        process.wait()
        if kind == "service":
            vault.service.process.wait()
        # No owner has opened the vault since.
        self.assertEqual(json.loads(vault.result("list", "--json")), [])
        os.remove(pipe)
        vault.result("import", path, "--as", url)
        self.assertEqual(len(json.loads(vault.result("list", "--json"))), 1)
        self.assertLess(vault.segment_bytes(), 1.1 * SIZE)
        self.assertTrue(vault.result("cat", url, "--offline") == self.origin.film(f"killed-{kind}.mp4").content)

    def test_client_gone(self):
        """A client that ends in the middle leaves nothing in the vault of the service"""
        vault = self.served_vault()
        path = os.path.join(vault.base, "large.mp4")
        with open(path, "wb") as file:
            file.truncate(8 << 30)
        environment = {**vault.environment}
        del environment["MEDIAVAULT_KEY_FILE"]
        process = subprocess.Popen(
            [vault.binary, "import", path, "--as", self.origin.url("gone.mp4"), "--offline"], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(eventually(lambda: vault.segment_bytes() > 20_000_000))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)
        self.assert_eventually(vault.segment_bytes, 0)
        self.assertEqual(json.loads(vault.result("list", "--json")), [])

    def test_locked(self):
        """A lock in the middle ends an import, and nothing of it stays"""
        vault = self.served_vault()
        path = os.path.join(vault.base, "large.mp4")
        with open(path, "wb") as file:
            file.truncate(8 << 30)
        environment = {**vault.environment}
        del environment["MEDIAVAULT_KEY_FILE"]
        process = subprocess.Popen(
            [vault.binary, "import", path, "--as", self.origin.url("locked.mp4"), "--offline"], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertTrue(eventually(lambda: vault.segment_bytes() > 20_000_000))
        vault.result("keys", "lock")
        self.assertEqual(vault.segment_bytes(), 0)
        message = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 1, message)
        vault.stop()
        self.assert_nothing_held(vault)

    def test_full_disk(self):
        """A disk that becomes full in the middle leaves nothing; with space, the same import succeeds"""
        vault = self.new_vault()
        url, path = self.film(vault, "full.mp4")
        disk = SmallDisk(self, vault, 80)
        disk.fill(leaving=SIZE // 2)
        done = vault.run("import", path, "--as", url)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertIn(b"no space left", done.stderr)
        self.assert_nothing_held(vault)
        disk.empty()
        vault.result("import", path, "--as", url)
        self.assertTrue(vault.result("cat", url, "--offline") == self.origin.film("full.mp4").content)

    def test_refused(self):
        """What is no regular file, is empty, or is a playlist, is refused, and so is a title of which bytes are held"""
        vault = self.new_vault()
        url, path = self.film(vault, "held.mp4")
        empty, fifo, link = (os.path.join(vault.base, name) for name in ("empty.mp4", "fifo.mp4", "link.mp4"))
        open(empty, "wb").close()
        os.mkfifo(fifo)
        os.symlink("/dev/zero", link)
        playlist = os.path.join(vault.base, "list.txt")
        with open(playlist, "wb") as file:
            file.write(b"#EXTM3U\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n")
        for unusable in (empty, fifo, link, playlist):
            done = vault.run("import", unusable, "--as", url, timeout=30)
            self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(vault.run("import", path + "x", "--as", url).returncode, 1)
        self.assertEqual(vault.run("import", path, "--as", self.origin.url("never.mp4")).returncode, 5)
        self.assert_nothing_held(vault)
        vault.result("cat", url, "--range", "0-99999")
        done = vault.run("import", path, "--as", url)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"already holds", done.stderr)

    def test_limit(self):
        """A file that the limit on the vault's size has no room for is refused, and nothing of it stays"""
        vault = self.new_vault()
        url, path = self.film(vault, "large.mp4")
        vault.result("config", "set", "max-size", "20M")
        done = vault.run("import", path, "--as", url)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assert_nothing_held(vault)

    def test_nothing_readable(self):
        """Neither the name of the file, nor its URL, its title or its bytes are readable on the disk"""
        vault = self.new_vault()
        url, path = self.film(vault, "geheim.mp4", size=300_000)
        vault.result("import", path, "--as", url, "--title", "Die geheime Folge")
        needles = [b"geheim", url.encode(), self.origin.film("geheim.mp4").content[1000:1032]]
        for parent, _, names in os.walk(vault.folder):
            for name in names:
                with open(os.path.join(parent, name), "rb") as file:
                    content = file.read()
                for needle in needles:
                    self.assertNotIn(needle, content, name)
