"""Whether pinned titles are ready to play without the network, as the command says before a journey."""

import json
import os

from harness import client
from harness.case import VaultCase, each
from harness.waiting import eventually

SIZE = 20_000_000
# Without a key the service answers.
KEYLESS = {"MEDIAVAULT_KEY_FILE": None}


class Ready(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def pinned(self, vault, target="film.mp4", size=SIZE):
        """Fetches and pins a title; returns its URL and its id."""
        self.origin.add(target, size=size, seed=7)
        url = self.origin.url(target)
        id = json.loads(vault.result("fetch", "--json", url))["id"]
        vault.result("pin", id)
        return url, id

    def verdict(self, vault, *options, **environment):
        """Returns the exit code, and the report."""
        done = vault.run("ready", "--json", *options, **environment)
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if report["ready"] else 1, done.stderr)
        self.assertEqual(done.stderr, b"")
        return done.returncode, report

    def causes(self, vault, *options, **environment):
        _, report = self.verdict(vault, *options, **environment)
        titles = [finding for title in report["unready"] for finding in title["findings"]]
        return sorted(finding["cause"] for finding in report["findings"] + titles)

    def test_ready(self):
        """A pinned, whole and verified title is ready with one line and exit code 0, without the origin, with and
        without a service"""
        vault = self.new_vault()
        self.assertEqual(self.causes(vault), ["nothingChecked", "unverified"])
        url, _ = self.pinned(vault)
        self.assertEqual(self.causes(vault), ["unverified"])
        # Only the owner of a vault records that it was verified.
        vault.result("verify")
        self.assertEqual(self.causes(vault), ["unverified"])
        vault.result("verify", "--repair")
        self.assertEqual(self.causes(vault), [])
        vault.serve()
        asked = len(self.origin.gets("film.mp4"))
        line = b"ready: 1 pinned title (20.0 MB) will play without the network\n"
        self.assertEqual(vault.result("ready", **KEYLESS), line)
        self.assertEqual(vault.result("ready"), line)
        vault.stop()
        self.assertEqual(vault.result("ready"), line)
        self.assertEqual(vault.run("ready", "--until", "7d").returncode, 0)
        self.assertEqual(len(self.origin.gets("film.mp4")), asked)
        self.assertTrue(vault.result("cat", url, "--offline") == self.origin.film("film.mp4").content)

    def test_collection(self):
        """A collection that is pinned pins what joins it, and is ready with all its titles, with and without a
        service"""
        vault = self.new_vault()
        for number in (1, 2, 3):
            self.origin.add(f"Aurora/0{number}%20-%20Song.mp3", size=100_000, seed=number)
        one, two, three = (self.origin.url(f"Aurora/0{number}%20-%20Song.mp3") for number in (1, 2, 3))
        vault.result("fetch", one, two)
        self.assertIn(b"pinned", vault.result("pin", "--collection", "aurora", "--yes"))
        vault.serve()
        vault.result("fetch", three)

        def classes():
            return [title["class"] for title in json.loads(vault.result("list", "--json", **KEYLESS))]

        self.assertTrue(eventually(lambda: classes() == ["pinned"] * 3))
        refused = vault.run("unpin", three, **KEYLESS)
        self.assertIn(b"pinned with its collection", refused.stderr)
        vault.result("verify", **KEYLESS)
        for options in (KEYLESS, {}):
            done = vault.result("ready", "--collection", "Aurora", **options)
            self.assertEqual(done, b"ready: 3 titles (300.0 kB) will play without the network\n")
        vault.result("unpin", "--collection", "Aurora", "--yes", **KEYLESS)
        self.assertEqual(classes(), ["download"] * 3)
        self.assertEqual(vault.run("ready", "--collection", "Borealis", **KEYLESS).returncode, 6)

    def test_damage(self):
        """A lost file makes the title unready: the list names its id and what to do, and a repair makes it ready"""
        vault = self.new_vault()
        vault.serve()
        url, id = self.pinned(vault)
        self.pinned(vault, "other.mp4", 100_000)
        vault.result("rename", id, "A film")
        vault.result("verify", **KEYLESS)
        self.assertEqual(self.causes(vault, **KEYLESS), [])
        files = [os.path.join(parent, name) for parent, _, names in os.walk(os.path.join(vault.folder, "segments"))
                 for name in names]
        os.remove(max(files, key=os.path.getsize))
        done = vault.run("ready", **KEYLESS)
        self.assertEqual(done.returncode, 1)
        text = done.stdout.decode()
        self.assertIn("not ready: 1 of 2 pinned titles", text)
        self.assertIn(f"{id}  A film\n  1 file is gone", text)
        self.assertIn("mediavault verify --repair", text)
        vault.result("verify", "--repair", **KEYLESS)
        self.assertEqual(self.causes(vault, **KEYLESS), [])
        self.assertTrue(vault.result("cat", url, **KEYLESS) == self.origin.film("film.mp4").content)

    def test_incomplete(self):
        """A pinned title that was only begun is unready, and so is one in a paused download queue"""
        vault = self.new_vault()
        self.origin.add("begun.mp4", size=SIZE, seed=7)
        url = self.origin.url("begun.mp4")
        vault.result("cat", url, "--range", "0-999999")
        vault.result("pin", url)
        self.assertEqual(self.causes(vault), ["incomplete", "unverified"])
        vault.result("fetch", "--detach", url)
        self.assertEqual(self.causes(vault), ["incomplete", "queued", "unverified"])

    @each("link", "token")
    def test_expiry(self, kind):
        """What players play with must not end before the day"""
        vault = self.new_vault()
        url, _ = self.pinned(vault)
        vault.serve()
        vault.result("verify", **KEYLESS)
        if kind == "link":
            vault.result("url", url, "--name", "tv", "--expires", "2d", **KEYLESS)
        else:
            vault.result("token", "create", "--scope", "play", "--name", "tv", "--expires", "2d", **KEYLESS)
        self.assertEqual(self.causes(vault, "--until", "1d", **KEYLESS), [])
        self.assertEqual(self.causes(vault, "--until", "3d", **KEYLESS), ["accessEnds"])
        self.assertEqual(self.causes(vault, **KEYLESS), [])

    def test_wrong_key(self):
        """With another key the answer is that of every command: exit code 3, and no verdict"""
        vault = self.new_vault()
        self.pinned(vault)
        other = os.path.join(vault.base, "other")
        with open(other, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(os.urandom(32))
        done = vault.run("ready", MEDIAVAULT_KEY_FILE=other)
        self.assertEqual((done.returncode, done.stdout), (3, b""))

    def test_scope(self):
        """A token to read suffices for the API, and one for metrics does not"""
        vault = self.served_vault()
        for scope, status in (("metrics", 403), ("read", 200)):
            self.assertEqual(status_with(vault, vault.token(scope)), status)


def status_with(vault, token):
    """Returns the status of the request with a token on the port."""
    answer = client.get(f"http://{vault.listen}/api/v1/readiness", headers={"Authorization": f"Bearer {token}"})
    return answer.status
