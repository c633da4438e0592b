"""A full vault on which acts are carried out, by a service or by commands alone."""

import contextlib
import json
import os
import sqlite3

from . import control, full_vault


class Place:
    """A vault with records of every kind, and an origin from which more titles come."""

    def __init__(self, vault, origin, dice):
        self.vault, self.origin, self.dice, self.fetched = vault, origin, dice, 0

    def is_served(self):
        return self.vault.service is not None and self.vault.service.process.poll() is None

    def start(self, served):
        """Lets a service run, or none."""
        if served and not self.is_served():
            self.vault.serve()
        elif not served:
            self.stop()

    def stop(self):
        """Stops the service; returns whether one was running."""
        was_served = self.is_served()
        self.vault.stop()
        return was_served

    def listed(self):
        """Returns all that the vault has, which must be without damage."""
        found, records = full_vault.listed(self.vault)
        if found:
            raise AssertionError(f"the vault is damaged: {found}")
        return records

    def has_a_catalog(self):
        """Whether a copy of the catalog is there and has no fault."""
        there = [name for name in full_vault.CATALOGS if os.path.exists(os.path.join(self.vault.folder, name))]
        return any(not full_vault.catalog_faults(self.vault, name) for name in there)

    def sealed(self, table, column, **row):
        """Returns the sealed values of a column, of one row or of all; they are in a file of the vault."""
        where = "".join(f" WHERE {name} = ?" for name in row)
        with contextlib.closing(sqlite3.connect(f"file:{self.vault.folder}/index.sqlite?mode=ro", uri=True)) as index:
            values = [value for value, in index.execute(f"SELECT {column} FROM {table}{where}", list(row.values()))]
        if not values or len(self.remaining(values)) != len(values):
            raise AssertionError(f"the search misses a value of {table} that is there")
        return values

    def remaining(self, values):
        """Returns which sealed values are in one of the vault's files. Pages may hold the middle of one only."""
        found = set()
        for item in os.scandir(self.vault.folder):
            if item.is_file():
                with open(item.path, "rb") as file:
                    content = file.read()
                found |= {value for value in values if value[:60][-40:] in content or value[40:140] in content}
        return found

    def fetch(self):
        """Fetches a new small title, shares it, gives it a cover, and notes a position if a service runs."""
        self.fetched += 1
        url = self.origin.add(f"new-{self.fetched}.mp4", size=full_vault.SMALL, seed=5000 + self.fetched)
        self.vault.result("fetch", url)
        title = self.vault.info(url)["id"]
        self.vault.result("share", url, "--with", full_vault.VIEWER)
        self.vault.result("cover", url, os.path.join(self.vault.base, "cover.png"))
        if self.is_served():
            control.ask(self.vault, "PUT", f"resources/{title}/position", {"seconds": 3, "duration": 60})
        return url, title

    def small(self):
        """Returns the URL and the id of a small title."""
        url = self.origin.url("small-3.mp4")
        return url, self.vault.info(url)["id"]

    def admit_again(self, records):
        """Creates a token, a named link and a session if an act has revoked them."""
        if not any(kind in full_vault.GRANTS for kind, _ in records):
            self.start(True)
            full_vault.admit(self.vault, self.origin.url("small-1.mp4"))

    def generations(self):
        """Returns the generations of keys, and what needs each."""
        return self._keys()["generations"]

    def unfinished(self):
        """Returns what key operations have still to do."""
        return {name: what for name, what in self._keys().items()
                if name in ("act", "locatorChanging", "reseal", "shreds") and what}

    def _keys(self):
        return json.loads(self.vault.result("keys", "list", "--json"))

    def resource(self, title):
        """Returns the id of the resource of a title."""
        _, _, resources = full_vault.faults(self.vault)
        return next(bytes.fromhex(item["id"]) for item in resources if item["titleID"] == title)

    def viewer(self, name):
        """Returns the id of a viewer."""
        told = json.loads(self.vault.result("viewers", "list", "--json"))["viewers"]
        return next(item["id"] for item in told if item["name"] == name)

    def differing(self, before, act):
        """Returns what is wrong with the vault, which records are not as before, but for those that the act may
        change, and all records."""
        found, records = full_vault.listed(self.vault)
        if not any(os.path.exists(os.path.join(self.vault.folder, name))
                   and not any(sentence.startswith(f"{name}: ") for sentence in found) for name in full_vault.CATALOGS):
            found.append("No copy of the catalog is whole.")
        return found, sorted(f"{kind} {name}: {before.get((kind, name))} became {records.get((kind, name))}"
                             for kind, name in before.keys() | records.keys()
                             if before.get((kind, name)) != records.get((kind, name)) and not act.is_target(kind, name)
                             ), records
