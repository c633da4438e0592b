"""The unlock key `U`: from 32 bytes, from the output of a key command, or from a passphrase."""

import base64
import binascii
import re
import unicodedata
from dataclasses import dataclass

from . import sodium
from .errors import FormatError


@dataclass(frozen=True)
class Passphrase:
    """A passphrase in NFC bytes; the slot's salt and limits turn it into a key."""

    text: bytes

    @classmethod
    def from_file(cls, data):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError("The passphrase is not UTF-8.") from error
        return cls(unicodedata.normalize("NFC", re.sub(r"\r?\n\Z", "", text)).encode("utf-8"))

    def key(self, slot):
        salt = base64.b64decode(slot["salt"], validate=True)
        return sodium.argon2id(self.text, salt, slot["opsLimit"], slot["memLimit"])


def key_file(data):
    """Returns the key of a key file or credential."""
    if len(data) != sodium.KEY_BYTES:
        raise FormatError(f"A key file has exactly 32 bytes, this one {len(data)}.")
    return data


def command_output(data):
    """Returns the key that a key command printed: 32 raw bytes, 64 hex digits, or 44 base64 characters."""
    if len(data) == sodium.KEY_BYTES:
        return data
    line = data[:-1] if data.endswith(b"\n") else data
    try:
        if len(line) == 64:
            return binascii.unhexlify(line)
        if len(line) == 44:
            key = base64.b64decode(line, validate=True)
            if len(key) == sodium.KEY_BYTES:
                return key
    except binascii.Error:
        pass
    raise FormatError("A key command prints 32 raw bytes, 64 hex digits or 44 base64 characters.")
