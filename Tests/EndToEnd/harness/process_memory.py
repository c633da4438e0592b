"""What root can read in the memory of a process: every readable mapping in its current state."""

import collections
import os

Mapping = collections.namedtuple("Mapping", "start end readable flags name")
Find = collections.namedtuple("Find", "address mapping")

_AT_A_TIME = 16 << 20


def mappings(pid):
    """Returns all mappings of a process with the kernel's flags: `lo` is locked, `dd` is excluded from core files."""
    found, head = [], None
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                start, end = (int(part, 16) for part in words[0].split("-"))
                head = (start, end, words[1].startswith("r"), words[5] if len(words) > 5 else "")
            elif words[0] == "VmFlags:":
                found.append(Mapping(*head[:3], frozenset(words[1:]), head[3]))
    return found


def search(pid, keys):
    """Returns the finds of each key, by name. Half a key counts: a register spilled to the stack holds no more."""
    finds = {name: [] for name in keys}
    halves = [(name, key[at:at + 16]) for name, key in keys.items() for at in (0, 16)]
    read = 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for mapping in mappings(pid):
            if not mapping.readable or mapping.name.startswith("[vv"):
                continue
            for place in range(mapping.start, mapping.end, _AT_A_TIME):
                end = min(mapping.end, place + _AT_A_TIME + 15)
                data = os.pread(memory.fileno(), end - place, place)
                read += len(data)
                for name, needle in halves:
                    at = data.find(needle)
                    while at >= 0 and at < _AT_A_TIME:
                        finds[name].append(Find(place + at, mapping))
                        at = data.find(needle, at + 1)
    if not read:
        raise AssertionError("nothing of the process's memory can be read")
    return finds
