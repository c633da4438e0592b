"""The acts that write, move, or destroy records: how each is prepared, what it may change, and when it is done."""

import os

from . import full_vault, written_index

DAMAGES = (("viewer", "record"), ("share", "record"), ("position", "record"), ("subscription", "record"),
           ("download", "record"), ("accessGrant", "record"), ("resource", "metadata"), ("representation", "info"),
           ("network", "record"), ("vault", "settings"))


class Act:
    """An act on a vault. `prepare` lets there be something to do; `line` is the command; `is_target` says which
    records it may change; `done` says, from all records, whether it did what it should. It may exit with `codes` if it
    has been done before. Once it is done, none of the sealed values in `former` is in a file of the vault."""

    codes, former = (0,), ()
    before = None  # what there was before `prepare` damaged it; None if it damages nothing

    def __init__(self, place):
        self.place, self.vault, self.dice = place, place.vault, place.dice

    def prepare(self):
        pass

    def is_target(self, kind, name):
        return False

    def done(self, found):
        return True

    def generations(self, state):
        return [item["number"] for item in self.place.generations() if item["state"] == state]


class Rewrap(Act):
    line = ("keys", "rewrap")

    def prepare(self):
        self.vault.result("keys", "rotate")

    def done(self, found):
        return not any(item["resources"] or item["records"] for item in self.place.generations()
                       if item["state"] == "active")


class Retire(Rewrap):
    def prepare(self):
        self.former = self.place.sealed("resourceKey", "wrapped") + self.place.sealed("viewer", "record")
        super().prepare()
        self.vault.result("keys", "rewrap")
        self.line = ("keys", "retire", str(self.generations("active")[0]))

    def done(self, found):
        return int(self.line[-1]) not in self.generations("active") + self.generations("retiring")


class Renew(Act):
    line = ("keys", "renew", "--min-age", "0", "--keep", "1")

    def done(self, found):
        return not self.generations("active")


class Locator(Act):
    line = ("keys", "rotate", "--locator")

    def prepare(self):
        _, self.title = self.place.small()
        self.resource = self.place.resource(self.title)

    def done(self, found):
        return self.place.resource(self.title) != self.resource


class RevokeRoot(Act):
    line = ("keys", "revoke-root")

    def is_target(self, kind, name):
        return kind in full_vault.GRANTS

    def done(self, found):
        return not self.generations("active") and not any(kind in full_vault.GRANTS for kind, _ in found)


class RespondToLeak(RevokeRoot):
    line = ("keys", "respond-to-leak", "--yes", "--limit-rate", "500M")


class Remove(Act):
    codes = (0, 6)
    word = "remove"

    def prepare(self):
        url, self.title = self.place.fetch()
        self.line = (self.word, url)

    def is_target(self, kind, name):
        return name.startswith(self.title)

    def done(self, found):
        return not any(self.is_target(*key) for key in found)


class Shred(Remove):
    word = "shred"

    def prepare(self):
        super().prepare()
        self.former = self.place.sealed("resourceKey", "wrapped", resource=self.place.resource(self.title))


class Repair(Act):
    """Repairs damage to one record, and to one block of a small title."""

    line = ("verify", "--repair")

    def prepare(self):
        was_served = self.place.stop()
        self.before = self.place.listed()
        written_index.damage(self.vault, *self.dice.choice(DAMAGES))
        self._flip()
        found, after = full_vault.listed(self.vault)
        self.damaged = {key for key, record in self.before.items() if after.get(key) != record}
        if not found or not self.damaged:
            raise AssertionError("nothing is damaged that was")
        self.place.start(was_served)

    def _flip(self):
        files = [os.path.join(parent, name) for parent, _, names in os.walk(os.path.join(self.vault.folder, "segments"))
                 for name in names]
        path = self.dice.choice(sorted(path for path in files if os.path.getsize(path) < 2 * full_vault.SMALL))
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)[0]
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last ^ 1]))

    def is_target(self, kind, name):
        return (kind, name) in self.damaged

    def done(self, found):
        return all(found.get(key) == self.before[key] for key in self.damaged)


class SetCredential(Act):
    def prepare(self):
        self.text = f"Bearer {self.dice.getrandbits(64):x}"
        self.line = ("config", "set", "header-for", full_vault.HOST, f"Authorization: {self.text}")

    def is_target(self, kind, name):
        return kind == "network"

    def done(self, found):
        return self.text in found["network", ""]


class UnsetCredential(SetCredential):
    def prepare(self):
        super().prepare()
        self.vault.result(*self.line)
        self.former = self.place.sealed("network", "record")
        self.line = ("config", "unset", "header-for", full_vault.HOST)

    def done(self, found):
        return "Bearer" not in found["network", ""]


class TakePIN(Act):
    def prepare(self):
        path = full_vault.secret_file(self.vault, "other", "9753124")
        self.vault.result("viewers", "pin", "Berta", "--pin-file", path)
        self.viewer = self.place.viewer("Berta")
        self.former = self.place.sealed("viewer", "record", id=bytes.fromhex(self.viewer))
        self.line = ("viewers", "pin", "Berta", "--none")

    def is_target(self, kind, name):
        return (kind, name) == ("viewer", self.viewer)

    def done(self, found):
        return "salt" not in found["viewer", self.viewer]


class RemoveViewer(TakePIN):
    codes = (0, 6)

    def prepare(self):
        self.vault.result("viewers", "add", "Clara", "--all")
        self.viewer = self.place.viewer("Clara")
        self.line = ("viewers", "remove", "Clara")

    def done(self, found):
        return ("viewer", self.viewer) not in found


class Rename(Act):
    """A change after which the catalog is written again when the vault is closed."""

    def prepare(self):
        url, self.title = self.place.small()
        self.line = ("rename", url, f"{self.dice.getrandbits(64):x}")

    def is_target(self, kind, name):
        return (kind, name) == ("title", self.title)

    def done(self, found):
        return self.line[-1] in found["title", self.title]


ACTS = (Rewrap, Retire, Renew, Locator, RevokeRoot, RespondToLeak, Shred, Remove, Repair, SetCredential,
        UnsetCredential, TakePIN, RemoveViewer, Rename)
