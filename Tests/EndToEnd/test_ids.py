"""Titles by their short ids: how they stay, and that nothing on the disk shows them or their names."""

import json
import os
import subprocess
import sys
import time

from harness import written_index
from harness.case import ROOT, VaultCase
from harness.control import KEYLESS
from harness.nginx_origin import HOST

MANY = 10_000
NAME = "Die geheime Folge"


class Ids(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def fetched(self, vault, target, *options):
        """Fetches a title; returns its URL and its id."""
        self.origin.add(target, size=30_000, seed=7)
        url = self.origin.url(target)
        return url, json.loads(vault.result("fetch", "--json", url, *options))["id"]

    def read(self, vault):
        """Returns what the independent reader reports of each title, by its id."""
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "Tests", "IndependentReader", "read_vault.py"), vault.folder,
             vault.keyring, "--key-file", vault.key], capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout[-2000:])
        return {item["titleID"]: item for item in json.loads(done.stdout)["resources"]}

    def test_locator(self):
        """Ids outlive a changed locator and a rebuilt index, as the independent reader reads them, too"""
        vault = self.new_vault()
        titles = dict([self.fetched(vault, "one.mp4"), self.fetched(vault, "two.mp4", "--content-id", "film: 2")])
        before = self.read(vault)
        self.assertEqual(set(before), set(titles.values()))
        vault.serve()
        vault.result("keys", "rotate", "--locator", **KEYLESS)
        url, id = self.fetched(vault, "three.mp4")
        titles[url] = id
        vault.stop()
        for step in ("changed", "rebuilt"):
            after = self.read(vault)
            self.assertEqual({item["url"]: id for id, item in after.items()}, titles, step)
            for id, item in before.items():
                self.assertNotEqual(after[id]["id"], item["id"], "the resource id did not change")
                self.assertEqual(after[id]["sha256"], item["sha256"])
            for url, id in titles.items():
                self.assertEqual(json.loads(vault.result("info", id, "--json"))["url"], url, step)
            vault.result("index", "rebuild", "--force")
        vault.result("remove", *titles.values())
        self.assertEqual(vault.result("list"), b"")

    def test_damaged_rows(self):
        """If a row does not open, --all and --prefix change nothing, because it might be meant; the advice helps"""
        vault = self.new_vault()
        for name in ("a/1.mp4", "a/2.mp4", "a/3.mp4"):
            self.fetched(vault, name)
        written_index.damage(vault, "resource", "metadata")
        for choice in (["--all"], ["--prefix", self.origin.url("a/")]):
            done = vault.run("remove", "--yes", *choice)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn(b"1 title cannot be read, so nothing was done", done.stderr)
        self.assertEqual(len(vault.run("list", "--columns", "id").stdout.splitlines()), 3, "a heading and two titles")
        self.assertIn(b"restored", vault.run("verify", "--repair").stdout)
        vault.result("index", "rebuild", "--force")
        self.assertEqual(len(vault.result("remove", "--yes", "--all").splitlines()), 3)

    def test_nothing_readable(self):
        """A name that was given, and the id that a title keeps, are nowhere in the vault's files"""
        vault = self.new_vault()
        _, id = self.fetched(vault, "hidden.mp4")
        vault.result("rename", id, NAME)
        vault.result("keys", "rotate", "--locator")
        self.assertIn(NAME.encode(), vault.result("list"))
        for parent, _, files in os.walk(vault.folder):
            for name in files:
                with open(os.path.join(parent, name), "rb") as file:
                    content = file.read()
                for needle in (NAME.encode(), id.encode(), HOST.encode() + b":"):
                    self.assertNotIn(needle, content, name)

    def test_many(self):
        """Of 10 000 titles, list, list --search and a command by id take well under a second"""
        vault = self.new_vault()
        written_index.add_titles(vault, MANY)
        for arguments in (("list",), ("list", "--sort", "size"), ("list", "--search", "9999"), ("list", "--json")):
            vault.result(*arguments)
            began = time.monotonic()
            shown = vault.result(*arguments)
            self.figure(" ".join(arguments) + f" of {MANY} titles", time.monotonic() - began, "0.3 s", " s")
            if arguments[-1] != "9999":
                self.assertGreaterEqual(len(shown.splitlines()), MANY)
        self.assertEqual(len(vault.result("list", "--search", "/9999").splitlines()), 2)
        id = shown and json.loads(shown)[5000]["id"]
        url = json.loads(shown)[5000]["url"]
        vault.result("keys", "rotate", "--locator")
        for _ in range(2):
            self.assertEqual(json.loads(vault.result("info", id, "--json"))["url"], url)
