"""Every derived key, by its name in the format document."""

import base64
import hashlib


def kdf(key, person, message=b""):
    """Returns 32 bytes of keyed, personalised BLAKE2b; hashlib pads `person` with zeros to 16 bytes."""
    return hashlib.blake2b(message, digest_size=32, key=key, person=person.encode("ascii")).digest()


def keyring_sum(message):
    """Returns the keyring's checksum: the only use without a key."""
    return hashlib.blake2b(message, digest_size=32, person=b"mv.keyring.sum").digest()


def keyring_authenticator(root, message):
    return kdf(kdf(root, "mv.keyring"), "mv.keyring.mac", message)


def resource_id(locator, cache_key):
    return kdf(locator, "mv.resource", cache_key)


def title_id(resource):
    """Returns the id by which people name a resource whose metadata keep none."""
    return base64.b32encode(resource[:5]).decode("ascii").lower()


def principal(locator, identity):
    return kdf(locator, "mv.principal", identity)


def wrapping_key(generation_key, resource):
    return kdf(generation_key, "mv.wrap", resource)


def metadata_key(resource_key):
    return kdf(resource_key, "mv.metadata")


def index_key(locator):
    """Returns the key of records up to version 5."""
    return kdf(locator, "mv.index")


def record_key(generation_key):
    """Returns the key of records from version 6 on."""
    return kdf(generation_key, "mv.records")


def segment_key(resource_key, header):
    return kdf(resource_key, "mv.segment", header)


def commitment(segment_key_):
    return kdf(segment_key_, "mv.commit")
