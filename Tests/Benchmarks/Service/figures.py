"""The figures: what is measured, what it is compared with, and its bound."""

import dataclasses
import os
import statistics

from harness import client
from harness.delaying_origin import DelayingOrigin
from harness.vault import Vault
from harness.waiting import eventually, settled

import hls_title
import measuring
from programs import Program
from servers import BOUND

READERS, IDLE = 50, 1000
FAR = 0.02  # seconds
MIB = 1 << 20


@dataclasses.dataclass
class Sizes:
    """How much is measured."""
    film: int = 512 * MIB
    fills: int = 5
    starts: int = 100
    pictures: int = 25
    ranges: int = 5
    range_seconds: int = 5
    keys: int = 100_000
    reseals: tuple = (256, 5)  # MiB of a title, and how many times it is resealed

    @classmethod
    def quick(cls):
        return cls(
            film=128 * MIB, fills=3, starts=30, pictures=15, ranges=3, range_seconds=2, keys=20_000, reseals=(64, 3))


class BoundVault(Vault):
    launcher = BOUND


class Bench:
    """The servers, the media files on them, and vaults that are created on demand."""

    FILM, CLIP, CLIP_BYTES = "film.bin", "clip.bin", MIB

    def __init__(self, binary, folder, servers, sizes):
        self.binary, self.folder, self.servers, self.sizes = binary, folder, servers, sizes
        self._queries, self._places, self._vaults = 0, 0, []
        self._rewrap = Program("rewrap-keys", str(sizes.keys))
        self._reseal = Program("reseal-held-title", *map(str, sizes.reseals))
        self._rewrite = Program("rewrite-playlist")

    def make_films(self):
        for name, size in ((self.FILM, self.sizes.film), (self.CLIP, self.CLIP_BYTES)):
            with open(os.path.join(self.servers.media, name), "wb") as file:
                for _ in range(size // MIB):
                    file.write(os.urandom(MIB))
                os.fsync(file.fileno())

    def target(self, name):
        """Returns a target for a media file that no request has used yet."""
        self._queries += 1
        return f"{name}?title={self._queries}"

    def served_vault(self):
        self._places += 1
        vault = BoundVault(self.binary, os.path.join(self.folder, f"vault-{self._places}")).init()
        self._vaults.append(vault)
        vault.serve()
        return vault

    def stop(self):
        for vault in self._vaults:
            vault.stop()

    # Each figure returns the service's value, the value beside it, the result, its bound, and whether that is met.

    def shaped_fill(self):
        """cold fill, origin at 200 MiB/s: service ÷ straight"""
        return self._fill("shaped", "shaped", 0.90)

    def unshaped_fill(self):
        """cold fill: service ÷ nginx slice on gocryptfs"""
        return self._fill("plain", "peer", 2)

    def _fill(self, origin, other, bound):
        """Fills a vault from the origin and compares it with the other server; each title is requested once."""
        vault = self.served_vault()

        def service_rate():
            url = self.servers.url(origin, self.target(self.FILM))
            address = vault.address(url)
            os.sync()  # this side must not wait for writes that the other side left behind
            rate = measuring.stream_rate(address, self.sizes.film)
            if not eventually(lambda: vault.info(url)["bytes"] == self.sizes.film):
                raise RuntimeError("the film was played whole and is not held whole")
            return rate

        def other_rate():
            address = self.servers.url(other, self.target(self.FILM))
            os.sync()
            return measuring.stream_rate(address, self.sizes.film)

        client.digest(vault.address(self.servers.url(origin, self.target(self.CLIP))))
        rates = measuring.pairs(self.sizes.fills, service_rate, other_rate)
        vault.stop()
        ratio = measuring.median_ratio(*rates)
        shown = [f"{statistics.median(side) / 1e6:.0f} MB/s" for side in rates]
        return *shown, f"{ratio:.2f}", f">= {bound}", ratio >= bound

    def first_byte(self):
        """first byte of a cold start: service − straight"""
        vault = self.served_vault()

        def straight():
            return self.servers.url("plain", self.target(self.CLIP))

        first, *fresh = (vault.address(straight()) for _ in range(1 + self.sizes.starts))
        measuring.first_byte_seconds(first)  # the first request of the process is slower, and not part of the figure
        seconds = measuring.pairs(
            self.sizes.starts, lambda: measuring.first_byte_seconds(fresh.pop()),
            lambda: measuring.first_byte_seconds(straight()))
        vault.stop()
        shown = [f"{1e3 * statistics.median(side):.2f} ms" for side in seconds]
        later = 1e3 * statistics.median(own - others for own, others in zip(*seconds))
        return *shown, f"{later:.2f} ms", "<= 5 ms", later <= 5

    def first_picture(self):
        """first picture of a cold HLS title in ffmpeg: service ÷ straight"""
        hls_title.make(self.servers.media)
        return self._picture(lambda path: self.servers.url("plain", path))

    def first_picture_far(self):
        """the same, origin 20 ms away: service ÷ straight"""
        hls_title.make(self.servers.media)
        origin = DelayingOrigin(hls_title.Files(self.servers.media), FAR)
        try:
            return self._picture(lambda path: f"http://127.0.0.1:{origin.port}/{path}")
        finally:
            origin.stop()

    def _picture(self, url):
        """Compares first pictures; each title is requested once."""
        vault = self.served_vault()

        def fresh():
            self._queries += 1
            return url(f"copy-{self._queries}/{hls_title.MANIFEST}")

        warming, *addresses = (vault.address(fresh()) for _ in range(1 + self.sizes.pictures))
        measuring.first_picture_seconds(warming)
        measuring.first_picture_seconds(fresh())
        seconds = measuring.pairs(
            self.sizes.pictures, lambda: measuring.first_picture_seconds(addresses.pop()),
            lambda: measuring.first_picture_seconds(fresh()))
        vault.stop()
        ratio = measuring.median_ratio(*seconds)
        shown = [f"{1e3 * statistics.median(side):.0f} ms" for side in seconds]
        return *shown, f"{ratio:.2f}", "<= 1.2", ratio <= 1.2

    def warm_ranges(self):
        """warm, 8 clients × random 256 KiB: service ÷ nginx slice on gocryptfs"""
        return self._warm(self._rate, "peer", self.target(self.FILM), 2.5)

    def warm_ranges_of_rclone(self):
        """warm, 8 clients × random 256 KiB: service ÷ rclone serving crypt"""
        self.servers.start_rclone(self.FILM)
        return self._warm(self._rate, "rclone", self.FILM, 20)

    def _rate(self, address):
        return measuring.random_ranges(
            address, self.sizes.film, os.path.join(self.folder, "ranges.lua"), self.sizes.range_seconds)

    def _warm(self, measure, other, target, bound):
        addresses, vault = self._warmed(other, target)
        rates = measuring.pairs(self.sizes.ranges, *(lambda it=address: measure(it) for address in addresses))
        vault.stop()
        ratio = measuring.median_ratio(*rates)
        return *(f"{statistics.median(side):.0f} /s" for side in rates), f"{ratio:.2f}", f">= {bound}", ratio >= bound

    def _warmed(self, other, target):
        """Returns the addresses of a media file that both sides hold completely."""
        vault = self.served_vault()
        addresses = vault.address(self.servers.url("plain", target)), self.servers.url(other, target)
        digests = [client.digest(address) for address in addresses]
        if digests[0] != digests[1]:
            raise RuntimeError("the two sides give different bytes")
        os.sync()
        return addresses, vault

    def short_range(self):
        """warm, one client, random 64 KiB, median: service ÷ nginx slice, plain text"""
        addresses, vault = self._warmed("slice", self.target(self.FILM))
        script = os.path.join(self.folder, "ranges.lua")
        times = measuring.pairs(self.sizes.ranges, *(
            lambda it=address: measuring.range_latency(it, self.sizes.film, script, self.sizes.range_seconds)
            for address in addresses))
        vault.stop()
        ratio = measuring.median_ratio(*times)
        return *(f"{1e6 * statistics.median(side):.0f} us" for side in times), f"{ratio:.2f}", "<= 2", ratio <= 2

    def idle_clients(self):
        """memory with 1000 idle keep-alive clients: after − before, at most"""
        vault = self.served_vault()
        address = vault.address(self.servers.url("plain", self.target(self.CLIP)))
        client.digest(address)
        before = settled(vault.service.memory, MIB)
        clients = [client.Stream(address, "bytes=0-1023") for _ in range(IDLE)]
        try:
            for reader in clients:
                if reader.status != 206 or len(reader.read(1 << 20)) != 1024:
                    raise RuntimeError(f"a client was answered {reader.status} or got other bytes")
            after = settled(vault.service.memory, MIB, quiet=3)
        finally:
            for reader in clients:
                reader.close()
        vault.stop()
        more = (after - before) / 1e6
        return f"{after / 1e6:.0f} MB", f"{before / 1e6:.0f} MB", f"{more:.1f} MB", "<= 30 MB", more <= 30

    def paused_readers(self):
        """memory with 50 paused readers of an HTTP/2 origin, before, at most"""
        vault = self.served_vault()
        addresses = [vault.address(self.servers.url("http2", self.target(self.FILM))) for _ in range(READERS)]
        before = settled(vault.service.memory, MIB)
        readers = [client.Stream(address, receive_buffer=65_536) for address in addresses]
        try:
            for reader in readers:
                if reader.status != 200 or len(reader.read(65_536)) != 65_536:
                    raise RuntimeError(f"a reader was answered {reader.status} or got no bytes")
            paused = settled(vault.service.memory, MIB, quiet=3)
            peak = vault.service.memory("VmHWM")
        finally:
            for reader in readers:
                reader.close()
        vault.stop()
        protocols = eventually(self.servers.protocols, lambda found: len(found) >= READERS)
        if len(protocols) < READERS or set(protocols) != {"HTTP/2.0"}:
            raise RuntimeError(f"the origin was to be asked {READERS} times in HTTP/2; it noted {protocols}")
        most = max(paused, peak)
        shown = [f"{size / 1e6:.0f} MB" for size in (paused, before, most)]
        return *shown, "<= 120 MB", most <= 120e6

    def rewrap(self):
        """keys rewrap of 100 000 titles (20 000 with --quick)"""
        return self._rewrap.figure("rewrap of", self.folder)

    def rewrap_traffic(self):
        """media bytes read and written by it"""
        return self._rewrap.figure("media bytes", self.folder)

    def list_keys(self):
        """keys list while a reseal of all of them is ordered"""
        return self._rewrap.figure("keys list", self.folder)

    def reseal(self):
        """keys reseal of a held title: libsodium's open and seal ÷ reseal"""
        return self._reseal.figure("libsodium", self.folder)

    def warm_reader(self):
        """warm reader beside a reseal of 50 MB/s ÷ alone"""
        return self._reseal.figure("warm reader", self.folder)

    def rewrite(self):
        """rewriting an HLS playlist of 10 000 segments"""
        return self._rewrite.figure("10 000 segments, absolute URLs", self.folder)

    def rewrite_long(self):
        """rewriting an HLS playlist of 100 000 segments"""
        return self._rewrite.figure("100 000 segments, absolute URLs", self.folder)

    def rewrite_timeline(self):
        """rewriting a DASH timeline of 100 000 segments"""
        return self._rewrite.figure("100 000 segments, DASH timeline", self.folder)

    def rewrite_list(self):
        """rewriting a DASH list of 100 000 segments"""
        return self._rewrite.figure("100 000 segments, DASH list", self.folder)


FIGURES = {
    "a": Bench.shaped_fill, "b": Bench.unshaped_fill, "c": Bench.first_byte, "d": Bench.warm_ranges,
    "e": Bench.paused_readers, "f": Bench.warm_ranges_of_rclone, "g": Bench.short_range, "h": Bench.idle_clients,
    "i": Bench.rewrap, "j": Bench.rewrap_traffic, "k": Bench.list_keys, "l": Bench.reseal, "m": Bench.warm_reader,
    "n": Bench.rewrite, "o": Bench.rewrite_long, "p": Bench.rewrite_timeline, "q": Bench.rewrite_list,
    "r": Bench.first_picture, "s": Bench.first_picture_far,
}
