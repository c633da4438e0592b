"""The records of a vault of version 6: read as its golden vault states, and refused where they must be."""

import contextlib
import filecmp
import io
import json
import os
import sqlite3
import tempfile
import unittest

import golden_records
import make_golden_vault as golden
import read_vault
from vaultformat import database, keyring, records, schema
from vaultformat.contents import Contents
from vaultformat.errors import FormerRecord, Unopenable, UnknownGeneration

COMMITTED = os.path.join(os.path.dirname(__file__), os.pardir, "MediaVaultTests", "GoldenVault6")
SECRETS = golden.SIXTH


class GoldenRecords(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.vault = folder.name, os.path.join(folder.name, "vault")
        golden.make(self.folder, schema.RECORD_VERSION)
        with open(self.path("expected.json"), encoding="ascii") as file:
            self.expected = json.load(file)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self):
        """Returns the exit code and the printed report."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = read_vault.main([self.vault, self.path("keyring.json"), "--key-file", self.path("key")])
        return code, json.loads(out.getvalue())

    def sql(self, statement, *values, file="index.sqlite"):
        connection = sqlite3.connect(self.path("vault", file))
        with connection:
            connection.execute(statement, values)
        connection.close()

    def replace(self, table, id, value):
        self.sql(f"UPDATE {table} SET {records.KINDS[table]} = ? WHERE id = ?", value, id)

    def planned(self, table, generation=None):
        resource = bytes.fromhex(self.expected["resources"][0]["id"])
        return next(record for record in golden_records.records(SECRETS, resource)
                    if record.table == table and generation in (None, record.generation))

    def write_keyring(self, **members):
        """Writes the keyring with other members; None removes one."""
        data = json.loads(golden.make_keyring(SECRETS, **{"records": "generations", **members}))
        with open(self.path("keyring.json"), "wb") as file:
            data = {name: value for name, value in data.items() if value is not None}
            file.write(keyring.finished(data, SECRETS.root))

    def retire(self, generation):
        """Writes the keyring without the key of a generation."""
        rows = json.loads(golden.make_keyring(SECRETS))["generations"]
        for row in rows:
            if row["number"] == generation:
                row["state"] = "retired"
                del row["key"]
        self.write_keyring(generations=rows)

    def assert_damage(self, *parts):
        """Checks that the index has one fault, with these parts; its catalog is as before."""
        code, printed = self.read()
        self.assertEqual(code, 4)
        damage = [sentence for sentence in printed["damage"] if not sentence.startswith("catalog.backup")]
        self.assertEqual(len(damage), 1, printed["damage"])
        for part in parts:
            self.assertIn(part, damage[0])

    def test_every_record_is_read(self):
        code, printed = self.read()
        self.assertEqual((code, printed["damage"]), (0, []))
        found = {(item["table"], item["id"]): item["generation"] for item in printed["records"]}
        self.assertEqual(found, {(item["table"], item["id"]): item["generation"] for item in self.expected["records"]})
        self.assertEqual({table for table, _ in found}, set(records.KINDS))
        self.assertEqual(set(found.values()), {1, 2})
        members = {(item["table"], item["id"]): item["members"] for item in self.expected["records"]}
        self.assertEqual(printed["vault"]["settings"], members["vault", self.expected["vaultID"]])
        for name, table in (("grants", "accessGrant"), ("shares", "share"), ("viewers", "viewer")):
            self.assertEqual(len(printed[name]), sum(kind == table for kind, _ in members))
        self.assertEqual({item["kind"] for item in printed["grants"]}, {"token", "links", "session"})
        for item in printed["grants"]:
            self.assertEqual({name: value for name, value in item.items() if name != "id"},
                             members["accessGrant", item["id"]])

    def test_the_committed_vault_is_what_is_made_now(self):
        segment = self.expected["resources"][0]["representations"][0]["segments"][0]["id"]
        for name in ("keyring.json", "key", "passphrase", "expected.json",
                     os.path.join("vault", "segments", segment[:2], segment)):
            self.assertTrue(filecmp.cmp(self.path(name), os.path.join(COMMITTED, name), shallow=False), name)
        for read, name in ((database.read_index, "index.sqlite"), (database.read_catalog, "catalog.backup")):
            self.assertEqual(read(self.path("vault", name)), read(os.path.join(COMMITTED, "vault", name)))

    def test_the_catalog_has_the_records_and_not_what_was_erased(self):
        self.sql("INSERT INTO erased VALUES ('viewer', ?)", bytes(16))
        self.assertEqual(self.read()[0], 0)
        self.sql(schema.ERASED, file="catalog.backup")
        code, printed = self.read()
        self.assertEqual(code, 4)
        self.assertIn("erased", printed["damage"][0])

    def test_a_vault_of_version_6_has_the_table_of_what_was_erased(self):
        self.sql("DROP TABLE erased")
        self.assert_damage("erased")

    def test_a_keyring_without_the_generation_opens_none_of_its_records(self):
        self.retire(1)
        self.sql("DELETE FROM generation WHERE number = 1")
        code, printed = self.read()
        self.assertEqual(code, 4)
        damage = [sentence for sentence in printed["damage"] if not sentence.startswith("catalog.backup")]
        under = [item for item in self.expected["records"] if item["generation"] == 1]
        self.assertEqual(len(damage), len(under), damage)
        for sentence in damage:
            self.assertIn("sealed under generation 1, which is destroyed.", sentence)
        self.assertEqual({item["generation"] for item in printed["records"]}, {2})

    def test_a_generation_that_never_existed_is_unknown(self):
        record = self.planned("viewer")
        self.replace("viewer", record.id, records.seal_under(bytes(32), 9, "viewer", record.id, record.members))
        self.assert_damage(record.id.hex(), "sealed under generation 9, which is unknown.")

    def test_a_folded_generation_is_destroyed(self):
        self.write_keyring(retired=[{"first": 7, "last": 9, "backups": 0}])
        record = self.planned("share")
        self.replace("share", record.id, records.seal_under(bytes(32), 8, "share", record.id, record.members))
        self.assert_damage("sealed under generation 8, which is destroyed.")

    def test_a_record_names_a_generation_that_the_index_has(self):
        self.sql("DELETE FROM generation WHERE number = 1")
        code, printed = self.read()
        self.assertEqual(code, 4)
        self.assertTrue(all("names generation 1, which the index does not have" in sentence
                            for sentence in printed["damage"]), printed["damage"])

    def test_the_number_of_a_record_is_bound_to_it(self):
        record = self.planned("position", 2)
        value = records.seal_under(SECRETS.generations[2], 2, "position", record.id, record.members)
        self.replace("position", record.id, b"\x01" + value[1:])
        self.assert_damage("does not open")
        # Not even if the key is that of the generation which the number names afterwards.
        value = records.seal_under(SECRETS.generations[1], 2, "position", record.id, record.members)
        self.replace("position", record.id, b"\x01" + value[1:])
        self.assert_damage("does not open")

    def test_a_record_does_not_move_to_another_row_or_table(self):
        one, other = self.planned("position", 1), self.planned("position", 2)
        self.sql("UPDATE position SET record = (SELECT record FROM position WHERE id = ?) WHERE id = ?",
                 one.id, other.id)
        self.assert_damage(other.id.hex(), "does not open")

    def test_a_former_record_is_read_until_the_keyring_says_otherwise(self):
        for value, is_read in ((None, True), ("locators", True), (["generations"], True), ("generations", False)):
            for table in records.KINDS:
                golden.make(self.folder, schema.RECORD_VERSION)
                self.write_keyring(records=value)
                record = self.planned(table)
                former = records.seal_former(SECRETS.locator, table, record.id, record.members)
                self.replace(table, record.id, former)
                code, printed = self.read()
                with self.subTest(table=table, value=value):
                    if is_read:
                        self.assertEqual((code, printed["damage"]), (0, []))
                        self.assertIn({"table": table, "id": record.id.hex(), "generation": None}, printed["records"])
                    else:
                        self.assertEqual(code, 4)
                        self.assertEqual(len(printed["damage"]), 1, printed["damage"])
                        self.assertIn("form of versions up to 5", printed["damage"][0])

    def test_the_length_tells_the_forms_apart(self):
        for text in (0, 249, 600):
            members, id = {"a": "x" * text}, bytes(16)
            new = records.seal_under(SECRETS.generations[2], 2, "viewer", id, members)
            former = records.seal_former(SECRETS.locator, "viewer", id, members)
            self.assertEqual((len(new) % 256, len(former) % 256, len(new) - len(former)), (32, 28, 4))
            self.assertEqual((records.generation(new), records.generation(former)), (2, None))
        for length in (0, 4, 28, 32, 256, 287, 289, 283, 285):
            with self.assertRaises(Unopenable, msg=length):
                records.generation(bytes(length))

    def test_each_refusal_has_its_class(self):
        keys = keyring.unlock_keys(
            keyring.read(golden.make_keyring(SECRETS, records="generations")), SECRETS.key_file)
        id = bytes(16)
        for value, refusal in ((records.seal_under(bytes(32), 3, "viewer", id, {}), UnknownGeneration),
                               (records.seal_former(SECRETS.locator, "viewer", id, {}), FormerRecord)):
            with self.assertRaises(refusal):
                records.open_record(keys, SECRETS.locator, "viewer", id, value)

    def test_a_record_is_sealed_as_an_owner_of_the_index_does(self):
        keys = keyring.unlock_keys(keyring.read(golden.make_keyring(SECRETS)), SECRETS.key_file)
        for version, number in ((schema.COVER_VERSION, None), (schema.RECORD_VERSION, 2)):
            value = records.seal_as_of(version, keys, SECRETS.locator, "viewer", bytes(16), {"name": "Anna"})
            self.assertEqual(records.generation(value), number)
            self.assertEqual(records.open_record(keys, SECRETS.locator, "viewer", bytes(16), value), {"name": "Anna"})

    def grant(self, **members):
        record = next(item for item in golden_records.records(SECRETS, bytes(32))
                      if item.members.get("kind") == "session")
        changed = {name: value for name, value in {**record.members, **members}.items() if value is not None}
        self.replace("accessGrant", record.id,
                     records.seal_under(SECRETS.generations[2], 2, "accessGrant", record.id, changed))

    def test_a_session_is_the_owners_or_a_viewers_and_may_have_a_token(self):
        for members in ({"viewer": None}, {"viewer": None, "token": "11" * 16}, {"name": None}, {"used": None}):
            self.grant(**members)
            code, printed = self.read()
            self.assertEqual((code, printed["damage"]), (0, []), members)

    def test_a_session_with_a_wrong_member_is_damage(self):
        for members, part in (({"viewer": "Anna"}, "viewer"), ({"token": "11"}, "token"),
                              ({"expires": None}, "expires"), ({"kind": "visit"}, "unknown")):
            golden.make(self.folder, schema.RECORD_VERSION)
            self.grant(**members)
            self.assert_damage(part)

    def test_the_catalog_alone_opens_every_record(self):
        keys = keyring.unlock_keys(keyring.read(golden.make_keyring(SECRETS)), SECRETS.key_file)
        contents = Contents(database.read_catalog(self.path("vault", "catalog.backup")), keys)
        self.assertEqual(contents.faults, [])
        self.assertEqual(len(contents.record_generations), len(self.expected["records"]))


if __name__ == "__main__":
    unittest.main()
