"""The contents of the golden vault as plain values. `make_golden_vault.py` seals them."""

from dataclasses import dataclass, field

CREATED = 1_700_000_000
ACCESSED = CREATED - CREATED % 3600

# NFC and NFD differ: the Ångström sign (U+212B) becomes U+00C5, and the o with diaeresis is composed.
PASSPHRASE_AS_TYPED = "correct horse battery staple \u212bngstro\u0308m"


@dataclass(frozen=True)
class Piece:
    """A planned segment: its place, its block size, the number of the resource key that seals it, its bad blocks."""

    start: int
    length: int
    block_size: int = 4096
    key: int = 1
    bad_blocks: tuple = ()


@dataclass(frozen=True)
class Version:
    """A planned representation."""

    sequence: int
    state: str
    length: int | None
    type: str | None
    etag: str | None
    last_modified: str | None
    pieces: tuple = ()
    ranges: bool = True


@dataclass(frozen=True)
class Title:
    """A planned resource. `generations` are those that wrap its keys 1, 2 …; the last key is the one in use."""

    name: str
    url: str
    category: str
    generations: tuple
    versions: tuple = ()
    content_id: str | None = None
    identity: str | None = None
    title: str | None = None
    accessed: int = field(default=ACCESSED)


TITLES = (
    Title("film", "http://media.example/film.mp4?part=1", "download", (1,), title="A Film of Three Segments", versions=(
        Version(1, "superseded", 5000, "video/mp4", '"film-1"', None, (Piece(0, 5000),)),
        Version(2, "serving", 20_011, "video/mp4", '"film-2"', "Tue, 14 Nov 2023 22:13:20 GMT", (
            Piece(0, 8000), Piece(8000, 4097), Piece(12_097, 7914))))),
    Title("partial", "http://media.example/live/partial.webm", "cache", (2,), accessed=ACCESSED - 7200, versions=(
        Version(1, "serving", 6_000_000_000, "video/webm", None, "Wed, 15 Nov 2023 08:00:00 GMT", (
            Piece(8192, 9001), Piece(5_000_000_123, 20_480, bad_blocks=(2,)))),)),
    Title("named", "https://cdn.example/a/b/c.mp3?token=secret-of-the-cdn", "pinned", (2,),
          content_id="album/7/träck-3", title="Träck 3", versions=(
              Version(1, "serving", 65_536, "audio/mpeg", '"named"', None, (Piece(0, 65_536, 32_768),)),)),
    Title("empty", "http://media.example/empty.bin", "download", (1,), versions=(
        Version(1, "serving", 0, "application/octet-stream", '"empty"', None, ranges=False),)),
    Title("private", "http://media.example/private/song.mp3", "cache", (2,), identity="Bearer token-of-alice",
          versions=(Version(1, "serving", 1000, None, '"alice"', None, (Piece(0, 1000),)),)),
    # The same URL without a principal: another resource.
    Title("public", "http://media.example/private/song.mp3", "cache", (2,), versions=(
        Version(1, "serving", None, "audio/mpeg", 'W/"public"', None, (Piece(0, 1),)),)),
    # In the middle of a reseal: its metadata is under key 2, its second segment still under key 1.
    Title("resealing", "http://media.example/resealing.webm", "pinned", (1, 2), versions=(
        Version(1, "serving", 12_288, "video/webm", '"resealing"', None, (
            Piece(0, 8192, key=2), Piece(8192, 4096, key=1))),)),
)
