"""A full disk after the owner was killed: held titles play, and space can be freed."""

import http.client
import json
import os
import urllib.request

from harness import client
from harness.case import VaultCase
from harness.small_disk import SmallDisk
from harness.waiting import eventually

MEBIBYTE = 1 << 20


class FullDiskOwner(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.held = cls.origin.add("held.mp4", size=3 * MEBIBYTE, seed=3)
        cls.played = cls.origin.add("played.mp4", size=8 * MEBIBYTE, seed=4)

    def setUp(self):
        self.vault = self.new_vault()
        self.vault.result("fetch", self.held)
        self.disk = SmallDisk(self, self.vault, 40)

    def kill_while_filling(self):
        film = self.origin.film("played.mp4")
        film.hold_at = 5 * MEBIBYTE
        self.addCleanup(film.release.set)
        service = self.vault.serve()
        address = self.vault.address(self.played)
        with urllib.request.urlopen(address, timeout=30) as answer:
            answer.read(4 * MEBIBYTE)
            self.assertTrue(eventually(lambda: self.vault.segment_bytes() > 7 * MEBIBYTE))
            service.process.kill()
            service.process.wait()
        film.release.set()

    def reserve(self):
        return os.path.join(self.vault.folder, "reserve")

    def check(self, look=lambda service: None):
        self.disk.fill()
        self.assertEqual(self.disk.free(), 0)
        look(self.vault.serve())
        status, length, _ = client.digest(self.vault.address(self.held))
        self.assertEqual((status, length), (200, 3 * MEBIBYTE))
        self.vault.stop()
        self.disk.fill()

    def test_with_the_reserve(self):
        """With a reserve the service starts on a full disk and plays held titles; remove, prune and config set work"""
        self.assertEqual(os.path.getsize(self.reserve()), 4 * MEBIBYTE)
        self.kill_while_filling()
        self.check()
        self.vault.result("remove", self.held)
        self.refill()
        self.vault.result("config", "set", "max-size", "1GiB")
        self.refill()
        self.vault.result("prune", "--max-size", "1MiB")
        self.assertLessEqual(self.vault.segment_bytes(), MEBIBYTE)
        self.disk.empty()
        self.vault.result("verify")
        self.vault.result("config", "set", "mode", "online")
        self.assertEqual(os.path.getsize(self.reserve()), 4 * MEBIBYTE, "the reserve is not created again")

    def refill(self):
        """Frees space so that a command can create the reserve again, then fills the disk."""
        self.disk.empty()
        self.vault.result("config", "set", "mode", "online")
        self.disk.fill()
        self.assertEqual(self.disk.free(), 0)

    def ticket(self):
        return self.vault.result("open", "--print").decode().strip().partition("#ticket=")[2]

    def sign_in(self, ticket):
        connection = http.client.HTTPConnection(*self.vault.listen.split(":"), timeout=60)
        fields = {"Content-Type": "application/json", "Origin": f"http://{self.vault.listen}"}
        connection.request("POST", "/api/v1/sessions", json.dumps({"ticket": ticket}), fields)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def test_sign_in(self):
        """On a full disk the owner can sign in, which takes from the reserve, and status says that nothing is stored"""
        self.vault.serve()
        self.assertIn(b"stores", self.vault.result("status"))
        self.disk.fill()
        self.assertIn(b"nothing is stored: the disk is full", self.vault.result("status"))
        self.assertEqual(self.sign_in(self.ticket())[0], 201)
        self.disk.empty()
        self.assertNotIn(b"nothing is stored", self.vault.result("status"))

    def test_without_the_reserve(self):
        """Without its reserve the service starts on a full disk, plays held titles, and recovers when there is space"""
        self.kill_while_filling()
        os.unlink(self.reserve())
        self.check()
        self.disk.empty()
        self.vault.result("verify")

    def test_nothing_to_write_with(self):
        """If SQLite has no space for its side files, the service plays held titles, changes nothing, and reports why"""
        os.unlink(self.reserve())

        def look(service):
            self.assertIn("nothing is changed", service.log())
            status, problem = self.sign_in("x")
            self.assertEqual(status, 503)
            self.assertIn("the disk is full", problem["detail"])
            self.assertIn(b"nothing is stored: the disk is full", self.vault.result("status"))
            for act in (["fetch", self.played], ["remove", self.held], ["config", "set", "max-size", "1GiB"]):
                done = self.vault.run(*act)
                self.assertEqual(done.returncode, 1, act)
                self.assertIn(b"only reads the vault", done.stderr, act)

        self.check(look)
        self.disk.empty()
        self.vault.result("verify")
