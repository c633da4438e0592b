"""The records of a vault's index and of its backups, and which of them a keyring opens."""

import contextlib
import os
import sys

from .case import ROOT

sys.path.insert(0, os.path.join(ROOT, "Tests", "IndependentReader"))

from vaultformat import database, errors, keyring, records, unlock  # noqa: E402


def keys_of(path, key):
    """Returns the keys of a keyring that a key file opens."""
    with open(path, "rb") as file, open(key, "rb") as secret:
        return keyring.unlock_keys(keyring.read(file.read()), unlock.key_file(secret.read()))


def of_vault(vault):
    """Returns table, id and sealed value of each record of the index and of its backups."""
    stored = []
    catalogs = [os.path.join(vault.folder, name) for name in ("catalog.backup", "catalog.backup.1")]
    for rows in (database.read_index(os.path.join(vault.folder, "index.sqlite")),
                 *(database.read_catalog(path) for path in catalogs if os.path.exists(path))):
        stored += [(table, row["id"], row[column]) for table, column in records.KINDS.items()
                   for row in getattr(rows, table)]
    return stored


def opened(stored, keys):
    """Returns how many of the records open with these keys, whatever form they have."""
    count = 0
    for (table, row, value), locator in ((record, key) for record in stored for key in keys.locators.values()):
        with contextlib.suppress(errors.Unopenable):
            records.open_record(keys, locator, table, row, value)
            count += 1
    return count
