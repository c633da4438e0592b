#!/usr/bin/env python3
"""Searches a vault folder for anything readable.

    search_plaintext.py VAULT [--media FILE...] [--strings FILE] [--secrets FILE...]
    search_plaintext.py --self-test

Finds, in the bytes of every file under VAULT at any alignment,
- any 16 consecutive bytes of a media file that have at least 8 different values;
- any line of the strings file, unchanged, in lower or upper case, in UTF-16, hex, base64 (every alignment), or
  percent-encoded; names of files and folders are searched too;
- the bytes of any secrets file (a key), raw, in hex or base64.
Exit codes: 0 nothing found, 1 something found (one line each), 2 usage or an unreadable file.

Method for media: 16 bytes at any offset contain one whole 8-byte word at a multiple of 8 in the media file. So the
words of the media at stride 8 are the needles, and each 8 bytes of the vault, at stride 1, are looked up among them;
for each match, the nine 16-byte windows around it are compared. Nothing is sampled, so nothing is missed.
Needs numpy (Debian: python3-numpy). Memory: about four times the media, plus the largest file.
"""

import argparse
import base64
import concurrent.futures
import os
import sys
import tempfile
import urllib.parse

try:
    import numpy
except ImportError:
    sys.exit("search_plaintext.py needs numpy: install the package python3-numpy.")

WINDOW, WORD, LEAST_VALUES = 16, 8, 8
CHUNK, BATCH = 1 << 22, 1 << 18
ALIGNED, EVERY_OFFSET = (0,), range(WORD)
MOST_FINDINGS = 20
SHORTEST_STRING = 6
_MIX = numpy.uint64(0x9E3779B97F4A7C15)
_WINDOW_BYTES = numpy.dtype((numpy.void, WINDOW))


class Words:
    """A set of 8-byte words: a table of hashes rejects most words quickly, the sorted words decide the rest."""

    def __init__(self, words):
        self.sorted = numpy.sort(words)  # duplicates do no harm; numpy.unique takes minutes for a large file
        bits = min(30, max(10, (8 * len(self.sorted)).bit_length()))
        self._shift = numpy.uint64(64 - bits)
        self._table = numpy.zeros(1 << bits, dtype=bool)
        for first in range(0, len(words), CHUNK):
            self._table[self._slots(words[first:first + CHUNK])] = True

    def _slots(self, words):
        return ((words * _MIX) >> self._shift).astype(numpy.int64)

    def places(self, words):
        """Returns the indices of the members of the set among `words`."""
        if not len(self.sorted):
            return numpy.zeros(0, dtype=numpy.int64)
        likely = numpy.nonzero(self._table[self._slots(words)])[0]
        likely = likely[numpy.argsort(words[likely])]  # in order, so the binary searches stay in the processor's cache
        nearest = numpy.searchsorted(self.sorted, words[likely])
        nearest[nearest == len(self.sorted)] = 0
        return numpy.sort(likely[self.sorted[nearest] == words[likely]])


def read(path):
    """Returns the bytes of a file; none if a running writer has removed it since the folder was listed."""
    try:
        return numpy.fromfile(path, dtype=numpy.uint8)
    except FileNotFoundError:
        return numpy.zeros(0, dtype=numpy.uint8)


def words_at(data, shifts):
    """Yields chunks of the words of `data` that are `shifts` bytes off multiples of 8: (offset of the first, words)."""
    for shift in shifts:
        count = max(0, len(data) - shift) // WORD
        for first in range(0, count, CHUNK):
            at, size = shift + first * WORD, min(CHUNK, count - first)
            yield at, data[at:at + size * WORD].view("<u8").astype(numpy.uint64)


def windows_around(data, positions):
    """Returns the 16-byte windows that contain the word at each position and have 8 or more values: (offsets,
    windows)."""
    offsets = (positions[:, None] + numpy.arange(WORD - WINDOW, 1)[None, :]).ravel()
    offsets = offsets[(offsets >= 0) & (offsets <= len(data) - WINDOW)]
    rows = data[offsets[:, None] + numpy.arange(WINDOW)[None, :]]
    ordered = numpy.sort(rows, axis=1)
    rich = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1) >= LEAST_VALUES
    return offsets[rich], numpy.ascontiguousarray(rows[rich]).view(_WINDOW_BYTES).ravel()


def candidates(data, needles, shifts):
    """Yields batches of (offsets, windows) of `data` that contain a needle; small batches bound the memory."""
    for at, words in words_at(data, shifts):
        hits = needles.places(words)
        for first in range(0, len(hits), BATCH):
            offsets, windows = windows_around(data, at + hits[first:first + BATCH] * WORD)
            if len(offsets):
                yield offsets.tolist(), windows.tolist()


def suspects(vault_files, needles):
    """Yields batches of {window: (file, offset)}: the vault's windows that contain a media word."""
    batch = {}
    for path in vault_files:
        for offsets, windows in candidates(read(path), needles, EVERY_OFFSET):
            batch.update((bytes(window), (path, offset)) for offset, window in zip(offsets, windows))
            if len(batch) >= BATCH:
                yield batch
                batch = {}
    if batch:
        yield batch


def inner_words(windows):
    """Returns every 8-byte word of the windows, at any alignment."""
    rows = numpy.frombuffer(b"".join(windows), dtype=numpy.uint8).reshape(-1, WINDOW)
    return numpy.concatenate([
        numpy.ascontiguousarray(rows[:, shift:shift + WORD]).view("<u8").ravel().astype(numpy.uint64)
        for shift in range(WINDOW - WORD + 1)])


def search_media(vault_files, media_files):
    """Returns one sentence for each window of the media that occurs in the vault."""
    if not media_files:
        return []
    needles = Words(numpy.concatenate([words for path in media_files for _, words in words_at(read(path), ALIGNED)]))
    findings = {}
    for batch in suspects(vault_files, needles):
        near = Words(inner_words(batch))
        for path in media_files:
            for offsets, windows in candidates(read(path), near, ALIGNED):
                for offset, window in zip(offsets, windows):
                    if bytes(window) in batch:
                        file, place = batch[bytes(window)]
                        sentence = f"{file}: 16 bytes at offset {place} are those at offset {offset} of {path}."
                        findings[sentence] = None  # neighbouring words share windows
                        if len(findings) == MOST_FINDINGS:
                            return list(findings)
    return list(findings)


def base64_forms(data):
    """Yields what is the same in every base64 text that contains `data`, at each of its three alignments."""
    for before, cut in ((0, 0), (1, 2), (2, 3)):
        text = base64.b64encode(bytes(before) + data)
        whole = (before + len(data)) * 8 // 6
        yield text[cut:whole]
        yield text[cut:whole].translate(bytes.maketrans(b"+/", b"-_"))


def secret_forms(data):
    return {data, data.hex().encode(), data.hex().upper().encode(), *base64_forms(data)}


def string_forms(text):
    forms = set()
    for variant in (text, text.lower(), text.upper()):
        data = variant.encode("utf-8")
        quoted = urllib.parse.quote(variant, safe="").encode()
        forms |= {data, variant.encode("utf-16-le"), variant.encode("utf-16-be"), quoted, quoted.lower(),
                  urllib.parse.quote(variant).encode(), urllib.parse.quote_plus(variant).encode(),
                  "".join(f"%{byte:02X}" for byte in data).encode(), variant.replace("/", "\\/").encode("utf-8")}
    return forms | secret_forms(text.encode("utf-8"))


class Patterns:
    """Byte strings to search for, found by their first 8 bytes; shorter ones by plain search."""

    def __init__(self):
        self.names = {}

    def add(self, forms, name):
        for form in forms:
            self.names.setdefault(form, name)

    def search(self, path, data):
        content = data.tobytes()
        found = {pattern for pattern in self.names if len(pattern) < WORD and pattern in content}
        by_word = {}
        for pattern in self.names:
            if len(pattern) >= WORD:
                by_word.setdefault(int.from_bytes(pattern[:WORD], "little"), []).append(pattern)
        firsts = Words(numpy.array(sorted(by_word), dtype=numpy.uint64))
        for at, words in words_at(data, EVERY_OFFSET) if by_word else ():
            for place in firsts.places(words).tolist():
                offset = at + place * WORD
                found |= {pattern for pattern in by_word[int(words[place])] if content.startswith(pattern, offset)}
        return [f"{path}: {name} is readable in it." for name in sorted({self.names[item] for item in found})]


def files_under(folder):
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(parent, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def search(vault, media, strings, secrets):
    """Returns one sentence for each finding. Strings and secrets are identified by number, not shown."""
    patterns = Patterns()
    for number, text in strings:
        patterns.add(string_forms(text), f"string {number}")
    for path in secrets:
        with open(path, "rb") as file:
            patterns.add(secret_forms(file.read()), f"the secret of {path}")
    for path in media:
        if os.path.getsize(path) < WINDOW:
            raise OSError(f"{path} is shorter than {WINDOW} bytes.")
    paths = list(files_under(vault))
    if not paths:
        raise OSError(f"There is no file under {vault}.")
    with concurrent.futures.ProcessPoolExecutor(1) as other:  # the two searches take about the same time
        readable = other.submit(search_patterns, vault, paths, patterns)
        return search_media(paths, media) + readable.result()


def search_patterns(vault, paths, patterns):
    """Returns one sentence for each file, and each name of a file, in which a pattern occurs."""
    findings = []
    for path in paths:
        findings += patterns.search(path, read(path))
        name = os.path.relpath(path, vault).encode("utf-8", "surrogateescape")
        findings += patterns.search(f"the name of {path}", numpy.frombuffer(name, dtype=numpy.uint8))
    return findings


def read_strings(path):
    """Returns (line number, string) of each line, without blank lines."""
    with open(path, encoding="utf-8") as file:
        strings = [(number, line.strip("\r\n")) for number, line in enumerate(file, 1) if line.strip()]
    for number, text in strings:
        if len(text) < SHORTEST_STRING:
            raise OSError(f"String {number} has less than {SHORTEST_STRING} characters: chance would find it.")
    return strings


def self_test():
    """Plants windows and strings in difficult places and finds each one; finds nothing in clean data."""
    random = numpy.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        vault, media_path = os.path.join(folder, "vault"), os.path.join(folder, "media")
        os.mkdir(vault)
        media = random.integers(0, 256, 300_000, dtype=numpy.uint8)
        media[1000:5000] = 0  # few different values, and common in any database
        media[5004:5008], media[5016:5020] = [1, 2, 3, 4], [5, 6, 7, 8]
        media[5008:5016] = 0  # the only whole word is zeros, but the window around it has many values
        media.tofile(media_path)

        def trial(name, content, expected, strings=()):
            content.tofile(os.path.join(vault, "file"))
            found = search(vault, [media_path], strings, [])
            if bool(found) != expected:
                raise SystemExit(f"self-test: {name}: {'not found' if expected else found}")

        clean = random.integers(0, 256, 200_001, dtype=numpy.uint8)
        clean[70_000:90_000] = 0
        trial("nothing planted", clean, False, [(1, "media.example/film")])
        for offset in (0, 1, 3, 8, 12_345, 99_999, len(media) - WINDOW):
            for place in (0, 7, 50_001, len(clean) - WINDOW):
                planted = clean.copy()
                planted[place:place + WINDOW] = media[offset:offset + WINDOW]
                trial(f"window {offset} at {place}", planted, True)
                planted[place + WORD] ^= 1
                trial(f"window {offset} at {place} less one bit", planted, False)
        planted = clean.copy()
        planted[60_001:60_017] = media[5004:5020]
        trial("a rich window around a poor word", planted, True)
        for form in sorted(string_forms("Media.example/film é")):
            planted = clean.copy()
            planted[60_001:60_001 + len(form)] = numpy.frombuffer(form, dtype=numpy.uint8)
            trial(f"the form {form!r}", planted, True, [(1, "Media.example/film é")])
    print("self-test: all planted bytes found, none where none were planted")


def main(arguments):
    parser = argparse.ArgumentParser(description="Searches a vault folder for anything readable.")
    parser.add_argument("vault", nargs="?")
    parser.add_argument("--media", nargs="+", default=[])
    parser.add_argument("--strings")
    parser.add_argument("--secrets", nargs="+", default=[])
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args(arguments)
    if options.self_test:
        self_test()
        return 0
    if not options.vault or not (options.media or options.strings or options.secrets):
        parser.error("name a vault, and media, strings or secrets to look for")
    findings = search(options.vault, options.media, read_strings(options.strings) if options.strings else [],
                      options.secrets)
    for sentence in findings or ["Nothing readable was found."]:
        print(sentence)
    return 1 if findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
