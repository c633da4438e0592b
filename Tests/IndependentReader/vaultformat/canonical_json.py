"""JSON as the vault uses it: strict parsing, and the canonical form of RFC 8785 without fractions."""

import json

from .errors import FormatError

GREATEST_INTEGER = 2**53 - 1
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _integer(text):
    if text.startswith("-") or len(text) > 16 or int(text) > GREATEST_INTEGER:
        raise FormatError("A JSON number is not an integer from 0 to 2^53-1.")
    return int(text)


def _refused(text):
    raise FormatError("A JSON number is not a plain integer.")


def _members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise FormatError("A JSON object has a member twice.")
    return members


def parse(data):
    """Returns the value in `data` (UTF-8 bytes): no duplicate members, only integers from 0 to 2^53-1."""
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_members,
            parse_int=_integer, parse_float=_refused, parse_constant=_refused)
        encode(value)  # rejects what has no canonical form: lone surrogates
    except (ValueError, RecursionError) as error:
        raise FormatError("The text is not JSON in UTF-8.") from error
    return value


def _string(text):
    return '"' + "".join(
        _SHORT_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'


def _text(value):
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        if not 0 <= value <= GREATEST_INTEGER:
            raise FormatError("A JSON number is not an integer from 0 to 2^53-1.")
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        by_code_units = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(_string(name) + ":" + _text(item) for name, item in by_code_units) + "}"
    raise FormatError("A value has no canonical JSON form.")


def encode(value):
    """Returns the canonical bytes of `value`."""
    return _text(value).encode("utf-8")
