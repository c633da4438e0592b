"""What each key operation takes from whom: every kind of row, old keyring and today's folder, today's keyring and an old
folder, and old values in today's files; by the independent reader, and as the article *Keys* prints it."""

import dataclasses
import json
import os

from harness import every_row, stored_records
from harness.case import ROOT, VaultCase, each

ARTICLE = os.path.join(ROOT, "Sources", "MediaVault", "MediaVault.docc", "Keys.md")
HEAD = ("after", "old keyring, rows from before", "old keyring, rows written since", "today's keyring, old folder",
        "replaced values in today's files")
# The name of each operation in the article, and its commands; `RETIRE` stands for the retirement of all older generations.
RETIRE = "retire"
ACTS = {
    "`keys rotate`": (["keys", "rotate"],),
    "+ `keys rewrap`": (["keys", "rotate"], ["keys", "rewrap"]),
    "+ `keys retire`": (["keys", "rotate"], ["keys", "rewrap"], RETIRE),
    "`keys revoke-root`": (["keys", "revoke-root", "--drop-slots"],),
    "`keys respond-to-leak`": (["keys", "respond-to-leak", "--drop-slots", "--yes"],),
    "`keys renew`": (["keys", "renew"],),
    "`keys renew --keep 1`": (["keys", "renew", "--keep", "1"],),
    "`keys rotate --locator`": (["keys", "rotate", "--locator"],),
    "`shred` of a title": (["shred", every_row.OTHER],),
    "`keys reseal`": (["keys", "reseal"],),
    "`keys backup`, `keys restore`": (
        ["keys", "backup", "{base}/backup", "--backup-passphrase-file", "{base}/phrase"],
        ["keys", "restore", "{base}/backup", "--backup-passphrase-file", "{base}/phrase", "--new-key-file", "{base}/new"]),
    "`keys change-passphrase`": (["keys", "change-passphrase", "--new-key-file", "{base}/new"],),
}
# What the article says in words, about every kind: after these an old keyring opens nothing, and an old folder opens with
# no later keyring.
CLOSED_TO_OLD_KEYRING = {"+ `keys rewrap`", "+ `keys retire`", "`keys revoke-root`", "`keys respond-to-leak`",
                         "`keys renew`", "`keys renew --keep 1`", "`shred` of a title"}
CLOSED_TO_NEW_KEYRING = CLOSED_TO_OLD_KEYRING - {"+ `keys rewrap`", "`keys renew`"}


class RecordMatrix(VaultCase):
    @classmethod
    def prepare(cls):
        cls.vault = every_row.make(os.path.join(cls.scratch, "first"))
        cls.rows = every_row.of_vault(cls.vault.folder)
        cls.keys = stored_records.keys_of(cls.vault.keyring, cls.vault.key)

    def act(self, name):
        """Carries an operation out on a copy; returns the copy, its rows and its keys."""
        copy = every_row.copied(self.vault, os.path.join(self.scratch, "".join(filter(str.isalnum, name))))
        with open(os.path.join(copy.base, "phrase"), "w", encoding="ascii") as file:
            file.write("drawer\n")
        os.chmod(os.path.join(copy.base, "phrase"), 0o600)
        older = list(self.keys.generations)
        for command in ACTS[name]:
            commands = [["keys", "retire", str(number)] for number in older] if command == RETIRE else [command]
            for arguments in commands:
                copy.result(*(argument.format(base=copy.base) for argument in arguments))
        if os.path.exists(os.path.join(copy.base, "new")):
            copy.key = copy.environment["MEDIAVAULT_KEY_FILE"] = os.path.join(copy.base, "new")
        return copy, every_row.of_vault(copy.folder), stored_records.keys_of(copy.keyring, copy.key)

    @staticmethod
    def word(opened, all_values, tables):
        """Returns how much of some tables opens: every value of every one, none of any, or some."""
        if all(opened[table] == all_values[table] for table in tables):
            return "all"
        return "some" if any(opened[table] for table in tables) else "nothing"

    def measured(self, pair, keys):
        """Returns how much keys open of an index, and as much of its backup."""
        words = [self.word(every_row.opened(rows, keys), every_row.values(rows), every_row.TABLES) for rows in pair]
        self.assertEqual(words[0], words[1])
        return words[0]

    def row(self, name):
        """Measures one row of the article's table."""
        copy, now, keys = self.act(name)
        self.assertEqual(every_row.opened(now[0], keys), every_row.values(now[0]), "the vault itself opens all of it")
        old_keyring, old_folder = self.measured(now, self.keys), self.measured(self.rows, keys)
        # Nothing but the generations that a keyring still has decides it.
        kept = {number: key for number, key in self.keys.generations.items() if number in keys.generations}
        self.assertEqual(old_folder, self.measured(self.rows, dataclasses.replace(self.keys, generations=kept)))
        remains = self.remains(copy, now)
        copy.result("viewers", "add", "Zoe")
        copy.result("token", "create", "--scope", "read", "--name", "later")
        later = every_row.of_vault(copy.folder)[0]
        before, after = every_row.values(now[0]), every_row.values(later)
        since = {table: after[table] - before[table] for table in every_row.TABLES}
        written = [table for table in every_row.TABLES if since[table]]
        self.assertLessEqual({"viewer", "accessGrant"}, set(written), "premise: they were written")
        opened = {table: values & since[table] for table, values in every_row.opened(later, self.keys).items()}
        return (name, old_keyring, self.word(opened, since, written), old_folder, remains)

    def remains(self, copy, now):
        """Says whether a value that is not in force any more is still in a file of the index."""
        content = b""
        for name in every_row.FILES:
            path = os.path.join(copy.folder, name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    content += file.read()
        live, found = set(), []
        for rows in now:
            live |= set().union(*every_row.values(rows).values())
        self.assertTrue(any(value in content for value in live), "premise: the search finds what is there")
        for rows in self.rows:
            found += [table for table, old in every_row.values(rows).items()
                      for value in old - live if value[:64] in content or value[-64:] in content]
        return ", ".join(sorted(set(found))) or "none"

    def test_every_kind_is_there_and_opens(self):
        """A vault with a row of every kind opens with its own keyring, and the list of kinds is that of the reader"""
        for rows in self.rows:
            for table, values in every_row.values(rows).items():
                self.assertTrue(values, f"no row of {table}")
            self.assertEqual(every_row.opened(rows, self.keys), every_row.values(rows))

    @each(*ACTS)
    def test_operation(self, name):
        """After {}, an old keyring and an old folder open what the article says, of every kind"""
        row = self.row(name)
        if name in CLOSED_TO_OLD_KEYRING:
            self.assertEqual(row[1:3], ("nothing", "nothing"))
        if name in CLOSED_TO_NEW_KEYRING:
            self.assertEqual(row[3], "nothing")
        self.assertEqual(row[4], "none")
        self.assertIn(line(row), table_of_article(), json.dumps(row))

    def test_article(self):
        """The article has a row for each operation, and no other"""
        lines = table_of_article()
        self.assertEqual([text.split(" | ")[0] for text in lines[2:]], [f"| {name}" for name in ACTS])


def line(cells):
    return f"| {' | '.join(cells)} |"


def table_of_article():
    """Returns the lines of the table."""
    with open(ARTICLE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if line(HEAD) not in lines:
        return []
    first = lines.index(line(HEAD))
    last = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    return lines[first:last]
