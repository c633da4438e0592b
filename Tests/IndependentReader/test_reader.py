"""The reader against the golden vault: intact, damaged one file at a time, and written to while it is read."""

import contextlib
import filecmp
import importlib.util
import io
import json
import os
import sqlite3
import tempfile
import unittest

import golden_plan
import make_golden_vault as golden
import read_vault
from vaultformat import database, keyring, records, schema
from vaultformat.contents import Contents
from vaultformat.errors import OlderKeyring
from vaultformat.segment import BLOCKS_AT, from_file, segment_key

COMMITTED = os.path.join(os.path.dirname(__file__), os.pardir, "MediaVaultTests", "GoldenVault")


class GoldenVault(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.vault = folder.name, os.path.join(folder.name, "vault")
        golden.make(self.folder)
        with open(self.path("expected.json"), encoding="ascii") as file:
            self.expected = json.load(file)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, *options, way=("--key-file", "key")):
        """Returns the exit code and the printed report."""
        out, secret = io.StringIO(), way[1] if way[0] == "--key-command" else self.path(way[1])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = read_vault.main([self.vault, self.path("keyring.json"), way[0], secret, *options])
        return code, json.loads(out.getvalue()) if out.getvalue() else None

    def resource(self, name):
        return next(item for item in self.expected["resources"] if item["name"] == name)

    def file_of(self, segment):
        return self.path("vault", "segments", segment["id"][:2], segment["id"])

    def change(self, path, edit):
        with open(path, "rb") as file:
            data = bytearray(file.read())
        edit(data)
        with open(path, "wb") as file:
            file.write(data)

    def sql(self, statement, *values):
        connection = sqlite3.connect(self.path("vault", "index.sqlite"))
        with connection:
            connection.execute(statement, values)
        connection.close()

    def assert_damage(self, part):
        code, printed = self.read()
        self.assertEqual(code, 4)
        self.assertEqual(len(printed["damage"]), 1, printed["damage"])
        self.assertIn(part, printed["damage"][0])
        return {item["url"]: item for item in printed["resources"]}

    def test_everything_expected_is_read_and_nothing_else(self):
        command = ("--key-command", f"cat {self.path('key')}")
        for way in (("--key-file", "key"), ("--passphrase-file", "passphrase"), ("--credential", "key"), command):
            code, printed = self.read(way=way)
            self.assertEqual((code, printed["damage"]), (0, []))
            found = {item["id"]: item for item in printed["resources"]}
            self.assertEqual(len(found), len(self.expected["resources"]))
            for wanted in self.expected["resources"]:
                item = found[wanted["id"]]
                for name in ("url", "cacheKey", "title", "class", "generation"):
                    self.assertEqual(item[name], wanted[name])
                for got, version in zip(item["representations"], wanted["representations"], strict=True):
                    self.assertEqual(got["size"], version["length"])
                    for name in ("id", "state", "sequence", "type", "etag", "lastModified"):
                        self.assertEqual(got[name], version[name])
                    self.assertEqual(list(zip(*zip(*got["held"]), got["sha256"])) if got["held"] else [],
                                     [(r["first"], r["end"], r["sha256"]) for r in version["held"]])

    def test_the_committed_vault_is_what_is_made_now(self):
        for name in ("keyring.json", "key", "passphrase", "expected.json"):
            self.assertTrue(filecmp.cmp(self.path(name), os.path.join(COMMITTED, name), shallow=False), name)
        for segment in (s for r in self.expected["resources"] for v in r["representations"] for s in v["segments"]):
            committed = os.path.join(COMMITTED, "vault", "segments", segment["id"][:2], segment["id"])
            self.assertTrue(filecmp.cmp(self.file_of(segment), committed, shallow=False))
        for read, name in ((database.read_index, "index.sqlite"), (database.read_catalog, "catalog.backup")):
            self.assertEqual(read(self.path("vault", name)), read(os.path.join(COMMITTED, "vault", name)))

    def test_reading_leaves_nothing_behind(self):
        before = sorted(os.listdir(self.vault))
        self.read()
        self.assertEqual(sorted(os.listdir(self.vault)), before)

    def test_extract(self):
        out = self.path("out")
        for name, code in ((golden_plan.TITLES[0].url, 0), ("content-id:album/7/träck-3", 0),
                           ("http://media.example/nothing", 6)):
            self.assertEqual(self.read("--extract", name, out)[0], code)
        with open(out, "rb") as file:
            self.assertEqual(file.read(), golden.plaintext("named/1", 0, 65_536))
        self.assertEqual(self.read("--extract", golden_plan.TITLES[1].url, out)[0], 6)
        with open(out, "rb") as file:
            file.seek(5_000_000_123)
            self.assertEqual(file.read(8192), golden.plaintext("partial/1", 5_000_000_123, 8192))

    def test_a_flipped_bit_costs_one_block(self):
        segment = self.resource("film")["representations"][1]["segments"][0]
        self.change(self.file_of(segment), lambda data: data.__setitem__(88 + 4112 + 9, data[88 + 4112 + 9] ^ 1))
        held = self.assert_damage("Block 1 of segment")[golden_plan.TITLES[0].url]["held"]
        self.assertEqual(held, [[0, 4096], [8000, 20_011]])

    def test_cut_missing_and_exchanged_files(self):
        first, second, third = self.resource("film")["representations"][1]["segments"]
        os.rename(self.file_of(first), self.path("kept"))
        self.assert_damage("cannot be read")
        with open(self.path("kept"), "rb") as file:
            whole = file.read()
        for content, part in ((whole[:-1], "has 8119 bytes where its row calls for 8120"), (whole[:50], "not opened")):
            with open(self.file_of(first), "wb") as file:
                file.write(content)
            code, printed = self.read()
            self.assertEqual(code, 4)
            self.assertTrue(any(part in sentence for sentence in printed["damage"]), printed["damage"])
        with open(self.file_of(first), "wb") as file:
            file.write(whole)
        with open(self.file_of(third), "rb") as file:
            other = file.read()
        self.change(self.file_of(second), lambda data: data.__setitem__(slice(None), other[:len(data)]))
        code, printed = self.read()
        self.assertEqual(code, 4)
        self.assertTrue(any("header is not the one" in sentence for sentence in printed["damage"]), printed["damage"])

    def test_rows_that_do_not_fit(self):
        id = bytes.fromhex(self.resource("film")["representations"][1]["segments"][1]["id"])
        for statement, part in (("UPDATE segment SET start = start - 1 WHERE id = ?", "overlaps"),
                                ("UPDATE segment SET start = 20000 WHERE id = ?", "past the end"),
                                ("UPDATE segment SET blockSize = 5000 WHERE id = ?", "no block size"),
                                ("UPDATE segment SET key = 9 WHERE id = ?", "resource key 9"),
                                ("UPDATE segment SET state = 'open' WHERE id = ?", "whole blocks"),
                                ("INSERT INTO doomed VALUES (?)", "is doomed"),
                                ("INSERT INTO badBlock VALUES (?, 2)", "bad block")):
            golden.make(self.folder)
            self.sql(statement, id)
            code, printed = self.read()
            self.assertEqual(code, 4)
            self.assertTrue(any(part in sentence for sentence in printed["damage"]), printed["damage"])

    def test_a_representation_does_not_move_to_another_resource(self):
        film, empty = self.resource("film"), self.resource("empty")
        self.sql("UPDATE representation SET resource = ? WHERE id = ?", bytes.fromhex(empty["id"]),
                 bytes.fromhex(film["representations"][0]["id"]))
        code, printed = self.read()
        self.assertEqual(code, 4)
        self.assertTrue(any("does not open" in sentence for sentence in printed["damage"]), printed["damage"])

    def test_an_older_keyring_is_refused(self):
        self.sql("UPDATE vault SET keyringRevision = 5")
        with self.assertRaises(OlderKeyring):
            self.read()

    def test_a_living_log_is_read(self):
        connection = sqlite3.connect(self.path("vault", "index.sqlite"), isolation_level=None)
        self.addCleanup(connection.close)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE resource SET class = 'pinned' WHERE id = ?",
                           (bytes.fromhex(self.resource("empty")["id"]),))
        self.assertGreater(os.path.getsize(self.path("vault", "index.sqlite-wal")), 0)
        code, printed = self.read()
        self.assertEqual(code, 0)
        empty, = (item for item in printed["resources"] if item["url"].endswith("empty.bin"))
        self.assertEqual(empty["class"], "pinned")

    def queue(self, *entries):
        """Adds the tables of the latest version, and a row of the queue for each record; returns their ids."""
        with open(self.path("keyring.json"), "rb") as file:
            keys = keyring.unlock_keys(keyring.read(file.read()), golden.FIRST.key_file)
        connection = sqlite3.connect(self.path("vault", "index.sqlite"))
        ids = [bytes([number]) * 16 for number in range(len(entries))]
        with connection:
            (locator,), = connection.execute("SELECT locator FROM vault").fetchall()
            for statement in schema.LATER + schema.NEWEST:
                connection.execute(statement)
            for id, record in zip(ids, entries):
                connection.execute("INSERT INTO download VALUES (?, ?)", (
                    id, records.seal_former(keys.locators[locator], "download", id, record)))
        connection.execute(f"PRAGMA user_version = {schema.NEWEST_VERSION}")
        connection.close()
        return ids

    RECORD = {"url": "http://a.example/x", "title": "k3v7q2ma", "state": "waiting", "position": 5, "added": 7,
              "fields": [["Cookie", "value-of-the-cookie"]], "fieldsOrigin": "http://a.example", "later": 1}

    def test_the_download_queue_is_read_in_its_order(self):
        self.queue(self.RECORD, {**self.RECORD, "position": 4, "state": "failed"})
        code, printed = self.read()
        self.assertEqual((code, printed["damage"]), (0, []))
        self.assertEqual([item["state"] for item in printed["downloads"]], ["failed", "waiting"])
        self.assertEqual(printed["downloads"][1]["fields"], ["Cookie"])
        self.assertNotIn("value-of-the-cookie", json.dumps(printed))

    def grant(self, record):
        """Adds the tables of version 3, and a row of a token, named links or a session."""
        self.queue()
        with open(self.path("keyring.json"), "rb") as file:
            keys = keyring.unlock_keys(keyring.read(file.read()), golden.FIRST.key_file)
        id = bytes([8]) * 16
        self.sql("INSERT INTO accessGrant VALUES (?, ?)", id, records.seal_former(
            keys.locators[1], "accessGrant", id, record))

    SESSION = {"kind": "session", "name": "Firefox", "created": 7, "used": 300, "expires": 604_807, "era": "AAAA"}

    def test_sessions_are_read(self):
        for more in ({}, {"viewer": "09" * 16}, {"token": "09" * 16}):
            golden.make(self.folder)
            self.grant(self.SESSION | more)
            code, printed = self.read()
            self.assertEqual((code, printed["damage"]), (0, []))
            self.assertEqual(printed["grants"], [{"id": "08" * 16, **self.SESSION, **more}])

    def test_a_session_of_no_viewer_is_damage(self):
        self.grant(self.SESSION | {"viewer": "Anna"})
        self.assert_damage("viewer")

    def set_network(self, record, revision, **members):
        """Adds the tables of the latest version, and the row of the network settings; None for none."""
        self.queue()
        with open(self.path("keyring.json"), "rb") as file:
            keys = keyring.unlock_keys(keyring.read(file.read()), golden.FIRST.key_file)
        connection = sqlite3.connect(self.path("vault", "index.sqlite"))
        with connection:
            (vault, locator, before), = connection.execute("SELECT id, locator, settings FROM vault").fetchall()
            key = keys.locators[locator]
            settings = records.open_record(keys, key, "vault", vault, before) | {"networkRevision": revision, **members}
            connection.execute("UPDATE vault SET settings = ?", (records.seal_former(key, "vault", vault, settings),))
            for statement in schema.NETWORKED:
                connection.execute(statement)
            if record is not None:
                connection.execute("INSERT INTO network VALUES (?, ?)", (
                    vault, records.seal_former(key, "network", vault, record)))
        connection.execute(f"PRAGMA user_version = {schema.NETWORK_VERSION}")
        connection.close()

    def test_the_network_settings_are_read_from_their_row(self):
        self.set_network({"revision": 3, "headers": [], "cookies": "value-of-the-cookie"}, 3)
        code, printed = self.read()
        self.assertEqual((code, printed["damage"]), (0, []))
        self.assertNotIn("value-of-the-cookie", json.dumps(printed))

    def test_a_row_of_the_network_with_a_wrong_member_is_damage(self):
        self.set_network({"revision": 3, "cookies": []}, 3)
        self.assert_damage("cookies")

    def test_an_older_row_of_the_network_is_damage(self):
        self.set_network({"revision": 2}, 3)
        self.assert_damage("network")

    def test_the_row_of_the_network_has_the_id_that_the_settings_name(self):
        self.set_network({"revision": 3, "id": "AAAA"}, 3, networkID="AAAA")
        code, printed = self.read()
        self.assertEqual((code, printed["damage"]), (0, []))

    def test_a_row_of_the_network_with_another_id_is_damage(self):
        self.set_network({"revision": 3, "id": "AAAA"}, 3, networkID="AAAB")
        self.assert_damage("network")

    def test_a_row_of_the_network_without_the_id_is_damage(self):
        self.set_network({"revision": 3}, 3, networkID="AAAA")
        self.assert_damage("network")

    def test_a_row_of_the_network_that_is_too_large_is_damage(self):
        self.set_network({"revision": 3, "later": "x" * (4 << 20)}, 3)
        self.assert_damage("too large")

    def test_a_missing_row_of_the_network_is_damage(self):
        self.set_network(None, 3)
        self.assert_damage("network")

    def subscribe(self, record):
        """Adds a row of a subscription; returns its id."""
        self.set_network(None, 0)
        with open(self.path("keyring.json"), "rb") as file:
            keys = keyring.unlock_keys(keyring.read(file.read()), golden.FIRST.key_file)
        id = bytes([7]) * 16
        connection = sqlite3.connect(self.path("vault", "index.sqlite"))
        (locator,), = connection.execute("SELECT locator FROM vault").fetchall()
        connection.close()
        self.sql("INSERT INTO subscription VALUES (?, ?)", id, records.seal_former(
            keys.locators[locator], "subscription", id, record))
        return id

    SUBSCRIPTION = {"url": "http://a.example/feed", "added": 7, "wanted": ["k3v7q2ma"], "brought": []}

    def test_a_subscription_is_read(self):
        self.subscribe(self.SUBSCRIPTION)
        code, printed = self.read()
        self.assertEqual((code, printed["damage"]), (0, []))
        self.assertEqual(printed["subscriptions"][0]["wanted"], ["k3v7q2ma"])

    def test_a_subscription_with_two_sources_is_damage(self):
        self.subscribe({**self.SUBSCRIPTION, "list": "b"})
        self.assert_damage("source")

    def test_a_subscription_with_an_odd_title_is_damage(self):
        self.subscribe({**self.SUBSCRIPTION, "brought": ["no id"]})
        self.assert_damage("brought")

    def add_viewers(self, viewer, share, positions):
        """Adds a viewer, the share of a title, and positions; returns the ids of their rows."""
        self.subscribe(self.SUBSCRIPTION)
        with open(self.path("keyring.json"), "rb") as file:
            keys = keyring.unlock_keys(keyring.read(file.read()), golden.FIRST.key_file)
        connection = sqlite3.connect(self.path("vault", "index.sqlite"))
        for statement in schema.COVERED:
            connection.execute(" ".join(statement.split()))
        connection.execute(f"PRAGMA user_version = {schema.COVER_VERSION}")
        (locator,), = connection.execute("SELECT locator FROM vault").fetchall()
        resource = connection.execute("SELECT min(id) FROM resource").fetchone()[0]
        key, id = keys.locators[locator], bytes([9]) * 16
        for table, row, record in (("viewer", id, viewer), ("share", resource, share), ("position", id, positions)):
            connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (
                row, records.seal_former(key, table, row, record)))
        connection.commit()
        connection.close()
        return id, resource

    VIEWER = {"name": "Anna", "created": 7, "all": False}
    SHARE = {"title": "k3v7q2ma", "viewers": ["09" * 16]}
    POSITIONS = {"positions": [{"title": "k3v7q2ma", "position": 5, "changed": 7}]}

    def test_viewers_shares_and_positions_are_read(self):
        self.add_viewers(self.VIEWER, self.SHARE, self.POSITIONS)
        code, printed = self.read()
        self.assertEqual((code, printed["damage"]), (0, []))
        self.assertEqual(printed["viewers"], [{"id": "09" * 16, "name": "Anna", "pin": False, "all": False}])
        self.assertEqual(printed["shares"], [self.SHARE])
        self.assertEqual(printed["positions"]["09" * 16][0]["position"], 5)

    def test_a_viewer_with_a_wrong_member_is_damage(self):
        self.add_viewers({**self.VIEWER, "all": 1}, self.SHARE, self.POSITIONS)
        self.assert_damage("viewer")

    def test_a_share_of_no_title_is_damage(self):
        self.add_viewers(self.VIEWER, {**self.SHARE, "title": "no id"}, self.POSITIONS)
        self.assert_damage("share")

    def test_an_entry_of_the_queue_in_another_row_is_damage(self):
        one, two = self.queue(self.RECORD, {**self.RECORD, "position": 4})
        self.sql("UPDATE download SET record = (SELECT record FROM download WHERE id = ?) WHERE id = ?", one, two)
        self.assert_damage(two.hex())

    def test_an_entry_of_the_queue_with_a_wrong_member_is_damage(self):
        self.queue({**self.RECORD, "state": "flying"})
        self.assert_damage("state")

    def test_the_catalog_and_the_files_restore_every_segment(self):
        keys = keyring.unlock_keys(keyring.read(golden.make_keyring()), golden.FIRST.key_file)
        contents = Contents(database.read_catalog(self.path("vault", "catalog.backup")), keys)
        self.assertEqual(contents.faults, [])
        owners = {version.id: resource for resource in contents.resources for version in resource.representations}
        count = 0
        for wanted in self.expected["resources"]:
            for version in wanted["representations"]:
                for row in version["segments"]:
                    with open(self.file_of(row), "rb") as file:
                        head = file.read(BLOCKS_AT)
                    segment = from_file(head, os.path.getsize(self.file_of(row)))
                    self.assertEqual((segment.id.hex(), segment.representation.hex(), segment.start, segment.length),
                                     (row["id"], version["id"], row["start"], row["length"]))
                    segment_key(owners[segment.representation].keys[row["keyNumber"]], segment, head)
                    count += 1
        self.assertEqual(count, 11)


@unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not installed: the search for plaintext needs it")
class Search(unittest.TestCase):
    def test_it_finds_what_is_planted_and_nothing_else(self):
        import search_plaintext
        with contextlib.redirect_stdout(io.StringIO()):
            search_plaintext.self_test()


if __name__ == "__main__":
    unittest.main()
