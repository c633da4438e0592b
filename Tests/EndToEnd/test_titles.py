"""How a title is named: the key policy, content ids and credentials, for commands and players."""

import json
import os
import sqlite3

from harness import client
from harness.case import VaultCase
from harness.control import KEYLESS
from harness.nginx_origin import HOST

SIZE = 300_000


class Titles(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def film(self, *targets, **script):
        """Serves the same bytes under several targets; returns the bytes and the URLs."""
        for target in targets:
            self.origin.add(target, size=SIZE, seed=7, **script)
        return self.origin.film(targets[0]).content, [self.origin.url(target) for target in targets]

    def asked(self, *targets):
        return [len(self.origin.gets(target)) for target in targets]

    def assert_plays(self, address, content):
        answer = client.get(address)
        self.assertEqual((answer.status, answer.complete), (200, True))
        self.assertTrue(answer.body == content, "the bytes differ")

    def test_ignored_query(self):
        """With ignore-query set, a signed URL with a new token finds the same bytes, also through the service"""
        vault, names = self.served_vault(), ("signed.mp4?token=1", "signed.mp4?token=2")
        content, (first, second) = self.film(*names)
        vault.result("config", "set", "ignore-query", "token,expires", **KEYLESS)
        self.assertEqual(vault.result("config", "get", "ignore-query", **KEYLESS), b"expires,token\n")
        vault.result("fetch", first, **KEYLESS)
        self.assert_plays(vault.address(second), content)
        self.assertEqual(self.asked(*names), [1, 0])
        vault.stop()
        self.assertTrue(vault.result("cat", second, "--offline") == content)
        vault.result("config", "unset", "ignore-query")
        self.assertEqual(vault.run("cat", second, "--offline").returncode, 6)

    def test_list_with_damage(self):
        """If the rows of one title do not open, list shows all other titles and exits 4"""
        vault = self.new_vault()
        _, urls = self.film("whole.mp4", "broken.mp4")
        for url in urls:
            vault.result("fetch", url)
        with sqlite3.connect(os.path.join(vault.folder, "index.sqlite")) as connection:
            connection.execute("UPDATE resourceKey SET wrapped = zeroblob(60) WHERE resource = "
                               "(SELECT resource FROM resourceKey LIMIT 1)")
        connection.close()
        for form in (("--columns", "url"), ("--json",)):
            done = vault.run("list", *form)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertEqual(sum(url.encode() in done.stdout for url in urls), 1, done.stdout)
            self.assertIn(b"1 title is not listed", done.stderr)
        self.assertEqual(len(json.loads(done.stdout)), 1)

    def test_renewed_link(self):
        """A download whose link has expired resumes with the next link from where it stopped"""
        vault, names = self.new_vault(), ("renewed.mp4?sig=1", "renewed.mp4?sig=2")
        content, (first, second) = self.film(*names)
        vault.result("config", "set", "ignore-query", "sig", "--host", HOST)
        vault.result("cat", first, "--range", "0-99999")
        self.origin.film(names[0]).status = 403
        self.assertEqual(vault.run("fetch", first).returncode, 5)
        vault.result("fetch", second)
        self.assertTrue(vault.result("cat", first, "--offline") == content)
        self.assertEqual([item.range for item in self.origin.gets(names[1])], ["bytes=100000-"])

    def test_mapped_host(self):
        """map-host gives a mirror's title the name that it has at the other host, until the rule is removed"""
        vault = self.new_vault()
        content, (url,) = self.film("mirrored.mp4")
        here, there = f"{HOST}:{self.origin.port}", f"localhost:{self.origin.port}"
        mirror = url.replace(here, there)
        vault.result("config", "set", "map-host", there, here)
        vault.result("fetch", mirror)
        self.assertTrue(vault.result("cat", url, "--offline") == content)
        vault.result("config", "unset", "map-host", there)
        self.assertEqual(vault.run("cat", mirror, "--offline").returncode, 6)

    def test_allowed_hosts(self):
        """config allows hosts and removes them one by one; a value that is not a host is refused with exit code 2"""
        vault = self.new_vault()
        vault.result("config", "set", "allow-host", "nas.example", "10.0.0.7")
        self.assertEqual(vault.result("config", "get", "allow-host").split(), [b"10.0.0.7", b"nas.example"])
        vault.result("config", "unset", "allow-host", "10.0.0.7")
        self.assertEqual(vault.result("config", "get", "allow-host"), b"nas.example\n")
        self.assertEqual(vault.run("config", "set", "allow-host", "http://nas.example/").returncode, 2)

    def test_content_id(self):
        """A player finds a title by its content id under any URL, and not without the content id"""
        vault, names = self.served_vault(), ("named.mp4?a", "named.mp4?b")
        content, (first, second) = self.film(*names)
        self.assert_plays(vault.address(first, "--content-id", "film 1"), content)
        self.assert_plays(vault.address(second, "--content-id", "film 1"), content)
        self.assertEqual(self.asked(*names), [1, 0])
        self.assert_plays(vault.address(second), content)
        self.assertEqual(self.asked(*names), [1, 1])

    def test_credentials(self):
        """A title that requires credentials plays for a client with its link; the fields stay in the vault, and other
        clients get 401"""
        vault, other = self.served_vault(), self.served_vault()
        content, (url,) = self.film("private.mp4", secret="Bearer s3cret")
        fields = os.path.join(vault.base, "fields")
        with open(fields, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("Authorization: Bearer s3cret\n")
        self.assertEqual(client.get(other.address(url)).status, 401)
        vault.result("cat", url, "--header-file", fields, "--range", "0-99999")
        address = vault.address(url, "--header-file", fields)
        self.assertNotIn("s3cret", address)
        os.remove(fields)
        # The vault requests the missing bytes with the fields that it has stored.
        self.assert_plays(address, content)
        self.assertEqual([item.range for item in self.origin.gets("private.mp4")][-1], "bytes=100000-")
