"""The table of what runs at night, and what changes call for."""

import os
import re
import subprocess
import unittest

import night
import parts

TABLE = """
# a comment
row soak  SOAK=7200 (SOAK=300)
    Sources/Vault/ Tests/soak.py
row players
    Sources/Vault/Media/ Scripts/package
row day
    *.md Sources/ Tests/test_*
"""


def end_to_end():
    """Yields names and texts of the modules of the end-to-end tests."""
    folder = os.path.join(parts.ROOT, "Tests", "EndToEnd")
    for name in sorted(os.listdir(folder)):
        if name.startswith("test_"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield name, file.read()


def in_tests(pattern):
    """Yields what a pattern finds in them."""
    for _, text in end_to_end():
        yield from re.findall(pattern, text)


class Table(unittest.TestCase):
    def setUp(self):
        self.table = night.rows(TABLE)

    def names(self, *paths):
        return [row.name for row in night.touched(self.table, paths)]

    def test_rows(self):
        """A row has a name, variables by night and by day, and paths"""
        self.assertEqual([row.name for row in self.table], ["soak", "players", "day"])
        self.assertEqual(self.table[0].by_night, {"SOAK": "7200"})
        self.assertEqual(self.table[0].if_changed, {"SOAK": "300"})
        self.assertEqual(self.table[0].paths, ("Sources/Vault/", "Tests/soak.py"))

    def test_touched(self):
        """A changed path calls for its rows, and a path that no row knows for all rows"""
        self.assertEqual(self.names(), [])
        self.assertEqual(self.names("Sources/Vault/Media/a.swift"), ["soak", "players"])
        self.assertEqual(self.names("Sources/Vault/a.swift", "README.md"), ["soak"])
        self.assertEqual(self.names("README.md", "Sources/Other/a.swift"), [])
        self.assertEqual(self.names("README.md", "Package.swift"), ["soak", "players"])

    def test_exact(self):
        """A file is itself alone, a folder all that is in it, and a pattern whatever has its form"""
        self.assertEqual(self.names("Scripts/package"), ["players"])
        self.assertEqual(self.names("Scripts/packages.sh"), ["soak", "players"])
        self.assertEqual(self.names("Sources/Vaults/a.swift"), [])
        self.assertEqual(self.names("Tests/test_one.py", "Sources/a/b.md"), [])

    def test_unknown(self):
        """A revision that git does not know is an error that names it"""
        with self.assertRaisesRegex(night.UnknownRevision, "no-such-revision"):
            night.changed_paths("no-such-revision")

    def test_environment(self):
        """The variables of the rows that run are set, with the values of the night or of a change"""
        chosen = self.table[:2]
        self.assertEqual(night.environment(chosen, True), {night.VARIABLE: "soak players", "SOAK": "7200"})
        self.assertEqual(night.environment(chosen, False), {night.VARIABLE: "soak players", "SOAK": "300"})
        self.assertEqual(night.environment([], False), {night.VARIABLE: ""})


class Repository(unittest.TestCase):
    def setUp(self):
        self.table = night.rows()

    def test_paths(self):
        """Each path of the table exists"""
        known = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=parts.ROOT, check=True,
                               capture_output=True, text=True).stdout.splitlines()
        for row in self.table:
            for path in row.paths:
                self.assertTrue(any(night.Row("", {}, {}, (path,)).covers(name) for name in known), f"{row.name}: {path}")

    def test_names(self):
        """The checks name rows of the table only, and each row makes some test do more"""
        named = {*in_tests(r'"(\w+)" in NIGHT'), *in_tests(r'at_night\("(\w+)"\)')}
        rows = {row.name: row for row in self.table if row.name != "day"}
        self.assertLessEqual(named, set(rows))
        self.assertEqual([name for name, row in rows.items() if name not in named | {"debug"} and not row.by_night], [])

    def test_modules(self):
        """A module whose checks do more in a row is a path of that row"""
        rows = {row.name: row for row in self.table}
        for module, text in end_to_end():
            named = {*re.findall(r'"(\w+)" in NIGHT', text), *re.findall(r'at_night\("(\w+)"\)', text)}
            named |= {"kills"} if re.search(r"\bKILLS\b", text) else set()
            for name in named:
                self.assertTrue(rows[name].covers(f"Tests/EndToEnd/{module}"), f"{name}: {module}")

    def test_more(self):
        """A row that has variables by night has the same ones for changes"""
        for row in self.table:
            self.assertEqual(row.by_night.keys(), row.if_changed.keys(), row.name)
