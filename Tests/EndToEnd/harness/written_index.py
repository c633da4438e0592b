"""Rows of a vault's index, written by the independent reader: very many titles without a fetch, and settings that the
command would refuse. No process has the vault open meanwhile."""

import base64
import contextlib
import os
import sqlite3
import sys
import time

from .case import ROOT

sys.path.insert(0, os.path.join(ROOT, "Tests", "IndependentReader"))

from vaultformat import cache_key, derivation, keyring, records, sealed, unlock  # noqa: E402

HOUR = 3600


def _keys(vault):
    """Returns the number of the current generation, and the keys."""
    with open(vault.keyring, "rb") as file, open(vault.key, "rb") as key:
        members = keyring.read(file.read())
        return members["current"], keyring.unlock_keys(members, unlock.key_file(key.read()))


@contextlib.contextmanager
def _index(vault):
    """Opens the index for one transaction."""
    with contextlib.closing(sqlite3.connect(os.path.join(vault.folder, "index.sqlite"))) as index, index:
        yield index


def add_titles(vault, count):
    """Adds `count` titles that hold nothing, each with a key under the current generation."""
    (current, keys), now = _keys(vault), int(time.time())
    with _index(vault) as index:
        (locator,), = index.execute("SELECT locator FROM vault").fetchall()
        for number in range(count):
            url = f"http://many.example/{number}"
            name, key = cache_key.of_url(url), os.urandom(32)
            resource = derivation.resource_id(keys.locators[locator], name)
            metadata = {"url": url, "cacheKey": base64.b64encode(name).decode("ascii"), "created": now}
            index.execute("INSERT INTO resource VALUES (?, 1, ?, 'download', ?)", (resource, sealed.seal_value(
                derivation.metadata_key(key), sealed.metadata_associated(resource), sealed.padded(metadata)),
                now - now % HOUR))
            index.execute("INSERT INTO resourceKey VALUES (?, 1, ?, ?)", (resource, current, sealed.seal_value(
                derivation.wrapping_key(keys.generations[current], resource),
                sealed.wrapped_associated(resource, 1, current), key)))


def set_network(vault, **members):
    """Replaces members of the vault's network settings, which must have been set before, whatever they are."""
    _, keys = _keys(vault)
    with _index(vault) as index:
        (identifier, number), = index.execute("SELECT id, locator FROM vault").fetchall()
        (before,), = index.execute("SELECT record FROM network").fetchall()
        (version,), = index.execute("PRAGMA user_version").fetchall()
        locator = keys.locators[number]
        network = records.open_record(keys, locator, "network", identifier, before) | members
        index.execute("UPDATE network SET record = ?", (
            records.seal_as_of(version, keys, locator, "network", identifier, network),))


def damage(vault, table, column):
    """Changes the last byte of a sealed value in one row of a table."""
    with _index(vault) as index:
        (identifier, value), = index.execute(f"SELECT id, {column} FROM {table} LIMIT 1").fetchall()
        index.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?",
                      (value[:-1] + bytes([value[-1] ^ 1]), identifier))
