"""The audit log: one signed receipt per line, each with the hash of the line before."""

import base64
import binascii
import hashlib

from . import canonical_json, sodium
from .errors import FormatError

NO_LINE = bytes(32)
_WANTED = {"act": str, "generation": int, "key": str, "outcome": str, "previous": str, "sequence": int,
           "signature": str, "time": int, "vault": str}


def line_hash(line):
    """Returns the hash by which the next line refers to this one."""
    return hashlib.blake2b(line, digest_size=32, person=b"mv.audit.line").digest()


def _members(line):
    members = canonical_json.parse(line)
    if canonical_json.encode(members) != line:
        raise FormatError("A receipt is not in its canonical form.")
    if any(type(members.get(name)) is not kind for name, kind in _WANTED.items()):
        raise FormatError("A receipt lacks a member.")
    return members


def _is_signed(members):
    signed = {name: value for name, value in members.items() if name != "signature"}
    try:
        signature = base64.b64decode(members["signature"], validate=True)
        key = bytes.fromhex(members["key"])
    except (binascii.Error, ValueError):
        return False
    return sodium.is_signed(signature, canonical_json.encode(signed), key)


def _former(members):
    """Returns the key that signed up to this line, if it also signed this line; else None."""
    signed = {name: value for name, value in members.items() if name not in ("signature", "formerSignature")}
    try:
        signature = base64.b64decode(members["formerSignature"], validate=True)
        key = bytes.fromhex(members["former"])
    except (KeyError, TypeError, binascii.Error, ValueError):
        return None
    return members["former"] if sodium.is_signed(signature, canonical_json.encode(signed), key) else None


def check(log, last=None):
    """Returns the receipts of a log, and one sentence for each fault.

    `last` is the keyring's `receiptSequence`; without it, a log that was truncated looks sound. Anything after the last
    line feed is ignored.
    """
    receipts, faults, expected, previous, first = [], [], 1, NO_LINE, None
    key = following = None
    for number, line in enumerate(log.split(b"\n")[:-1], 1):
        try:
            members = _members(line)
        except FormatError as error:
            faults.append(f"line {number}: {error}")
            expected, previous = expected + 1, line_hash(line)
            continue
        first = first or members
        former = _former(members)
        key = key or former or members["key"]
        receipts.append(members)
        if members["key"] == following and _is_signed(members):
            key, following = following, None
        if not _is_signed(members):
            faults.append(f"line {number}: the signature is wrong.")
        elif key not in (members["key"], former) or members["vault"] != first["vault"]:
            faults.append(f"line {number}: it is another vault's.")
        elif members["sequence"] != expected:
            faults.append(f"line {number}: it has number {members['sequence']}, not {expected}.")
        elif members["previous"] != previous.hex():
            faults.append(f"line {number}: it does not follow the line before.")
        if former == key and _is_signed(members):
            following = members["key"]
        expected, previous = members["sequence"] + 1, line_hash(line)
    if last is not None and expected <= last:
        faults.append(f"The log ends with number {expected - 1}, and the keyring knows of {last}.")
    return receipts, faults
