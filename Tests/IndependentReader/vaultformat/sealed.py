"""Sealed values: nonce, ciphertext and tag in one blob; their associated data; sealed JSON and its padding."""

import os
import struct

from . import canonical_json, sodium
from .errors import FormatError, Unopenable

PADDING = 256
PICTURE_PADDING, MOST_PICTURE = 16384, 1 << 20


def seal_value(key, associated, plaintext, nonce=None):
    nonce = os.urandom(sodium.NONCE_BYTES) if nonce is None else nonce
    return nonce + sodium.seal(key, nonce, plaintext, associated)


def open_value(key, associated, sealed):
    if len(sealed) < sodium.NONCE_BYTES + sodium.TAG_BYTES:
        raise Unopenable("A sealed value is shorter than its nonce and tag.")
    return sodium.open_sealed(key, sealed[:sodium.NONCE_BYTES], sealed[sodium.NONCE_BYTES:], associated)


def keyring_associated(role, vault, number):
    return role.encode("ascii") + b"\0" + vault + struct.pack("<I", number)


def wrapped_associated(resource, number, generation):
    return b"resourceKey\0wrapped\0" + resource + struct.pack("<II", number, generation)


def metadata_associated(resource):
    return b"resource\0metadata\0" + resource


def info_associated(resource, representation):
    return b"representation\0info\0" + resource + representation


def entry_associated(pack, part):
    return b"packedPart\0entry\0" + pack + part


def picture_associated(resource, tag):
    return b"cover\0picture\0" + resource + tag


def picture(plaintext):
    """Returns the picture in a plaintext with its length before it and zeros after it."""
    if len(plaintext) % PICTURE_PADDING or len(plaintext) < 4:
        raise FormatError(f"A sealed picture of {len(plaintext)} bytes is not padded to a multiple of {PICTURE_PADDING}.")
    length, = struct.unpack(">I", plaintext[:4])
    if not 1 <= length <= MOST_PICTURE or 4 + length + PICTURE_PADDING <= len(plaintext) or len(plaintext) < 4 + length:
        raise FormatError(f"A sealed picture cannot have {length} bytes.")
    if any(plaintext[4 + length:]):
        raise FormatError("A sealed picture is not followed by zeros.")
    return plaintext[4:4 + length]


def padded(value):
    """Returns canonical JSON, padded with spaces to a multiple of 256 bytes."""
    text = canonical_json.encode(value)
    return text + b" " * (-len(text) % PADDING)


def unpadded(plaintext):
    """Returns the JSON object in a padded plaintext."""
    if not plaintext or len(plaintext) % PADDING:
        raise FormatError(f"A sealed JSON text of {len(plaintext)} bytes is not padded to a multiple of {PADDING}.")
    value = canonical_json.parse(plaintext)
    if not isinstance(value, dict):
        raise FormatError("A sealed JSON text is not an object.")
    return value
