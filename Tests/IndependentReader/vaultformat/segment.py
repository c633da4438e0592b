"""The segment file: 88 bytes of header and commitment, then sealed blocks."""

import struct
from dataclasses import dataclass

from . import derivation, sodium
from .errors import FormatError, Unopenable

MAGIC = b"MVSEG\x00\x00\x01"
HEADER_BYTES = 56
BLOCKS_AT = 88
GREATEST_LENGTH = 8_388_608
SMALLEST_BLOCK = 4096
GREATEST_BLOCK = 1 << 20


class ForeignHeader(FormatError):
    """The file's first 56 bytes are not those that the index requires: damaged or foreign."""


class WrongResourceKey(FormatError):
    """The header is right but its commitment is not: the resource key is another one."""


@dataclass(frozen=True)
class Segment:
    """What the index states about a segment; everything about its file follows from it."""

    id: bytes
    representation: bytes
    block_size: int
    start: int
    length: int

    @property
    def header(self):
        return MAGIC + struct.pack("<II", self.block_size, 0) + self.representation + self.id + struct.pack(
            "<Q", self.start)

    @property
    def block_count(self):
        return -(-self.length // self.block_size)

    @property
    def file_size(self):
        return BLOCKS_AT + self.length + sodium.TAG_BYTES * self.block_count

    @property
    def folder(self):
        return self.id[:1].hex()

    def plain_range(self, block):
        """Returns the half-open range of block `block` within the segment's plaintext."""
        return block * self.block_size, min(self.length, (block + 1) * self.block_size)

    def file_range(self, block):
        first, end = self.plain_range(block)
        offset = BLOCKS_AT + block * (self.block_size + sodium.TAG_BYTES)
        return offset, offset + end - first + sodium.TAG_BYTES


def is_block_size(size):
    return SMALLEST_BLOCK <= size <= GREATEST_BLOCK and size & (size - 1) == 0


def block_nonce(block):
    return bytes(4) + struct.pack("<Q", block)


def segment_key(resource_key, segment, head):
    """Returns the segment key, once `head` (the file's first 88 bytes) proves that this is the segment, under this
    resource key."""
    if head[:HEADER_BYTES] != segment.header:
        raise ForeignHeader("its header is not the one that the index calls for: a damaged or foreign file")
    key = derivation.segment_key(resource_key, segment.header)
    if head[HEADER_BYTES:BLOCKS_AT] != derivation.commitment(key):
        raise WrongResourceKey("its header is right but the key commitment is not: another resource key")
    return key


def open_block(key, segment, block, data):
    """Returns the plaintext of block `block`; `data` is its ciphertext and tag."""
    first, end = segment.plain_range(block)
    if len(data) != end - first + sodium.TAG_BYTES:
        raise Unopenable("The block is cut.")
    return sodium.open_sealed(key, block_nonce(block), data)


def make_file(resource_key, segment, plaintext):
    """Returns the whole file of a closed segment."""
    if len(plaintext) != segment.length:
        raise FormatError("The plaintext is not as long as the segment.")
    key = derivation.segment_key(resource_key, segment.header)
    parts = [segment.header, derivation.commitment(key)]
    for block in range(segment.block_count):
        first, end = segment.plain_range(block)
        parts.append(sodium.seal(key, block_nonce(block), plaintext[first:end]))
    return b"".join(parts)


def from_file(head, size):
    """Returns what an orphaned file states about itself: header fields, and the length that follows from its size."""
    if len(head) < BLOCKS_AT or head[:8] != MAGIC or head[12:16] != bytes(4):
        raise ForeignHeader("it does not begin with a segment header")
    block_size, = struct.unpack_from("<I", head, 8)
    start, = struct.unpack_from("<Q", head, 48)
    if not is_block_size(block_size) or start >= 2**63:
        raise ForeignHeader("its header has an impossible block size or start")
    blocks = -(-(size - BLOCKS_AT) // (block_size + sodium.TAG_BYTES))
    segment = Segment(head[32:48], head[16:32], block_size, start, size - BLOCKS_AT - sodium.TAG_BYTES * blocks)
    if not 0 <= segment.length <= GREATEST_LENGTH or segment.file_size != size:
        raise ForeignHeader("its size is not that of any segment with its block size")
    return segment
