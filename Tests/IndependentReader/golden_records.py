"""The golden vault of version 6 as plain values: records of every kind, and the one title that they speak of."""

import base64
from dataclasses import dataclass

from golden_plan import CREATED, Piece, Title, Version
from vaultformat import derivation, token

# No session ends before the year 2096: an owner deletes those that have ended.
USED, EXPIRES = 4_000_000_200, 4_000_600_000

TITLES = (
    Title("shared", "http://media.example/shared.mp3", "download", (2,), versions=(
        Version(1, "serving", 1000, "audio/mpeg", '"shared"', None, (Piece(0, 1000),)),)),
)


@dataclass(frozen=True)
class Record:
    """A planned record, and the generation that seals it."""

    table: str
    id: bytes
    generation: int
    members: dict


def records(secrets, resource):
    """Returns all records: some are under generation 1, as after a rotation, the others under the current one."""
    def text(data):
        return base64.b64encode(data).decode("ascii")

    vault, title, era = secrets.vault_id, derivation.title_id(resource), text(token.era(secrets.token, 1))
    viewer, network = secrets.fixed("viewer", 16), text(secrets.fixed("network", 16))
    position = {"title": title, "position": 61_000, "duration": 180_000, "changed": CREATED + 90}
    return (
        Record("vault", vault, 2, {"bytesFetched": 1000, "networkRevision": 1, "networkID": network}),
        Record("accessGrant", secrets.fixed("token", 16), 1, {
            "kind": "token", "name": "dashboard", "scope": "read", "created": CREATED, "era": era}),
        Record("accessGrant", secrets.fixed("links", 16), 2, {
            "kind": "links", "name": "tv", "url": TITLES[0].url, "count": 1, "created": CREATED, "expires": EXPIRES,
            "era": era}),
        Record("accessGrant", secrets.fixed("session", 16), 2, {
            "kind": "session", "name": "Firefox", "viewer": viewer.hex(), "created": CREATED, "used": USED,
            "expires": EXPIRES, "era": era}),
        Record("download", secrets.fixed("download", 16), 1, {
            "url": "http://media.example/next.mp3", "title": "k3v7q2ma", "state": "paused", "position": 2**52,
            "added": CREATED}),
        Record("network", vault, 1, {"revision": 1, "id": network, "userAgent": "Golden/6"}),
        Record("subscription", secrets.fixed("subscription", 16), 1, {
            "url": "http://media.example/feed.xml", "name": "Golden", "added": CREATED, "wanted": [title],
            "brought": [title], "lastRun": CREATED + 60}),
        Record("viewer", viewer, 1, {"name": "Anna", "created": CREATED, "all": False}),
        Record("share", resource, 2, {"title": title, "viewers": [viewer.hex()]}),
        Record("position", vault, 1, {"positions": [position]}),
        Record("position", viewer, 2, {"positions": [{**position, "position": 5_000}]}),
    )
