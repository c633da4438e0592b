"""Every key of a vault, to be searched for; the independent reader derives them from keyring, key file and index."""

import base64
import os
import sys

from .case import ROOT

sys.path.insert(0, os.path.join(ROOT, "Tests", "IndependentReader"))

from vaultformat import database, derivation, keyring, sealed, unlock as unlocking  # noqa: E402
from vaultformat.contents import Contents  # noqa: E402


def _file(path):
    with open(path, "rb") as file:
        return file.read()


def of_keyring(vault):
    """Returns the keys that an open vault always has in use, by name, and the key of the key file, which it needs only
    once."""
    members, unlock = keyring.read(_file(vault.keyring)), _file(vault.key)
    keys = keyring.unlock_keys(members, unlock)
    slot = members["slots"][0]
    root = sealed.open_value(
        unlock, sealed.keyring_associated("slot", keys.vault, slot["number"]), base64.b64decode(slot["rootKey"]))
    in_use = {"root key": root, "token key": keys.token, "receipt seed": keys.receipt}
    in_use |= {f"locator key {number}": key for number, key in keys.locators.items()}
    in_use |= {f"generation key {number}": key for number, key in keys.generations.items()}
    return in_use, {"key of the key file": unlock}


def of_passphrase(vault, text):
    """Returns a passphrase of 32 bytes or more, and the unlock keys that the keyring's slots derive from it."""
    slots = [slot for slot in keyring.read(_file(vault.keyring))["slots"] if slot.get("salt")]
    made = {f"unlock key of slot {slot['number']}": unlocking.Passphrase(text).key(slot) for slot in slots}
    return {"passphrase": text[:32], **made}


def of_resources(vault):
    """Returns the keys of all resources: those that a reader uses, and those that are derived only for a moment."""
    keys = keyring.unlock_keys(keyring.read(_file(vault.keyring)), _file(vault.key))
    contents = Contents(database.read_index(os.path.join(vault.folder, "index.sqlite")), keys)
    # Records are sealed under the record key of a generation; up to version 5, under the index key.
    used, derived = {}, {"index key": derivation.index_key(contents.locator)}
    derived |= {f"record key {number}": derivation.record_key(key) for number, key in keys.generations.items()}
    for resource in contents.resources:
        url = resource.metadata["url"].rpartition("/")[2]
        for number, key in resource.keys.items():
            used[f"resource key {number} of {url}"] = key
            derived[f"metadata key {number} of {url}"] = derivation.metadata_key(key)
        for number, generation in keys.generations.items():
            derived[f"wrapping key {number} of {url}"] = derivation.wrapping_key(generation, resource.id)
        for representation in resource.representations:
            for stored in representation.segments:
                used[f"segment key at {stored.segment.start} of {url}"] = derivation.segment_key(
                    stored.resource_key, stored.segment.header)
    return used, derived
