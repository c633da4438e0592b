"""What media state about themselves, their name and their length, is what a list shows of a title that is fetched or
imported."""

import json
import subprocess

from harness.case import VaultCase, each
from harness.media import SAMPLES, TITLE

# A transport stream states nothing, and neither does the head of an MP4 of fragments without an index.
SILENT = {"film.ts": (None, None), "fragmented.mp4": (TITLE, None)}


class StatedFacts(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_scripted_origin(), cls.served_vault()

    def assert_stated(self, name, title):
        """Compares a title of the vault with what ffprobe reads from the file; it adds what is put before the sound."""
        facts = self.vault.info(title)
        if name in SILENT:
            self.assertEqual((facts["name"], facts["duration"]), SILENT[name])
            return
        told = subprocess.run(
            ["ffprobe", "-v", "error", "-of", "json", "-show_entries", "format=duration", self.media.path(name)],
            check=True, stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(facts["name"], TITLE)
        self.assertAlmostEqual(facts["duration"] / 1000, float(json.loads(told.stdout)["format"]["duration"]), delta=0.1)

    @each(*SAMPLES)
    def test_stated(self, name):
        """A list shows the name and the length of a title that is fetched, and of one that is imported: {}"""
        with open(self.media.path(name), "rb") as file:
            url = self.origin.add(name, content=file.read())
        fetched = json.loads(self.vault.result("fetch", "--json", url))["id"]
        self.assert_stated(name, fetched)
        imported = json.loads(self.vault.result(
            "import", self.media.path(name), "--as", self.origin.url("imported-" + name), "--offline", "--json"))["id"]
        self.assert_stated(name, imported)
