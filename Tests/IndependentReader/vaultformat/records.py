"""The records of the index: the settings and what else is sealed for the vault as a whole, in both of their forms.

From version 6 on a record is sealed under the record key of a generation, whose number precedes it. Up to version 5 it
was sealed under the index key of the locator, without a number. The length tells the two apart.
"""

import struct

from . import derivation, sealed, sodium
from .errors import FormerRecord, Unopenable, UnknownGeneration

# Each kind of record: its table and its column.
KINDS = {"vault": "settings", "accessGrant": "record", "download": "record", "network": "record",
         "subscription": "record", "viewer": "record", "share": "record", "position": "record"}
FIRST_VERSION = 6
NUMBER_BYTES = 4
_FORMER_REST = sodium.NONCE_BYTES + sodium.TAG_BYTES
_REST = NUMBER_BYTES + _FORMER_REST


def associated(table, row, generation=None):
    """Returns what binds a record to its row, and to its generation; without one, that of the former form."""
    number = b"" if generation is None else struct.pack("<I", generation)
    return f"{table}\0{KINDS[table]}\0".encode("ascii") + row + number


def generation(value):
    """Returns the number of the generation that a record names; None if it has the former form."""
    if len(value) % sealed.PADDING == _FORMER_REST and len(value) > _FORMER_REST:
        return None
    if len(value) % sealed.PADDING != _REST or len(value) == _REST:
        raise Unopenable(f"No record has {len(value)} bytes.")
    return struct.unpack("<I", value[:NUMBER_BYTES])[0]


def open_record(keys, locator, table, row, value):
    """Returns the members of a record. `locator` is the key of the locator that the index names."""
    number = generation(value)
    if number is None:
        if not keys.takes_former_records:
            raise FormerRecord("It has the form of versions up to 5, and the keyring says that no such record is left.")
        return sealed.unpadded(sealed.open_value(derivation.index_key(locator), associated(table, row), value))
    if number not in keys.generations:
        kind = "destroyed" if keys.was_retired(number) else "unknown"
        raise UnknownGeneration(f"It is sealed under generation {number}, which is {kind}.")
    return sealed.unpadded(sealed.open_value(
        derivation.record_key(keys.generations[number]), associated(table, row, number), value[NUMBER_BYTES:]))


def seal_under(generation_key, number, table, row, members, nonce=None):
    """Seals a record under a generation."""
    return struct.pack("<I", number) + sealed.seal_value(
        derivation.record_key(generation_key), associated(table, row, number), sealed.padded(members), nonce)


def seal_former(locator, table, row, members, nonce=None):
    """Seals a record as versions up to 5 did."""
    return sealed.seal_value(derivation.index_key(locator), associated(table, row), sealed.padded(members), nonce)


def seal_as_of(version, keys, locator, table, row, members):
    """Seals a record as an owner does whose index has this `user_version`."""
    if version >= FIRST_VERSION:
        return seal_under(keys.generations[keys.current], keys.current, table, row, members)
    return seal_former(locator, table, row, members)
