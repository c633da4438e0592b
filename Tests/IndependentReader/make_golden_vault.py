#!/usr/bin/env python3
"""Creates a complete small vault, keyring, key file and a description of their contents.

    make_golden_vault.py [--version 1|6] OUTDIR

A vault of version 1 has resources of every kind; one of version 6 has records of every kind, under two generations, and
one small resource. Without the option it is version 1. Every key, id and nonce comes from a fixed seed, so each run
writes the same keyring, segment files and rows; a real vault draws them at random. It writes OUTDIR/vault, keyring.json,
key (slot 1), passphrase (slot 2) and expected.json. Git keeps neither empty folders nor modes: users of a checkout must create the missing segment folders and set 0700 and
0600.
"""

import argparse
import base64
import hashlib
import json
import os
import shutil
import sqlite3
import struct
import unicodedata

import golden_plan as plan
import golden_records
from vaultformat import cache_key, derivation, keyring, records, schema, sealed, sodium
from vaultformat.segment import Segment, make_file
from vaultformat.unlock import Passphrase

PLAINTEXT_FORMULA = ("byte o of NAME = byte (o mod 64) of the 64-byte unkeyed BLAKE2b of "
                     "NAME in ASCII, one zero byte, and o div 64 as unsigned 64-bit little-endian")


class Secrets:
    """Replaces randomness: the keys and ids of one golden vault, always the same."""

    def __init__(self, vault):
        self._seed = vault + b"\0"
        self.vault_id = self.fixed("vault id", 16)
        self.root, self.locator, self.token, self.receipt = (
            self.fixed(label, 32) for label in ("root", "locator", "token", "receipt"))
        self.generations = {number: self.fixed(f"generation {number}", 32) for number in (1, 2)}
        self.key_file = self.fixed("key file", 32)

    def fixed(self, label, size):
        return hashlib.blake2b(self._seed + label.encode("utf-8"), digest_size=size).digest()

    def nonce(self, label):
        return self.fixed("nonce " + label, sodium.NONCE_BYTES)


def plaintext(name, start, length):
    first, last = start // 64, (start + length + 63) // 64
    stream = b"".join(hashlib.blake2b(name.encode("ascii") + b"\0" + struct.pack("<Q", block)).digest()
                      for block in range(first, last))
    return stream[start - first * 64:][:length]


FIRST, SIXTH = Secrets(b"MediaVault golden vault"), Secrets(b"MediaVault golden vault 6")


def make_keyring(secrets=FIRST, **members):
    """Returns a keyring with slots 1 (key file) and 2 (passphrase); generations 1 and 2 active, 3 retired unused,
    current 2; and more members."""
    root = secrets.root

    def sealed_key(key, role, number, secret):
        return keyring.seal_key(key, role, secrets.vault_id, number, secret, secrets.nonce(f"{role} {number}"))

    passphrase_slot = {"number": 2, "label": "passphrase", "method": "passphrase", "opsLimit": 1, "memLimit": 8388608,
                       "salt": base64.b64encode(secrets.fixed("salt", 16)).decode("ascii")}
    passphrase = Passphrase.from_file(plan.PASSPHRASE_AS_TYPED.encode("utf-8"))
    passphrase_slot["rootKey"] = sealed_key(passphrase.key(passphrase_slot), "slot", 2, root)
    generations = [{"number": number, "created": plan.CREATED + number, "state": "active", "backups": 0,
                    "key": sealed_key(root, "generation", number, key)}
                   for number, key in secrets.generations.items()]
    generations.append({"number": 3, "created": plan.CREATED + 3, "state": "retired", "backups": 0})
    return keyring.finished({
        "vaultID": secrets.vault_id.hex(), "revision": 4, "current": 2, "tokenEpoch": 1, "receiptSequence": 0,
        "slots": [{"number": 1, "label": "key file", "method": "key-file",
                   "rootKey": sealed_key(secrets.key_file, "slot", 1, root)}, passphrase_slot],
        "locators": [{"number": 1, "key": sealed_key(root, "locator", 1, secrets.locator)}],
        "tokenKey": sealed_key(root, "token", 0, secrets.token),
        "receiptKey": sealed_key(root, "receipt", 0, secrets.receipt),
        "generations": generations, **members}, root)


def name_of(title, locator):
    key = cache_key.of_content_id(title.content_id) if title.content_id else cache_key.of_url(title.url)
    return cache_key.for_principal(key, locator, title.identity.encode("ascii")) if title.identity else key


class VaultMaker:
    """Writes segment files and collects rows and expectations, title by title."""

    def __init__(self, folder, secrets, version):
        self.folder, self.secrets, self.version = folder, secrets, version
        self.rows = {name: [] for name in ("vault", "generation", "resource", "resourceKey", "representation",
                                           "segment", "badBlock")}
        self.rows["generation"] += [(number, "active") for number in secrets.generations]

    def add_settings_as_before(self):
        """Adds the row of a vault whose settings are empty and have the form of versions up to 5."""
        settings = records.seal_former(
            self.secrets.locator, "vault", self.secrets.vault_id, {}, self.secrets.nonce("settings"))
        self.rows["vault"].append((self.secrets.vault_id, 4, 1, settings))

    def add_record(self, record):
        """Adds a record under a generation; returns what a reader must find."""
        label = f"{record.table} {record.id.hex()}"
        value = records.seal_under(self.secrets.generations[record.generation], record.generation, record.table,
                                   record.id, record.members, self.secrets.nonce(label))
        row = (record.id, 4, 1, value) if record.table == "vault" else (record.id, value)
        self.rows.setdefault(record.table, []).append(row)
        return {"table": record.table, "id": record.id.hex(), "generation": record.generation,
                "members": record.members}

    def add(self, title):
        """Adds one resource; returns what a reader must find."""
        fixed, nonce = self.secrets.fixed, self.secrets.nonce
        key_bytes = name_of(title, self.secrets.locator)
        resource = derivation.resource_id(self.secrets.locator, key_bytes)
        keys = {number: fixed(f"{title.name} key {number}", 32) for number in range(1, len(title.generations) + 1)}
        for number, generation in enumerate(title.generations, 1):
            wrapped = sealed.seal_value(
                derivation.wrapping_key(self.secrets.generations[generation], resource),
                sealed.wrapped_associated(resource, number, generation), keys[number],
                nonce(f"{title.name} wrapped {number}"))
            self.rows["resourceKey"].append((resource, number, generation, wrapped))
        ids = {version.sequence: fixed(f"{title.name} representation {version.sequence}", 16)
               for version in title.versions}
        serving, = (ids[version.sequence] for version in title.versions if version.state == "serving")
        metadata = {"url": title.url, "cacheKey": base64.b64encode(key_bytes).decode("ascii"),
                    "serving": serving.hex(), "created": plan.CREATED}
        if title.title:
            metadata["title"] = title.title
        current = len(title.generations)
        metadata_key = derivation.metadata_key(keys[current])
        self.rows["resource"].append((resource, current, sealed.seal_value(
            metadata_key, sealed.metadata_associated(resource), sealed.padded(metadata),
            nonce(f"{title.name} metadata")), title.category, title.accessed))
        versions = [self._add_version(title, version, ids[version.sequence], resource, keys, metadata_key)
                    for version in title.versions]
        return {"name": title.name, "id": resource.hex(), "url": title.url, "contentID": title.content_id,
                "identity": title.identity, "cacheKey": metadata["cacheKey"], "title": title.title,
                "created": plan.CREATED, "class": title.category, "accessed": title.accessed, "keyNumber": current,
                "generations": list(title.generations), "generation": title.generations[-1],
                "serving": serving.hex(), "representations": versions}

    def _add_version(self, title, version, id, resource, keys, metadata_key):
        info = {"sequence": version.sequence, "length": version.length, "type": version.type, "etag": version.etag,
                "lastModified": version.last_modified, "ranges": version.ranges, "retrieved": plan.CREATED + 60}
        self.rows["representation"].append((id, resource, version.state, sealed.seal_value(
            metadata_key, sealed.info_associated(resource, id), sealed.padded(info),
            self.secrets.nonce(f"{title.name} info {version.sequence}"))))
        name = f"{title.name}/{version.sequence}"
        segments = [self._add_segment(title, name, place, piece, id, keys)
                    for place, piece in enumerate(version.pieces)]
        held = []
        for first, end in held_ranges(version.pieces):
            digest = hashlib.sha256(plaintext(name, first, end - first)).hexdigest()
            held.append({"first": first, "end": end, "sha256": digest})
        return {"id": id.hex(), "state": version.state, **info, "plaintextName": name, "held": held,
                "complete": version.length is not None and
                [(item["first"], item["end"]) for item in held] == ([(0, version.length)] if version.length else []),
                "segments": segments}

    def _add_segment(self, title, name, place, piece, representation, keys):
        id = self.secrets.fixed(f"{name} segment {place}", 16)
        segment = Segment(id, representation, piece.block_size, piece.start, piece.length)
        data = bytearray(make_file(keys[piece.key], segment, plaintext(name, piece.start, piece.length)))
        for block in piece.bad_blocks:
            data[segment.file_range(block)[0] + 5] ^= 0x10
            self.rows["badBlock"].append((segment.id, block))
        folder = os.path.join(self.folder, "segments", segment.folder)
        os.makedirs(folder, 0o700, exist_ok=True)
        write_file(os.path.join(folder, segment.id.hex()), bytes(data))
        self.rows["segment"].append((segment.id, representation, piece.key, piece.block_size, piece.start,
                                     piece.length, "closed", title.accessed))
        return {"id": segment.id.hex(), "start": piece.start, "length": piece.length, "blockSize": piece.block_size,
                "keyNumber": piece.key, "badBlocks": list(piece.bad_blocks)}

    def write_database(self, name, base, journal):
        statements = schema.complete(base, self.version)
        path = os.path.join(self.folder, name)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {self.version}")
        connection.execute("BEGIN")
        for statement in statements:
            connection.execute(statement if self.version == schema.USER_VERSION else " ".join(statement.split()))
        tables = [statement.split()[2] for statement in statements if statement.startswith("CREATE TABLE")]
        for table in tables:
            for row in self.rows.get(table, ()):
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        os.chmod(path, 0o600)


def held_ranges(pieces):
    """Returns the ranges that `pieces` hold, without bad blocks and with neighbours joined."""
    held = []
    for piece in pieces:
        for offset in range(0, piece.length, piece.block_size):
            if offset // piece.block_size in piece.bad_blocks:
                continue
            first, end = piece.start + offset, piece.start + min(piece.length, offset + piece.block_size)
            if held and held[-1][1] == first:
                held[-1][1] = end
            else:
                held.append([first, end])
    return held


def write_file(path, data):
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o600)


def make(outdir, version=schema.USER_VERSION):
    has_records = version >= schema.RECORD_VERSION
    secrets = SIXTH if has_records else FIRST
    vault = os.path.join(outdir, "vault")
    shutil.rmtree(vault, ignore_errors=True)
    os.makedirs(os.path.join(vault, "segments"), 0o700)
    os.chmod(vault, 0o700)
    maker = VaultMaker(vault, secrets, version)
    resources = [maker.add(title) for title in (golden_records.TITLES if has_records else plan.TITLES)]
    if has_records:
        planned = golden_records.records(secrets, bytes.fromhex(resources[0]["id"]))
        more = {"records": [maker.add_record(record) for record in planned]}
    else:
        maker.add_settings_as_before()
        more = {}
    maker.write_database("index.sqlite", schema.INDEX, "WAL")
    maker.write_database("catalog.backup", schema.CATALOG, "DELETE")
    write_file(os.path.join(vault, "lock"), b"")
    write_file(os.path.join(outdir, "keyring.json"),
               make_keyring(secrets, **({"records": keyring.RECORDS} if has_records else {})))
    write_file(os.path.join(outdir, "key"), secrets.key_file)
    write_file(os.path.join(outdir, "passphrase"),
               unicodedata.normalize("NFD", plan.PASSPHRASE_AS_TYPED).encode("utf-8") + b"\n")
    name = resources[0]["representations"][-1]["plaintextName"]
    expected = {
        "madeBy": "Tests/IndependentReader/make_golden_vault.py", "vaultID": secrets.vault_id.hex(),
        "keyring": {"revision": 4, "current": 2, "active": [1, 2], "retired": [3], "locator": 1, "tokenEpoch": 1,
                    "receiptSequence": 0},
        "keys": {"root": secrets.root.hex(), "locator": secrets.locator.hex(), "token": secrets.token.hex(),
                 "receipt": secrets.receipt.hex(),
                 "generations": {str(number): key.hex() for number, key in secrets.generations.items()},
                 "unlockOfSlot1": secrets.key_file.hex()},
        "passphrase": {form.lower(): unicodedata.normalize(form, plan.PASSPHRASE_AS_TYPED) for form in ("NFC", "NFD")},
        "plaintext": {"formula": PLAINTEXT_FORMULA,
                      f"first32Of{name.title().replace('/', '')}": plaintext(name, 0, 32).hex()},
        "resources": resources, **more}
    write_file(os.path.join(outdir, "expected.json"), json.dumps(expected, indent=1).encode("ascii") + b"\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Makes a golden vault.")
    parser.add_argument("--version", type=int, choices=(schema.USER_VERSION, schema.RECORD_VERSION),
                        default=schema.USER_VERSION)
    parser.add_argument("outdir")
    options = parser.parse_args()
    make(options.outdir, options.version)
