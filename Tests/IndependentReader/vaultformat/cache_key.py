"""The cache key: the name of a resource before the locator key hides it."""

import re
from urllib.parse import unquote_to_bytes, urlsplit

from . import derivation
from .errors import FormatError

CONTENT_ID = b"content-id:"
_PACK = re.compile(rb"pack:[0-9a-f]{32}")
MOST_PRINCIPALS = 256
_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_LEGAL = _UNRESERVED | frozenset(b"!$&'()*+,;=:@/?%[]")


def _legal(text):
    return "".join(chr(b) if b in _LEGAL else f"%{b:02X}" for b in text.encode("utf-8"))


def _normal_escape(match):
    byte = int(match[1], 16)
    return chr(byte) if byte in _UNRESERVED else f"%{byte:02X}"


def _without_dot_segments(path):
    """Applies RFC 3986, 5.2.4, to a path that begins with `/`."""
    kept = []
    segments = path.split("/")[1:]
    for place, segment in enumerate(segments):
        last = place == len(segments) - 1
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
            continue
        if last:
            kept.append("")
    return "/" + "/".join(kept)


def canonical_url(url, ignored=()):
    """Returns the canonical form of `url` without the query items named in `ignored`."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").lower()
    if scheme not in _DEFAULT_PORTS or not host:
        raise FormatError("The URL is not http or https with a host.")
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii():
        host = host.encode("idna").decode("ascii")
    port = "" if parts.port in (None, _DEFAULT_PORTS[scheme]) else f":{parts.port}"
    path = _legal(parts.path or "/")
    if not re.search("%(?![0-9A-Fa-f]{2})", path):  # A stray % leaves all escapes unchanged.
        path = re.sub("%([0-9A-Fa-f]{2})", _normal_escape, path)
    query = _legal(parts.query)
    if ignored:
        query = "&".join(item for item in query.split("&")
                         if unquote_to_bytes(item.split("=", 1)[0]) not in {name.encode("utf-8") for name in ignored})
    return f"{scheme}://{host}{port}{_without_dot_segments(path)}" + (f"?{query}" if query else "")


def _authority(url):
    """Returns the scheme, host and effective port of a canonical URL."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return parts.scheme, host, parts.port or _DEFAULT_PORTS[parts.scheme]


def _rule_authority(text, scheme):
    """Returns host and port of one side of a `mapHost` rule; the default port is that of the scheme."""
    host, port = re.fullmatch(r"(\[[^]]*\]|[^:]*)(?::([0-9]+))?", text).groups()
    return host, int(port) if port else _DEFAULT_PORTS[scheme]


def named_url(url, settings):
    """Returns the URL that names a resource under the key policy in a vault's settings."""
    named = canonical_url(url)
    scheme, host, port = _authority(named)
    hosts, rules = {host}, settings.get("mapHost") or []
    for _ in rules:
        fitting = [rule for rule in rules if _rule_authority(rule["from"], scheme) == (host, port)
                   and _rule_authority(rule["to"], scheme) != (host, port)]
        if not fitting:
            break
        rule = next((rule for rule in fitting if re.search(r":[0-9]+$", rule["from"])), fitting[0])
        host, port = _rule_authority(rule["to"], scheme)
        hosts.add(host)
    ignored = {name for rule in settings.get("ignoreQuery") or []
               if rule.get("host") is None or rule["host"] in hosts for name in rule["names"]}
    rest = named.split("://", 1)[1].partition("/")[2]
    return canonical_url(f"{scheme}://{host}:{port}/{rest}", ignored)


def of_url(url, settings=None):
    return named_url(url, settings or {}).encode("ascii")


def of_content_id(content_id):
    return CONTENT_ID + content_id.encode("utf-8")


def for_principal(cache_key, locator, identity):
    """Returns `cache_key` for the principal that the identity header's value names."""
    return cache_key + b"\0" + derivation.principal(locator, identity)


def fault(cache_key):
    """Returns one sentence about what is wrong with a stored cache key, or None."""
    name, divider, person = cache_key.partition(b"\0")
    if divider and len(person) != 32:
        return f"The principal in a cache key has {len(person)} bytes, not 32."
    if _PACK.fullmatch(name):
        return None
    try:
        if name.startswith(CONTENT_ID):
            name.decode("utf-8")
        elif of_url(name.decode("ascii")) != name:
            return "A cache key is not a canonical URL."
    except (ValueError, FormatError):
        return "A cache key is neither a canonical URL nor a content id."
    return None
