"""What checks with crowds of clients share: a service that holds a title, and what it has open and allocated."""

import os

from . import client
from .case import VaultCase
from .waiting import eventually, settled

SIZE = 8 << 20


class Crowd(VaultCase):
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.service.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.service.process.pid}/task"))

    def processor_time(self):
        with open(f"/proc/{self.service.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def served(self, name, *options):
        """Serves a held title, and returns its playback link and its bytes."""
        origin, self.vault = self.new_scripted_origin(), self.new_vault()
        url = origin.add(name, size=SIZE, seed=3)
        self.service = self.vault.serve(*options)
        address = self.vault.address(url)
        client.digest(address)
        return address, origin.film(name).content

    def assert_back(self, before_memory, before_descriptors):
        left = eventually(self.descriptors, lambda count: count <= before_descriptors, within=75)
        self.assertLessEqual(left, before_descriptors, "descriptors leaked")
        return settled(self.service.memory, 65_536) - before_memory
