"""Covers of titles: within files that ffmpeg made, given by the operator, shown by a service, and readable nowhere."""

import base64
import glob
import hashlib
import json
import os
import struct
import subprocess
import sys

from harness import client, control
from harness.case import ROOT, VaultCase, each
from harness.control import KEYLESS

FILES = {
    "song.mp3": ("-map", "0:a", "-map", "1:v", "-c:a", "libmp3lame", "-c:v", "copy", "-id3v2_version", "3"),
    "song-v4.mp3": ("-map", "0:a", "-map", "1:v", "-c:a", "libmp3lame", "-c:v", "copy", "-id3v2_version", "4"),
    "song.m4a": ("-map", "0:a", "-map", "1:v", "-c:a", "aac", "-c:v", "copy", "-disposition:v", "attached_pic"),
    "song.flac": ("-map", "0:a", "-map", "1:v", "-c:a", "flac", "-c:v", "copy", "-disposition:v", "attached_pic"),
    "song.opus": ("-map", "0:a", "-map_metadata", "2", "-c:a", "libopus"),
    "song.ogg": ("-map", "0:a", "-map_metadata", "2", "-c:a", "libvorbis"),
    "plain.mp3": ("-map", "0:a", "-c:a", "libmp3lame"),
}


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *arguments], check=True, stdin=subprocess.DEVNULL)


def content(path):
    with open(path, "rb") as file:
        return file.read()


class Covers(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.folder = os.path.join(cls.scratch, "pictures")
        os.makedirs(cls.folder)
        noise = ("-f", "lavfi", "-i", "testsrc2=s=320x320,noise=alls=100:all_seed=7", "-frames:v", "1")
        for name in ("within.jpg", "given.png", "other.webp"):
            ffmpeg(*noise, *(["-q:v", "2"] if name == "within.jpg" else []), cls.picture(name))
        for name, options in FILES.items():
            path = cls.picture(name)
            ffmpeg("-f", "lavfi", "-i", "anoisesrc=c=pink:r=48000:d=3:seed=7", "-i", cls.picture("within.jpg"),
                   "-i", cls.comments(), *options, path)
            cls.origin.add(name, content=content(path))

    @classmethod
    def comments(cls):
        """Returns a file with the picture as Ogg files have it: a picture block of FLAC in base64."""
        path, jpeg, kind = os.path.join(cls.folder, "comments.txt"), content(cls.picture("within.jpg")), b"image/jpeg"
        block = struct.pack(">II", 3, len(kind)) + kind + struct.pack(">6I", 0, 320, 320, 24, 0, len(jpeg)) + jpeg
        text = base64.b64encode(block).decode("ascii").replace("=", "\\=")
        with open(path, "w", encoding="ascii") as file:
            file.write(f";FFMETADATA1\nMETADATA_BLOCK_PICTURE={text}\n")
        return path

    @classmethod
    def picture(cls, name):
        return os.path.join(cls.folder, name)

    def fetched(self, vault, name, *options):
        """Fetches a title; returns its id."""
        return json.loads(vault.result("fetch", "--json", self.origin.url(name), *options))["id"]

    def asked(self, vault, title, method="GET", **headers):
        """Asks the service for the cover of a title over the network."""
        if not hasattr(vault, "reading"):
            vault.reading = vault.token("read")
        return client.get(
            f"http://{vault.listen}/api/v1/resources/{title}/cover", method=method,
            headers={"Authorization": f"Bearer {vault.reading}", **headers})

    def assert_nowhere(self, vault, *pictures):
        """Checks that 16 bytes of no picture are in a file of the vault's folder."""
        names = [name for name in glob.glob(os.path.join(vault.folder, "**"), recursive=True) if os.path.isfile(name)]
        self.assertIn("index.sqlite", map(os.path.basename, names))
        for name in names:
            held = content(name)
            for picture in pictures:
                for first in range(0, len(picture) - 16, 512):
                    self.assertNotIn(picture[first:first + 16], held, f"{name} has byte {first} of a picture")

    @each("song.mp3", "song-v4.mp3", "song.m4a", "song.flac", "song.opus", "song.ogg")
    def test_within(self, name):
        """The picture that ffmpeg put into a file is its cover, as lists tell, and the origin is not asked for it: {}"""
        vault = self.served_vault()
        title = self.fetched(vault, name)
        requests = len(self.origin.gets(name))
        answer = self.asked(vault, title)
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "image/jpeg"))
        self.assertTrue(answer.body == content(self.picture("within.jpg")), "the picture is another one")
        self.assertEqual(answer.headers["etag"], f'"{vault.info(title)["cover"]}"')
        listed, = json.loads(vault.result("list", "--json"))
        self.assertEqual(listed["cover"], vault.info(title)["cover"])
        same = self.asked(vault, title, **{"If-None-Match": answer.headers["etag"]})
        self.assertEqual((same.status, same.body), (304, b""))
        self.assertEqual(len(self.origin.gets(name)), requests)
        vault.stop()
        self.assert_nowhere(vault, content(self.picture("within.jpg")))

    @each("alone", "service")
    def test_given(self, kind):
        """A cover is given, replaced and taken away by command, and nothing of it can be read in the vault: {}"""
        vault = self.served_vault() if kind == "service" else self.new_vault()
        environment = KEYLESS if kind == "service" else {}
        given, other = self.picture("given.png"), self.picture("other.webp")
        title = json.loads(vault.result("fetch", "--json", "--cover", given, self.origin.url("plain.mp3"),
                                        **environment))["id"]
        tags = [vault.info(title)["cover"]]
        self.assertRegex(tags[0], "^[0-9a-f]{16}$")
        shown = json.loads(vault.result("cover", title, other, "--json", **environment))
        tags.append(shown["cover"])
        self.assertNotEqual(*tags)
        if kind == "service":
            answer = self.asked(vault, title)
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "image/webp"))
            self.assertEqual(answer.headers["cache-control"], "no-store")
            self.assertTrue(answer.body == content(other))
        for refused, code in ((self.picture("song.mp3"), 2), (self.svg(), 2), (self.folder, 2), ("/nowhere/a.png", 1)):
            done = vault.run("cover", title, refused, **environment)
            self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)
            self.assertIn(refused.encode(), done.stderr)
        vault.stop()
        self.assert_nowhere(vault, content(given), content(other))
        for _ in range(2):
            self.assertEqual(vault.info(title)["cover"], tags[1], "it is that of the backup, too")
            vault.result("index", "rebuild", "--force")
        vault.serve()
        self.assertTrue(self.asked(vault, title).body == content(other))
        vault.result("cover", title, "--remove", **KEYLESS)
        self.assertIsNone(vault.info(title)["cover"])
        self.assertEqual(self.asked(vault, title).status, 404)
        self.assertEqual(vault.run("cover", title).returncode, 2)
        self.assertEqual(vault.run("cover", title, other, "--remove").returncode, 2)

    @each("alone", "service")
    def test_detached(self, kind):
        """fetch --detach --cover gives the title its cover at once, before a byte of it is held: {}"""
        vault = self.served_vault() if kind == "service" else self.new_vault()
        environment = KEYLESS if kind == "service" else {}
        given, url = self.picture("given.png"), self.origin.add(
            f"detached-{kind}.m4a", content=content(self.picture("song.m4a")), hold_at=-1)
        done = vault.run("fetch", "--detach", "--cover", self.picture("song.mp3"), url, **environment)
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        self.assertEqual(json.loads(vault.result("downloads", "--json", **environment))["downloads"], [])
        title = json.loads(vault.result("fetch", "--detach", "--json", "--cover", given, url, **environment))["id"]
        self.assertRegex(vault.info(title)["cover"], "^[0-9a-f]{16}$")
        self.assertEqual(vault.info(title)["bytes"], 0)
        self.origin.film(f"detached-{kind}.m4a").release.set()
        if kind == "alone":
            vault.serve()
        self.assertTrue(self.asked(vault, title).body == content(given))
        self.assert_eventually(lambda: vault.info(title)["bytes"], os.path.getsize(self.picture("song.m4a")))
        self.assertTrue(self.asked(vault, title).body == content(given))
        self.assertEqual(self.asked(vault, title).headers["content-type"], "image/png")

    def svg(self):
        """Returns a file with the name of a picture, in which there is a script."""
        path = self.picture("script.png")
        with open(path, "w", encoding="ascii") as file:
            file.write('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
        return path

    def test_imported(self):
        """An imported file has the cover that was given with it, else its own; a file that is no picture imports nothing"""
        vault = self.served_vault()
        url, song = self.origin.url("imported.mp3"), self.picture("song.mp3")
        done = vault.run("import", song, "--as", url, "--offline", "--cover", song, **KEYLESS)
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        self.assertEqual(json.loads(vault.result("list", "--json")), [])
        title = json.loads(vault.result("import", song, "--as", url, "--offline", "--json", "--cover",
                                        self.picture("given.png"), **KEYLESS))["id"]
        self.assertEqual(self.asked(vault, title).headers["content-type"], "image/png")
        vault.result("cover", title, "--remove")
        self.assertTrue(self.asked(vault, title).body == content(self.picture("within.jpg")))

    @each("alone", "service")
    def test_feed(self, kind):
        """The pictures of a feed are the covers of its titles, unless a file has its own, and lie nowhere readable: {}"""
        vault = self.served_vault() if kind == "service" else self.new_vault()
        environment = KEYLESS if kind == "service" else {}
        show = self.origin.add(f"show-{kind}.png", content=content(self.picture("given.png")), type="text/plain")
        own = self.origin.add(f"own-{kind}.webp", content=content(self.picture("other.webp")))
        names = [f"{kind}-{number}.mp3" for number in range(4)]
        for name in names:
            file = "song.mp3" if name == names[3] else "plain.mp3"
            self.origin.add(name, content=content(self.picture(file)), type="audio/mpeg")
        items = [f"<item><enclosure url='{name}' type='audio/mpeg'/></item>" for name in names]
        items[1] = items[1].replace("</item>", f"<itunes:image href='{own}'/></item>")
        feed = self.origin.add(f"feed-{kind}.xml", type="application/rss+xml", content=(
            "<rss xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'><channel><title>The show</title>"
            f"<itunes:image href='/show-{kind}.png'/>{''.join(items)}</channel></rss>").encode())
        vault.result("sync", feed, **environment)

        def covers():
            listed = json.loads(vault.result("list", "--json"))
            return {title["url"].rsplit("/", 1)[1]: title["id"] for title in listed if title["cover"]}
        self.assert_eventually(lambda: sorted(covers()), names)
        self.assertEqual(len(self.origin.gets(show.rsplit("/", 1)[1])), 1)
        vault.result("sync", feed, **environment)
        self.assertEqual(len(self.origin.gets(show.rsplit("/", 1)[1])), 1)
        if kind == "alone":
            vault.serve()
        for name, picture in zip(names, ("given.png", "other.webp", "given.png", "within.jpg")):
            answer = self.asked(vault, covers()[name])
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.body == content(self.picture(picture)), name)
        vault.stop()
        self.assert_nowhere(vault, content(self.picture("given.png")), content(self.picture("other.webp")))

    def test_keys(self):
        """A cover outlives new keys and another locator, as the independent reader reads it; and goes with its title"""
        vault = self.new_vault()
        title = self.fetched(vault, "plain.mp3", "--cover", self.picture("given.png"))
        digest = hashlib.sha256(content(self.picture("given.png"))).hexdigest()
        for change in (["keys", "reseal", title], ["keys", "rotate"], ["keys", "rewrap"], ["keys", "rotate", "--locator"]):
            vault.result(*change)
            found, = read(vault)
            self.assertEqual((found["titleID"], found["cover"]), (title, digest), change)
        vault.result("shred", "--yes", title)
        self.assertEqual(read(vault), [])

    def test_pages(self):
        """A token that only reads sees a cover; it changes none, and another one is not kept by a browser"""
        vault = self.served_vault()
        title = self.fetched(vault, "song.m4a")
        head = self.asked(vault, title, "HEAD")
        self.assertEqual((head.status, head.headers["content-length"]),
                         (200, str(os.path.getsize(self.picture("within.jpg")))))
        self.assertEqual(head.headers["content-security-policy"], "default-src 'none'; sandbox")
        self.assertEqual(head.headers["x-content-type-options"], "nosniff")
        self.assertEqual(self.asked(vault, title, "DELETE").status, 403)
        image = base64.b64encode(content(self.picture("given.png"))).decode("ascii")
        self.assertEqual(control.ask(vault, "PUT", f"resources/{title}/cover", {"image": image})[0], 200)
        self.assertTrue(self.asked(vault, title).body == content(self.picture("given.png")))


def read(vault):
    """Returns what the independent reader reports of each title."""
    done = subprocess.run(
        [sys.executable, os.path.join(ROOT, "Tests", "IndependentReader", "read_vault.py"), vault.folder, vault.keyring,
         "--key-file", vault.key], capture_output=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(done.stderr + done.stdout[-2000:])
    return json.loads(done.stdout)["resources"]
