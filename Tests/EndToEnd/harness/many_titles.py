"""Very many titles without any held bytes, written into a vault's index by the independent reader without a fetch."""

import base64
import os
import sqlite3
import sys
import time

from .case import ROOT

sys.path.insert(0, os.path.join(ROOT, "Tests", "IndependentReader"))

from vaultformat import cache_key, derivation, keyring, sealed, unlock  # noqa: E402

HOUR = 3600


def add(vault, count):
    """Adds `count` titles to a vault that no process has open, each with a key under the current generation."""
    with open(vault.keyring, "rb") as file, open(vault.key, "rb") as key:
        members = keyring.read(file.read())
        keys = keyring.unlock_keys(members, unlock.key_file(key.read()))
    current, now = members["current"], int(time.time())
    index = sqlite3.connect(os.path.join(vault.folder, "index.sqlite"))
    (locator,), = index.execute("SELECT locator FROM vault").fetchall()
    with index:
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
    index.close()
