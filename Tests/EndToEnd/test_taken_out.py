"""A secret that its owner takes out of a running service is in none of the vault's files any more."""

import os

from harness import stored_records
from harness.case import VaultCase, each
from harness.control import KEYLESS

HOST = "media.example"


class TakenOut(VaultCase):
    def sealed(self, vault, kind):
        """Returns the sealed records of a kind in the index and in its backup."""
        return {value for table, _, value in stored_records.of_vault(vault) if table == kind}

    def assert_nowhere(self, vault, values):
        for name in os.listdir(vault.folder):
            path = os.path.join(vault.folder, name)
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                content = file.read()
            for value in values:
                # Pages may hold the middle of a record only.
                self.assertNotIn(value[40:140], content, f"a former record is still in {name}")

    @each("header-for", "pin")
    def test_taken_out(self, kind):
        """The former record is gone when the command ends ({})"""
        vault = self.served_vault()
        if kind == "pin":
            path = os.path.join(self.scratch, "pin.txt")
            with open(path, "w", encoding="ascii") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write("24681357\n")
            vault.result("viewers", "add", "Anna", "--pin-file", path, **KEYLESS)
            taking, table = (("viewers", "pin", "Anna", "--none"), "viewer")
        else:
            vault.result("config", "set", "header-for", HOST, "X-Role: clerk", **KEYLESS)
            taking, table = (("config", "unset", "header-for", HOST), "network")
        former = self.sealed(vault, table)
        self.assertTrue(former, "the record must be there before")
        vault.result(*taking, **KEYLESS)
        self.assertFalse(former & self.sealed(vault, table))
        self.assert_nowhere(vault, former)
