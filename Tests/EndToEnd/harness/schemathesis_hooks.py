"""What schemathesis must know about this API beyond its description; only schemathesis loads this file."""

import re

import schemathesis
from hypothesis import strategies

LABEL = strategies.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8).map(lambda text: "h" + text)
SEGMENT = strategies.text("abcdefghijklmnopqrstuvwxyz0123456789-._~", max_size=8)

# A URL has the scheme http or https; names under .invalid never resolve (RFC 2606).
schemathesis.openapi.format("uri", strategies.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}.invalid/{'/'.join(path)}" + (f"?{query}" if query else ""),
    strategies.sampled_from(["http", "https"]), LABEL, strategies.lists(SEGMENT, max_size=3), SEGMENT))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Raises very low rate limits: an operation at one byte per second would exceed every timeout. Empties a file of
    certificates or cookies: a pattern describes its lines, and no pattern makes a certificate. Removes the headers of hosts that it
    would set: all of them together are bounded. Names no program: on the network that is refused."""
    body = case.body if isinstance(case.body, dict) else {}
    rate, authorities = body.get("limitRate"), body.get("caFile")
    # 86.0 is an integer, too.
    if isinstance(rate, int | float) and 0 < rate < 10_000_000:
        body["limitRate"] = 10_000_000
    if isinstance(authorities, str) and "-----BEGIN CERTIFICATE-----" in authorities:
        body["caFile"] = ""
    if isinstance(body.get("cookieFile"), str) and "\t" in body["cookieFile"]:
        body["cookieFile"] = ""
    if isinstance(body.get("clientCertificate"), dict):
        body["clientCertificate"] = {host: None if isinstance(pem, str) and "-----BEGIN CERTIFICATE-----" in pem else pem
                                     for host, pem in body["clientCertificate"].items()}
    if isinstance(body.get("headerFor"), dict):
        body["headerFor"] = {host: None if isinstance(headers, dict) and all(
            isinstance(value, str | None) for value in headers.values()) else headers
            for host, headers in body["headerFor"].items()}
    for member in ("notifyCommand", "refreshCommand"):
        body.pop(member, None)
    for member in ("maxSize", "minFree"):
        # A fraction of a byte is no size, and one below what is downloaded is refused: both depend on more than a form.
        size = r"([0-9]+(\.[0-9]+)?|\.[0-9]+) *([kmgtp]i?(b(ytes?)?)?|b(ytes?)?)"
        if isinstance(body.get(member), str) and re.fullmatch(size, body[member], re.I):
            body[member] = "5GB"
    if case.operation.path.endswith("/subscriptions") and isinstance(body.get("list"), str | None):
        # It is of a feed or of a list, which depends on two members.
        body.pop("list", None)
        if body.get("url") is None:
            body["url"] = "http://host.invalid/feed"
    if case.operation.path.endswith("/links"):
        limit_links(body)
    if case.operation.path.endswith("/tickets") and body.get("viewer") is not None:
        # Only a ticket for a session is for a viewer.
        body["use"] = "session"
    if case.operation.path.endswith("/viewers") and body.get("pin") is not None:
        # A PIN is set or taken away, which depends on two members.
        body.pop("hasPIN", None)
    name_once(case)
    if case.query and case.operation.path.endswith("/resources") and {"sort", "filter", "search"} & set(case.query):
        # The value of next belongs to the selection that it was given for.
        case.query = {name: value for name, value in case.query.items() if name != "after"}


def limit_links(body):
    """Gives links a time that is still to come, and those without a name at most a year: both depend on more than one
    member, or on the clock."""
    body.pop("expires", None)
    if "id" in body and isinstance(body.get("resources"), list):
        # An id of an earlier answer was put beside the resources that the request names.
        body.pop("id")
    if body.get("name") is None and isinstance(body.get("lifetime"), int):
        body["lifetime"] = min(max(1, body["lifetime"]), 31_536_000)


def name_once(case):
    """Names a resource by either id or url in a query, and what is revoked by id or all, which a description cannot
    demand of parameters."""
    names = {item.name for item in case.operation.query}
    if {"id", "all"} <= names:
        query = case.query = dict(case.query or {})
        query.pop("all" if "id" in query else "", None)
        # Only one subscription is removed with its titles.
        if "id" not in query and query.get("titles") in ("true", "false"):
            query.pop("titles")
        if not query:
            query["all"] = "true"
    if not {"id", "url"} <= names:
        return
    query = case.query = dict(case.query or {})
    if "id" in query:
        query.pop("url", None)
    elif "url" not in query and not case.operation.path.endswith("/audit"):
        query["url"] = "http://host.invalid/"
