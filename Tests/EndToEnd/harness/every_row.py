"""A vault with a row of every kind, and what a keyring opens of its rows: by the independent reader, and by its own list
of tables."""

import base64
import contextlib
import os
import shutil
import sqlite3
import sys

from . import stored_records, written_index
from .case import ROOT, Settings
from .vault import Vault

sys.path.insert(0, os.path.join(ROOT, "Tests", "IndependentReader"))

import make_golden_vault as golden  # noqa: E402
from vaultformat import database, derivation, errors, records, schema, sealed  # noqa: E402

# Every table of the backup whose rows are sealed: all but that of the generations, which has no secret.
TABLES = tuple(statement.split()[2] for statement in schema.complete(schema.CATALOG, schema.RECORD_VERSION)
               if statement.startswith("CREATE TABLE") and "BLOB NOT NULL" in statement)
FILES = ("index.sqlite", "index.sqlite-wal", "catalog.backup", "catalog.backup.1")
OTHER = "http://many.example/0"  # a title that holds nothing


def make(folder):
    """Makes the golden vault of all kinds of records, and gives it a cover, a pack with a part, and another title."""
    vault = Vault(Settings.binary, folder)
    golden.make(folder, schema.RECORD_VERSION)
    for byte in range(256):
        os.makedirs(os.path.join(vault.folder, "segments", f"{byte:02x}"), 0o700, exist_ok=True)
    os.makedirs(os.path.dirname(vault.keyring), 0o700)
    for name, place in (("keyring.json", vault.keyring), ("key", vault.key)):
        os.rename(os.path.join(folder, name), place)
    written_index.add_titles(vault, 1)
    keys = stored_records.keys_of(vault.keyring, vault.key)
    path = os.path.join(vault.folder, "index.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as index, index:
        _add_cover(index, keys)
        _add_pack(index, keys)
    # The first change of an owner writes the backup, too.
    vault.result("config", "set", "mode", "offline")
    return vault


def _title(index, keys):
    """Returns id, metadata key and metadata of the title that holds something."""
    number, id, metadata = index.execute(
        "SELECT key, id, metadata FROM resource WHERE id IN (SELECT resource FROM representation)").fetchone()
    generation, wrapped = index.execute(
        "SELECT generation, wrapped FROM resourceKey WHERE resource = ? AND number = ?", (id, number)).fetchone()
    key = derivation.metadata_key(_unwrapped(keys, {"resource": id, "number": number, "generation": generation,
                                                    "wrapped": wrapped}))
    return id, key, sealed.unpadded(sealed.open_value(key, sealed.metadata_associated(id), metadata))


def _add_cover(index, keys):
    (id, key, metadata), tag = _title(index, keys), os.urandom(8)
    content = (100).to_bytes(4, "big") + bytes(range(100))
    content += bytes(-len(content) % sealed.PICTURE_PADDING)
    index.execute("INSERT INTO cover VALUES (?, ?)", (id, sealed.seal_value(
        key, sealed.picture_associated(id, tag), content)))
    index.execute("UPDATE resource SET metadata = ? WHERE id = ?", (sealed.seal_value(
        key, sealed.metadata_associated(id), sealed.padded({**metadata, "cover": tag.hex()})), id))


def _add_pack(index, keys):
    """Adds a pack of the title, under the older generation, with one part of which nothing is held."""
    title, _, of_title = _title(index, keys)
    (locator,), = index.execute("SELECT locator FROM vault").fetchall()
    (accessed,), = index.execute("SELECT accessed FROM resource WHERE id = ?", (title,)).fetchall()
    name, key, version = b"pack:" + os.urandom(16).hex().encode("ascii"), os.urandom(32), os.urandom(16)
    pack, oldest = derivation.resource_id(keys.locators[locator], name), min(keys.generations)
    metadata_key = derivation.metadata_key(key)
    common = {"url": of_title["url"], "created": of_title["created"]}
    index.execute("INSERT INTO resource VALUES (?, 1, ?, 'download', ?)", (pack, sealed.seal_value(
        metadata_key, sealed.metadata_associated(pack), sealed.padded({
            **common, "cacheKey": _text(name), "serving": version.hex(), "partOf": [of_title["cacheKey"]]})), accessed))
    index.execute("INSERT INTO resourceKey VALUES (?, 1, ?, ?)", (pack, oldest, sealed.seal_value(
        derivation.wrapping_key(keys.generations[oldest], pack), sealed.wrapped_associated(pack, 1, oldest), key)))
    index.execute("INSERT INTO representation VALUES (?, ?, 'serving', ?)", (version, pack, sealed.seal_value(
        metadata_key, sealed.info_associated(pack, version), sealed.padded(_info(None)))))
    index.execute("INSERT INTO part VALUES (?, ?)", (title, pack))
    url = b"http://media.example/part.ts"
    part = derivation.resource_id(keys.locators[locator], url)
    entry = {"metadata": {**common, "url": url.decode("ascii"), "cacheKey": _text(url), "serving": os.urandom(16).hex()},
             "info": _info(10), "offset": 0}
    index.execute("INSERT INTO packedPart VALUES (?, ?, ?)", (part, pack, sealed.seal_value(
        metadata_key, sealed.entry_associated(pack, part), sealed.padded(entry))))


def _text(data):
    return base64.b64encode(data).decode("ascii")


def _info(length):
    return {"sequence": 1, "length": length, "type": None, "etag": '"v"', "lastModified": None, "ranges": True,
            "retrieved": 1_700_000_000}


def copied(vault, folder):
    """Returns a copy of a vault with its keys."""
    copy = Vault(Settings.binary, folder)
    for name in ("vault", "keys"):
        shutil.copytree(os.path.join(vault.base, name), os.path.join(folder, name))
    return copy


def of_vault(folder):
    """Returns the rows of the index and of its backup."""
    return (database.read_index(os.path.join(folder, "index.sqlite")),
            database.read_catalog(os.path.join(folder, "catalog.backup")))


def values(rows):
    """Returns the sealed values of each table."""
    return {table: {value for row in getattr(rows, table) for name, value in row.items()
                    if isinstance(value, bytes) and len(value) > 32} for table in TABLES}


def _unwrapped(keys, row):
    return sealed.open_value(derivation.wrapping_key(keys.generations[row["generation"]], row["resource"]),
                             sealed.wrapped_associated(row["resource"], row["number"], row["generation"]), row["wrapped"])


def _opened(body, *arguments):
    with contextlib.suppress(errors.FormatError, KeyError):
        return body(*arguments)
    return None


def opened(rows, keys):
    """Returns the sealed values that these keys open, of each table. A table that this does not know is an error."""
    found = {table: set() for table in TABLES}
    locator = keys.locators.get(rows.vault[0]["locator"], bytes(32))
    for table, column in records.KINDS.items():
        found[table] |= {row[column] for row in getattr(rows, table)
                         if _opened(records.open_record, keys, locator, table, row["id"], row[column])}
    of_resources = {}
    for row in rows.resourceKey:
        if key := _opened(_unwrapped, keys, row):
            found["resourceKey"].add(row["wrapped"])
            of_resources[row["resource"], row["number"]] = key
    metadata, metadata_keys = {}, {}
    for row in rows.resource:
        if key := of_resources.get((row["id"], row["key"])):
            metadata_keys[row["id"]] = derivation.metadata_key(key)

    def note(table, value, owner, associated):
        plaintext = owner in metadata_keys and _opened(sealed.open_value, metadata_keys[owner], associated, value)
        if plaintext:
            found[table].add(value)
        return plaintext

    for row in rows.resource:
        if plaintext := note("resource", row["metadata"], row["id"], sealed.metadata_associated(row["id"])):
            metadata[row["id"]] = sealed.unpadded(plaintext)
    for row in rows.representation:
        note("representation", row["info"], row["resource"], sealed.info_associated(row["resource"], row["id"]))
    for row in rows.packedPart:
        note("packedPart", row["entry"], row["pack"], sealed.entry_associated(row["pack"], row["id"]))
    for row in rows.cover:
        tag = bytes.fromhex(metadata.get(row["resource"], {}).get("cover", ""))
        note("cover", row["picture"], row["resource"], sealed.picture_associated(row["resource"], tag))
    return found
