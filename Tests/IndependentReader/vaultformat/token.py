"""Tokens of the service's API, from the keyring and the record of their grant alone."""

import base64
import struct

from . import derivation

PREFIX = "mvt_"


def _message(fields):
    return b"".join(struct.pack("<I", len(field)) + field for field in fields)


def text(token_key, epoch, grant, scope, expires=None):
    """Returns the token of a grant."""
    expiry = "never" if expires is None else str(expires)
    fields = [str(epoch).encode("ascii"), grant, scope.encode("ascii"), expiry.encode("ascii")]
    mac = derivation.kdf(token_key, "mv.token", _message(fields))
    return PREFIX + base64.urlsafe_b64encode(grant + mac).decode("ascii")


def era(token_key, epoch):
    """Returns the bytes by which a record names the token key and the epoch that its token was made with."""
    return derivation.kdf(token_key, "mv.token.era", struct.pack("<Q", epoch))[:16]
