"""The keyring file: reads it in the order of the document, unlocks it, and creates one."""

import base64
import binascii
from dataclasses import dataclass

from . import canonical_json, derivation, sealed
from .errors import (DamagedKeyring, FormatError, NotAKeyring, OlderKeyring, OtherVaultsKeyring, TamperedKeyring,
                     Unopenable, WrongKey)
from .unlock import Passphrase

FORMAT = "mediavault-keyring/1"
METHODS = ("key-file", "command", "credential", "passphrase")
LEAST_MEMORY, MOST_MEMORY = 8 << 20, 4 << 30
MOST_OPERATIONS = 64
MOST_WORK = 64 << 30
MOST_BYTES = 4 << 20
SEALED_KEY_BYTES = 60
# The value of the member `records`, if every record is sealed under a generation. Any other counts as absent.
RECORDS = "generations"


@dataclass(frozen=True)
class Keys:
    """The contents of an unlocked keyring: its keys, by number if they have one."""

    vault: bytes
    revision: int
    current: int
    locators: dict
    generations: dict
    token: bytes
    receipt: bytes
    # The ranges of the generations that were retired, each as its first and its last number.
    retired: tuple
    # Whether a record that has the form of versions up to 5 is opened.
    takes_former_records: bool

    def was_retired(self, generation):
        return any(first <= generation <= last for first, last in self.retired)


def _without(members, *names):
    return {name: value for name, value in members.items() if name not in names}


def checksum(members):
    return derivation.keyring_sum(canonical_json.encode(_without(members, "checksum", "authenticator"))).hex()


def authenticator(members, root):
    message = canonical_json.encode(_without(members, "authenticator"))
    return base64.b64encode(derivation.keyring_authenticator(root, message)).decode("ascii")


def _require(condition, what):
    if not condition:
        raise DamagedKeyring(f"The keyring is damaged: {what}.")


def _bytes(value, size, what):
    try:
        data = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        data = b""
    _require(len(data) == size and base64.b64encode(data).decode("ascii") == value,
             f"{what} is not base64 of {size} bytes")
    return data


def _integer(value, what, least=0, most=canonical_json.GREATEST_INTEGER):
    _require(type(value) is int and least <= value <= most, f"{what} is not an integer from {least} to {most}")


def _numbered(members, name):
    rows = members.get(name)
    _require(isinstance(rows, list) and all(isinstance(row, dict) for row in rows), f"{name} is not a list of objects")
    for row in rows:
        _integer(row.get("number"), f"a number in {name}", 1, 2**32 - 1)
    _require(len({row["number"] for row in rows}) == len(rows), f"a number in {name} stands twice")
    return rows


def _check_slot(slot):
    what = f"slot {slot['number']}"
    _require(isinstance(slot.get("label"), str), f"the label of {what} is not a string")
    _require(slot.get("method") in METHODS, f"the method of {what} is unknown")
    _bytes(slot.get("rootKey"), SEALED_KEY_BYTES, f"the root key of {what}")
    if slot["method"] == "passphrase":
        _bytes(slot.get("salt"), 16, f"the salt of {what}")
        _integer(slot.get("opsLimit"), f"opsLimit of {what}", 1, MOST_OPERATIONS)
        _integer(slot.get("memLimit"), f"memLimit of {what}", LEAST_MEMORY, MOST_MEMORY)


def _check_generation(row):
    what = f"generation {row['number']}"
    _require(row.get("state") in ("active", "retired"), f"the state of {what} is unknown")
    _integer(row.get("created"), f"the creation time of {what}")
    _integer(row.get("backups"), f"the count of backups of {what}")
    if row["state"] == "active":
        _bytes(row.get("key"), SEALED_KEY_BYTES, f"the key of {what}")
    else:
        _require("key" not in row, f"{what} is retired and still has a key")


def _check_retired(members):
    """Checks the ranges of folded generations: no number is in two of them, or both in one and in the list of
    generations."""
    ranges = members.get("retired", [])
    _require(isinstance(ranges, list) and all(isinstance(row, dict) for row in ranges),
             "retired is not a list of objects")
    for row in ranges:
        _integer(row.get("first"), "the first of a range", 1, 2**32 - 1)
        _integer(row.get("last"), "the last of a range", row["first"], 2**32 - 1)
        _integer(row.get("backups"), "the count of backups of a range")
    spans = sorted([(row["first"], row["last"]) for row in ranges]
                   + [(row["number"], row["number"]) for row in members["generations"]])
    _require(all(before[1] < after[0] for before, after in zip(spans, spans[1:])),
             "a number of a generation stands twice")


def _check_form(members):
    vault = members.get("vaultID")
    _require(isinstance(vault, str) and len(vault) == 32 and not set(vault) - set("0123456789abcdef"),
             "the vault id is not 32 hex digits")
    _integer(members.get("revision"), "the revision", 1)
    _require(_numbered(members, "slots") != [], "it has no slot")
    for slot in members["slots"]:
        _check_slot(slot)
    work = sum(slot["opsLimit"] * slot["memLimit"] for slot in members["slots"] if slot["method"] == "passphrase")
    _require(work <= MOST_WORK, "its passphrases cost too much together")
    _require(_numbered(members, "locators") != [], "it has no locator")
    for locator in members["locators"]:
        _bytes(locator.get("key"), SEALED_KEY_BYTES, f"locator {locator['number']}")
    for row in _numbered(members, "generations"):
        _check_generation(row)
    _check_retired(members)
    for name in ("tokenKey", "receiptKey"):
        _bytes(members.get(name), SEALED_KEY_BYTES, name)
    for name in ("tokenEpoch", "receiptSequence"):
        _integer(members.get(name), name)
    active = {row["number"] for row in members["generations"] if row["state"] == "active"}
    _require(members.get("current") in active, "the current generation is not an active one")
    _bytes(members.get("authenticator"), 32, "the authenticator")


def read(data):
    """Returns the keyring's members after checking format, checksum and form."""
    _require(len(data) <= MOST_BYTES, f"it is larger than {MOST_BYTES} bytes")
    try:
        members = canonical_json.parse(data)
    except FormatError as error:
        raise NotAKeyring(f"The file is no keyring. {error}") from error
    if not isinstance(members, dict) or members.get("format") != FORMAT:
        raise NotAKeyring(f"The file is no keyring of the format {FORMAT}.")
    _require(members.get("checksum") == checksum(members), "its checksum does not agree")
    _check_form(members)
    return members


def root_key(members, unlock):
    """Returns the root key of a keyring that `read` returned; `unlock` is 32 bytes or a `Passphrase`."""
    vault = bytes.fromhex(members["vaultID"])
    for slot in members["slots"]:
        if isinstance(unlock, Passphrase) != (slot["method"] == "passphrase"):
            continue
        key = unlock.key(slot) if isinstance(unlock, Passphrase) else unlock
        try:
            return sealed.open_value(
                key, sealed.keyring_associated("slot", vault, slot["number"]), base64.b64decode(slot["rootKey"]))
        except Unopenable:
            continue
    raise WrongKey("No slot of the keyring opens with this key.")


def unlock_keys(members, unlock):
    """Returns the keys of a keyring that `read` returned; `unlock` is 32 bytes or a `Passphrase`."""
    root = root_key(members, unlock)
    if members["authenticator"] != authenticator(members, root):
        raise TamperedKeyring("The keyring was changed by someone without its keys: its authenticator does not agree.")
    vault = bytes.fromhex(members["vaultID"])

    def opened(role, number, text):
        try:
            return sealed.open_value(root, sealed.keyring_associated(role, vault, number), base64.b64decode(text))
        except Unopenable as error:
            raise TamperedKeyring(f"The {role} key {number} of the keyring does not open.") from error

    return Keys(
        vault, members["revision"], members["current"],
        {row["number"]: opened("locator", row["number"], row["key"]) for row in members["locators"]},
        {row["number"]: opened("generation", row["number"], row["key"])
         for row in members["generations"] if row["state"] == "active"},
        opened("token", 0, members["tokenKey"]), opened("receipt", 0, members["receiptKey"]),
        tuple([(row["number"], row["number"]) for row in members["generations"] if row["state"] == "retired"]
              + [(row["first"], row["last"]) for row in members.get("retired", [])]),
        members.get("records") != RECORDS)


def check_belongs(keys, vault, highest_revision):
    """Checks the last two steps of reading: the keyring belongs to this vault and is not an older one."""
    if keys.vault != vault:
        raise OtherVaultsKeyring("The keyring belongs to another vault.")
    if keys.revision < highest_revision:
        raise OlderKeyring(f"The keyring is older (revision {keys.revision}) than one the vault has seen "
                           f"(revision {highest_revision}).")


def seal_key(key, role, vault, number, secret, nonce=None):
    """Returns the base64 text of a sealed key, as stored in the keyring."""
    value = sealed.seal_value(key, sealed.keyring_associated(role, vault, number), secret, nonce)
    return base64.b64encode(value).decode("ascii")


def finished(members, root):
    """Returns the bytes of the keyring file: `members` with checksum and authenticator."""
    members = _without(members, "checksum", "authenticator") | {"format": FORMAT}
    members["checksum"] = checksum(members)
    members["authenticator"] = authenticator(members, root)
    return canonical_json.encode(members)
