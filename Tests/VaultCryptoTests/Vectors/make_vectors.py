#!/usr/bin/env python3
"""Writes chacha20_poly1305.json: vectors in the format of Project Wycheproof, sealed by OpenSSL through `cryptography`.

Every byte is SHAKE-256 output of the vector's own name, so that a second run writes the same file.
"""

import hashlib
import json
import pathlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

SHORT = (0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
LONG = (255, 256, 257, 511, 512, 513, 1023, 1024, 1025)
LONGEST = (4095, 4096, 4097)
TAG_SIZE = 16


def drawn(name, count):
    """Returns `count` bytes derived from `name`."""
    return hashlib.shake_256(name.encode()).digest(count)


def flipped(data, bit):
    """Returns `data` with one bit changed."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


class Vectors:
    """The vectors so far, grouped by the sizes of key, nonce and tag, as in Wycheproof's files."""

    def __init__(self):
        self.groups = {}
        self.count = 0

    def add(self, comment, result, *, key, iv, aad, msg, ct, tag):
        self.count += 1
        sizes = (8 * len(key), 8 * len(iv), 8 * len(tag))
        self.groups.setdefault(sizes, []).append({
            "tcId": self.count, "comment": comment, "key": key.hex(), "iv": iv.hex(), "aad": aad.hex(),
            "msg": msg.hex(), "ct": ct.hex(), "tag": tag.hex(), "result": result})

    def document(self):
        return {
            "algorithm": "CHACHA20-POLY1305", "numberOfTests": self.count,
            "testGroups": [
                {"keySize": key, "ivSize": iv, "tagSize": tag, "tests": tests}
                for (key, iv, tag), tests in self.groups.items()]}


def sealed(name, message_length, ad_length, **given):
    """Returns a genuine vector; parts that are not given are derived from its name."""
    parts = {
        "key": given.get("key", drawn(name + " key", 32)), "iv": given.get("iv", drawn(name + " nonce", 12)),
        "aad": given.get("aad", drawn(name + " ad", ad_length)),
        "msg": given.get("msg", drawn(name + " message", message_length))}
    both = ChaCha20Poly1305(parts["key"]).encrypt(parts["iv"], parts["msg"], parts["aad"])
    return {**parts, "ct": both[:-TAG_SIZE], "tag": both[-TAG_SIZE:]}


def opens(*, key, iv, aad, msg, ct, tag):
    """Whether OpenSSL opens a vector; what has a wrong size it refuses, too."""
    try:
        return ChaCha20Poly1305(key).decrypt(iv, ct + tag, aad) is not None
    except (InvalidTag, ValueError):
        return False


def add_valid(vectors):
    lengths = [(m, a) for m in SHORT for a in (0, 1, 7, 15, 16, 17, 32, 63, 128)]
    lengths += [(m, a) for m in LONG for a in (0, 13, 64)]
    lengths += [(m, 13) for m in LONGEST]
    lengths += [(64, a) for a in (31, 33, 64, 65, 127, 129, 255, 256, 1023, 4096)]
    for message, ad in lengths:
        name = f"message of {message}, associated data of {ad}"
        vectors.add(name, "valid", **sealed(name, message, ad))
    for value in (0x00, 0x01, 0x7F, 0x80, 0xFF):
        name = f"all bytes {value:02x}"
        fill = bytes([value])
        vectors.add(name, "valid", **sealed(name, 0, 0, key=fill * 32, iv=fill * 12, aad=fill * 20, msg=fill * 100))
    for counter in (0, 1, 255, 256, 2**32 - 1, 2**32, 2**64 - 1):
        name = f"nonce of block {counter}"
        vectors.add(name, "valid", **sealed(name, 80, 0, iv=bytes(4) + counter.to_bytes(8, "little")))


def add_invalid(vectors):
    def refused(comment, genuine, **changes):
        changed = {**genuine, **changes}
        assert not opens(**changed), comment
        vectors.add(comment, "invalid", **changed)

    base = sealed("base of the invalid", 129, 32)
    for byte in range(TAG_SIZE):
        for bit in (8 * byte, 8 * byte + 7):
            refused(f"bit {bit} of the tag flipped", base, tag=flipped(base["tag"], bit))
    refused("tag of zeros", base, tag=bytes(TAG_SIZE))
    refused("tag of ones", base, tag=b"\xff" * TAG_SIZE)
    refused("tag inverted", base, tag=bytes(byte ^ 0xFF for byte in base["tag"]))
    refused("tag reversed", base, tag=base["tag"][::-1])
    for kept in (0, 1, 4, 8, 12, 15):
        refused(f"tag cut to {kept} bytes", base, tag=base["tag"][:kept])
    for length in (1, 16, 64, 65, 129, 1024):
        genuine = sealed(f"flips in {length} bytes", length, 5)
        for bit in sorted({0, 4 * length, 8 * length - 1}):
            refused(f"bit {bit} of a ciphertext of {length} flipped", genuine, ct=flipped(genuine["ct"], bit))
    refused("ciphertext cut by one byte", base, ct=base["ct"][:-1])
    refused("ciphertext cut to nothing", base, ct=b"")
    refused("ciphertext longer by a zero byte", base, ct=base["ct"] + b"\0")
    refused("first two blocks exchanged", base, ct=base["ct"][64:128] + base["ct"][:64] + base["ct"][128:])
    refused("plaintext in place of the ciphertext", base, ct=base["msg"])
    refused("first bit of the associated data flipped", base, aad=flipped(base["aad"], 0))
    refused("last bit of the associated data flipped", base, aad=flipped(base["aad"], 255))
    refused("associated data left out", base, aad=b"")
    refused("associated data shorter", base, aad=base["aad"][:-1])
    refused("associated data longer by a zero byte", base, aad=base["aad"] + b"\0")
    refused("associated data of another vector", base, aad=sealed("another", 129, 32)["aad"])
    refused("ciphertext and associated data exchanged", base, aad=base["ct"], ct=base["aad"])
    for byte in range(12):
        refused(f"byte {byte} of the nonce changed", base, iv=flipped(base["iv"], 8 * byte))
    for byte in (0, 15, 16, 31):
        refused(f"byte {byte} of the key changed", base, key=flipped(base["key"], 8 * byte + 3))
    for size in (0, 8, 11, 13, 16, 24):
        refused(f"nonce of {size} bytes", base, iv=drawn("nonce size", size))
    for size in (0, 16, 31, 33, 64):
        refused(f"key of {size} bytes", base, key=drawn("key size", size))


def main():
    vectors = Vectors()
    add_valid(vectors)
    add_invalid(vectors)
    path = pathlib.Path(__file__).with_name("chacha20_poly1305.json")
    path.write_text(json.dumps(vectors.document(), indent=1) + "\n")
    results = [test["result"] for group in vectors.document()["testGroups"] for test in group["tests"]]
    print(f"{results.count('valid')} valid, {results.count('invalid')} invalid")


if __name__ == "__main__":
    main()
