"""What schemathesis is told of this API beyond its description: loaded by it, and by nothing else here."""

import schemathesis
from hypothesis import strategies

LABEL = strategies.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8).map(lambda text: "h" + text)
SEGMENT = strategies.text("abcdefghijklmnopqrstuvwxyz0123456789-._~", max_size=8)

# A URL is one of http or https; names under .invalid lead nowhere (RFC 2606).
schemathesis.openapi.format("uri", strategies.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}.invalid/{'/'.join(path)}" + (f"?{query}" if query else ""),
    strategies.sampled_from(["http", "https"]), LABEL, strategies.lists(SEGMENT, max_size=3), SEGMENT))


@schemathesis.hook
def before_call(context, case, kwargs):
    """An act at a byte a second would outlast every patience."""
    rate = case.body.get("limitRate") if isinstance(case.body, dict) else None
    if isinstance(rate, int) and 0 < rate < 10_000_000:
        case.body["limitRate"] = 10_000_000
