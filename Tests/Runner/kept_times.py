"""How long each part, module and check of a run took, kept from run to run in one file."""

import contextlib
import fcntl
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Times:
    path = os.path.join(ROOT, ".build", "test-logs", "times.json")
    kinds = ("parts", "modules", "checks")

    def __init__(self, path=path):
        self.path, self._new = path, {kind: {} for kind in self.kinds}
        self._kept = self._read()

    def _read(self):
        """Returns what earlier runs kept; nothing if that is damaged, because no run may fail for its times."""
        try:
            with open(self.path, encoding="utf-8") as file:
                kept = json.load(file)
            return {kind: {name: float(seconds) for name, seconds in kept[kind].items()} for kind in self.kinds}
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return {kind: {} for kind in self.kinds}

    def add(self, kind, name, seconds):
        self._new[kind][name] = round(seconds, 3)

    def of(self, kind, name, otherwise=0.0):
        """Returns how long something took the last time."""
        return self._kept[kind].get(name, otherwise)

    def keep(self):
        """Writes the times of this run over those of earlier runs; others stay. If that fails, they are lost."""
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with self._locked():
                kept, written = self._read(), self.path + ".new"
                for kind in self.kinds:
                    kept[kind].update(self._new[kind])
                with open(written, "w", encoding="utf-8") as file:
                    json.dump(kept, file, indent=1, sort_keys=True)
                os.replace(written, self.path)

    @contextlib.contextmanager
    def _locked(self):
        """Keeps other parts of the run from writing meanwhile."""
        with open(self.path + ".lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def slowest(self, count, *kinds):
        """Returns the names of what took longest since this object was made, here or in another process that has kept
        its times, with the seconds."""
        now = self._read()
        found = [(seconds, name) for kind in kinds for name, seconds in (now[kind] | self._new[kind]).items()
                 if name in self._new[kind] or self._kept[kind].get(name) != seconds]
        return [(name, seconds) for seconds, name in sorted(found, reverse=True)[:count]]
