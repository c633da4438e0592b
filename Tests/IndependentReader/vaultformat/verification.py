"""Opens every block of a vault: which ranges are held, their bytes, and what is damaged."""

import hashlib
import os

from . import segment as segment_file
from .errors import FormatError, Unopenable


def segment_path(vault, segment):
    return os.path.join(vault, "segments", segment.folder, segment.id.hex())


def runs(vault, stored, fault):
    """Yields (offset in the representation, plaintext) for each block that opens; calls `fault` with one sentence per
    fault."""
    segment, name = stored.segment, stored.segment.id.hex()
    if segment.length == 0:
        return
    try:
        file = open(segment_path(vault, segment), "rb")
    except OSError as error:
        fault(f"Segment {name} cannot be read: {error.strerror}.")
        return
    with file:
        size = os.fstat(file.fileno()).st_size
        if size < segment.file_size or stored.closed and size != segment.file_size:
            fault(f"The file of segment {name} has {size} bytes where its row calls for {segment.file_size}.")
        try:
            key = segment_file.segment_key(stored.resource_key, segment, file.read(segment_file.BLOCKS_AT))
        except FormatError as error:
            fault(f"Segment {name} is not opened: {error}.")
            return
        for block in range(segment.block_count):
            if block in stored.bad_blocks:
                continue
            offset, end = segment.file_range(block)
            file.seek(offset)
            try:
                yield (segment.start + segment.plain_range(block)[0],
                       segment_file.open_block(key, segment, block, file.read(end - offset)))
            except Unopenable as error:
                fault(f"Block {block} of segment {name} does not open: {error}")


class Held:
    """Joins blocks in ascending order into runs without gaps, and hashes each run as it grows."""

    def __init__(self):
        self.ranges = []
        self._hashes = []

    def add(self, offset, data):
        if not self.ranges or self.ranges[-1][1] != offset:
            self.ranges.append([offset, offset])
            self._hashes.append(hashlib.sha256())
        self.ranges[-1][1] += len(data)
        self._hashes[-1].update(data)

    @property
    def digests(self):
        return [item.hexdigest() for item in self._hashes]

    @property
    def bytes(self):
        return sum(end - first for first, end in self.ranges)


def verify(vault, representation, fault, write=None, changed=lambda stored: False):
    """Returns the held ranges of one representation; `write(offset, data)` receives every byte that opened.

    If a damaged segment's row has `changed` meanwhile, a running writer moved it: a gap in this snapshot, not damage.
    """
    held = Held()
    first, end = representation.window or (0, 2**63)
    for stored in representation.segments:
        sentences = []
        for offset, data in runs(vault, stored, sentences.append):
            data = data[max(0, first - offset):max(0, end - offset)]
            offset = max(offset - first, 0)
            if not data:
                continue
            held.add(offset, data)
            if write:
                write(offset, data)
        if sentences and not changed(stored):
            for sentence in sentences:
                fault(sentence)
    return held


def unknown_files(vault, known):
    """Yields notices about the folder: missing segment folders, files without a row, and wrong modes."""
    for byte in range(256):
        folder = os.path.join(vault, "segments", f"{byte:02x}")
        if not os.path.isdir(folder):
            yield f"The folder segments/{byte:02x} is missing."
            continue
        for name in sorted(os.listdir(folder)):
            if name not in known:
                yield f"No row names the file segments/{byte:02x}/{name}."
    for folder, _, files in os.walk(vault):
        for path, wanted in [(folder, 0o700)] + [(os.path.join(folder, name), 0o600) for name in files]:
            try:
                mode = os.lstat(path).st_mode & 0o777
            except FileNotFoundError:
                continue
            if mode != wanted:
                yield f"{os.path.relpath(path, vault)} has mode {mode:o}, not {wanted:o}."
