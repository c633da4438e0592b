"""The functions of libsodium that the standard library lacks: seal and open, Argon2id and Ed25519."""

import ctypes
import ctypes.util

from .errors import FormatError, Unopenable

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
_ARGON2ID_V13 = 2


def _load():
    for name in ("libsodium.so.23", "libsodium.so.26", ctypes.util.find_library("sodium")):
        try:
            library = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if library is not None and library.sodium_init() >= 0:
            return library
    raise FormatError("libsodium is not installed: install the package libsodium23.")


_sodium = _load()
_length = ctypes.c_ulonglong

_aead = [ctypes.c_char_p, ctypes.POINTER(_length)]
_sodium.crypto_aead_chacha20poly1305_ietf_encrypt.argtypes = _aead + [
    ctypes.c_char_p, _length, ctypes.c_char_p, _length, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
_sodium.crypto_aead_chacha20poly1305_ietf_decrypt.argtypes = _aead + [
    ctypes.c_void_p, ctypes.c_char_p, _length, ctypes.c_char_p, _length, ctypes.c_char_p, ctypes.c_char_p]
_sodium.crypto_pwhash.argtypes = [
    ctypes.c_char_p, _length, ctypes.c_char_p, _length, ctypes.c_char_p, _length, ctypes.c_size_t, ctypes.c_int]

_sodium.crypto_sign_seed_keypair.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p]
_sodium.crypto_sign_detached.argtypes = [
    ctypes.c_char_p, ctypes.POINTER(_length), ctypes.c_char_p, _length, ctypes.c_char_p]
_sodium.crypto_sign_verify_detached.argtypes = [ctypes.c_char_p, ctypes.c_char_p, _length, ctypes.c_char_p]


def _check(key, nonce):
    if len(key) != KEY_BYTES or len(nonce) != NONCE_BYTES:
        raise FormatError("A key has 32 bytes and a nonce 12.")


def seal(key, nonce, plaintext, associated=b""):
    """Returns ciphertext and tag of ChaCha20-Poly1305-IETF."""
    _check(key, nonce)
    out = ctypes.create_string_buffer(len(plaintext) + TAG_BYTES)
    written = _length()
    _sodium.crypto_aead_chacha20poly1305_ietf_encrypt(
        out, ctypes.byref(written), plaintext, len(plaintext), associated, len(associated), None, nonce, key)
    return out.raw[:written.value]


def open_sealed(key, nonce, sealed, associated=b""):
    """Returns the plaintext of `sealed`, or raises `Unopenable`."""
    _check(key, nonce)
    if len(sealed) < TAG_BYTES:
        raise Unopenable("A sealed text is shorter than its tag.")
    out = ctypes.create_string_buffer(max(1, len(sealed) - TAG_BYTES))
    written = _length()
    if _sodium.crypto_aead_chacha20poly1305_ietf_decrypt(
            out, ctypes.byref(written), None, sealed, len(sealed), associated, len(associated), nonce, key) != 0:
        raise Unopenable("The tag is wrong.")
    return out.raw[:written.value]


def argon2id(passphrase, salt, ops_limit, mem_limit):
    """Returns 32 bytes of Argon2id v1.3; `mem_limit` is in bytes."""
    if len(salt) != 16:
        raise FormatError("An Argon2id salt has 16 bytes.")
    out = ctypes.create_string_buffer(KEY_BYTES)
    if _sodium.crypto_pwhash(
            out, KEY_BYTES, passphrase, len(passphrase), salt, ops_limit, mem_limit, _ARGON2ID_V13) != 0:
        raise FormatError("Argon2id could not get its memory.")
    return out.raw


def is_signed(signature, message, key):
    """Whether an Ed25519 signature is valid for a message."""
    if len(signature) != 64 or len(key) != KEY_BYTES:
        return False
    return _sodium.crypto_sign_verify_detached(signature, message, len(message), key) == 0


def sign(message, seed):
    """Returns an Ed25519 signature and the public key of the seed."""
    public, pair = ctypes.create_string_buffer(KEY_BYTES), ctypes.create_string_buffer(64)
    _sodium.crypto_sign_seed_keypair(public, pair, seed)
    signature = ctypes.create_string_buffer(64)
    _sodium.crypto_sign_detached(signature, None, message, len(message), pair)
    return signature.raw, public.raw
