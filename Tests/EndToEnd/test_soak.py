"""A soak test with an exact oracle: readers of every kind, commands, limits, origin faults, new versions, kills and a
disk that fills up, all at once. Every byte of every answer is one that the origin had, and no answer mixes two
versions.

MEDIAVAULT_SOAK is its duration in seconds; MEDIAVAULT_SEED draws another run.
"""

import collections
import contextlib
import http.client
import json
import os
import random
import re
import threading
import time

from harness import client, faulty_origin
from harness.case import SEED, VaultCase
from harness.small_disk import MEBIBYTE, SmallDisk
from harness.waiting import eventually
from test_keys import read_vault

patience = 1800 + int(os.environ.get("MEDIAVAULT_SOAK", "0"))  # it is one check
SECONDS = int(os.environ.get("MEDIAVAULT_SOAK", "20"))
SIZES = (0, 1, 4096, 32 << 10, 300_001, 1 << 20, 3_000_000, 6 << 20)
DISK = 40  # MiB: more than all titles once, less than all of them twice
LIMIT = "24MiB"
SILENT = 90  # seconds after which a client gives up waiting for an answer
FAULTS = (faulty_origin.Fault, faulty_origin.Fault, faulty_origin.Breaks, faulty_origin.ResetSeeks, faulty_origin.Busy,
          faulty_origin.EmptyHead, faulty_origin.RefusedHead, faulty_origin.WithoutRanges, faulty_origin.Stalls)
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)$")


class Oracle:
    """Every version that the origin has ever had at a target."""

    def __init__(self, origin, target, size, seed):
        self._origin, self._target, self._size, self._seed = origin, target, size, seed
        self.url, self.versions, self._lock = None, [], threading.Lock()
        self.renew()

    def renew(self):
        """Adds a version at the origin: other bytes, another tag, another date, and sometimes another length."""
        number = len(self.versions)
        size = self._size + (number % 3 if self._size > 1 else 0)
        film = faulty_origin.Film(size=size, seed=self._seed * 1000 + number, headers={"Cache-Control": "max-age=1"})
        film.modified = f"Sun, 01 Nov 2026 12:{number // 60 % 60:02}:{number % 60:02} GMT"
        with self._lock:
            self.versions.append(film.content)
            self.url = self._origin.put(self._target, film)

    @property
    def newest(self):
        return self.versions[-1]

    def is_true(self, first, body, total):
        """Whether some version of this length has exactly these bytes at this position."""
        return any(content[first:first + len(body)] == body and total in (None, len(content))
                   for content in list(self.versions))


class Soak(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = faulty_origin.FaultyOrigin()
        cls.addClassCleanup(cls.origin.stop)

    def setUp(self):
        self.dice = random.Random(SEED)
        self.titles = [Oracle(self.origin, f"soak-{size}.mp4", size, number + 1) for number, size in enumerate(SIZES)]
        self.vault = self.new_vault()
        self.vault.result("config", "set", "max-size", LIMIT)
        self.disk = SmallDisk(self, self.vault, DISK)
        self.wrong, self.right, self.acts, self.over = [], collections.Counter(), collections.Counter(), threading.Event()
        self.serving = threading.Event()
        self.removed = set()

    # Readers

    def check(self, kind, title, answer, asked):
        """Compares an answer with all versions; a truncated answer must be right as far as it goes."""
        if answer.status == 206:
            found = _CONTENT_RANGE.match(answer.headers.get("content-range", ""))
            if not found:
                return self.wrong.append(f"{kind}: 206 with {answer.headers.get('content-range')}")
            first, total = int(found[1]), None if found[3] == "*" else int(found[3])
            if len(answer.body) > int(found[2]) - first + 1 or not title.is_true(first, answer.body, total):
                return self.wrong.append(f"{kind} {asked}: other bytes of {title.url} at {first}, {len(answer.body)}")
        elif answer.status == 200:
            total = answer.headers.get("content-length")
            if kind != "head" and not title.is_true(0, answer.body, int(total) if total else None):
                return self.wrong.append(f"{kind}: other bytes of {title.url}, {len(answer.body)} of {total}")
            if total and int(total) not in map(len, title.versions):
                return self.wrong.append(f"{kind}: {title.url} never had {total} bytes")
        elif answer.status == 416:
            if asked is None or all(asked < len(content) for content in title.versions):
                return self.wrong.append(f"{kind}: 416 for {asked} of {title.url}")
        elif answer.status == 404 and title in self.removed:
            pass  # A link that is older than a removal opens nothing for a minute.
        elif answer.status not in (502, 503, 504):
            return self.wrong.append(f"{kind}: {answer.status} for {title.url}")
        self.right[kind if answer.status in (200, 206, 416) else str(answer.status)] += 1

    def ask(self, kind, dice):
        title = dice.choice(self.titles)
        size = len(title.newest)
        address, first = self.addresses[title], dice.randrange(size + 1)
        if kind == "whole":
            return self.check(kind, title, client.get(address, timeout=SILENT), None)
        if kind == "range":
            last = min(first + dice.choice((0, 9, 4_095, 100_000, 1_000_000)), max(size, first + 1) - 1)
            return self.check(kind, title, client.get(address, f"bytes={first}-{last}", timeout=SILENT), first)
        if kind == "suffix":
            count = dice.choice((1, 1000, 200_000))
            return self.check(kind, title, client.get(address, f"bytes=-{count}", timeout=SILENT), size)
        if kind == "head":
            return self.check(kind, title, client.get(address, method="HEAD", timeout=SILENT), None)
        with client.Stream(address, f"bytes={first}-", timeout=SILENT) as stream:  # a probe, or a slow player
            status, headers, parts = stream.status, stream.headers, []
            for _ in range(3):
                parts.append(stream.read(40_000))
                if kind == "slow":
                    self.over.wait(dice.uniform(0, 0.5))
            answer = client.Answer(status, headers, b"".join(parts), False)
            if dice.random() < 0.3:
                stream.reset()
        return self.check(kind, title, answer, first)

    def read(self, seed):
        dice = random.Random(seed)
        while not self.over.is_set():
            kind = dice.choice(("whole", "range", "range", "suffix", "head", "probe", "slow"))
            begun, was_serving = time.monotonic(), self.serving.is_set()
            try:
                self.ask(kind, dice)
            except TimeoutError:
                if was_serving and self.serving.is_set():
                    self.wrong.append(f"{kind}: nothing for {time.monotonic() - begun:.0f} s")
            except (OSError, http.client.HTTPException):  # the service was killed
                self.right["broken"] += 1
                self.over.wait(0.05)

    # Commands

    def act(self):
        dice = random.Random(SEED + 1)
        acts = ("fetch", "fetch", "cat", "remove", "pin", "unpin", "shred", "verify", "list", "info", "prune", "rotate",
                "rewrap", "retire", "reseal", "limit")
        while not self.over.is_set():
            name, title = dice.choice(acts), dice.choice(self.titles)
            words = {
                "list": ("list", "--json"), "prune": ("prune", "--max-size", "12MiB"), "rotate": ("keys", "rotate"),
                "rewrap": ("keys", "rewrap"), "reseal": ("keys", "reseal", title.url), "verify": ("verify",),
                "limit": ("config", "set", "max-size", dice.choice((LIMIT, "16MiB"))),
                "cat": ("cat", title.url, "--offline")}.get(name, (name, title.url))
            if name == "retire":
                words = ("keys", "retire", str(self.oldest_generation() or 1))
            if name in ("remove", "shred"):
                self.removed.add(title)
            done = self.vault.run(*words, timeout=300)
            self.acts[name, done.returncode] += 1
            if done.returncode not in (0, 1, 2, 5, 6) or done.returncode == 2 and name != "retire":
                self.wrong.append(f"{' '.join(words)} exits {done.returncode}: {done.stderr.decode()[-300:]}")
            if name == "cat" and not title.is_true(0, done.stdout, None):
                self.wrong.append(f"cat: other bytes of {title.url}")
            self.over.wait(dice.uniform(0, 0.3))

    def oldest_generation(self):
        told = self.vault.run("keys", "list", "--json")
        if told.returncode:
            return None
        return next((item["number"] for item in json.loads(told.stdout)["generations"] if item["state"] == "active"), None)

    # Faults

    def break_things(self):
        """Changes the faults of the origin, its titles and the free disk space, and kills the service."""
        dice, kills, fills = self.dice, 0, 0
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and not self.wrong:
            self.origin.fault = dice.choice(FAULTS)(dice.randrange(1 << 30))
            match dice.randrange(8):
                case 0 | 1:
                    dice.choice(self.titles).renew()
                case 2:
                    self.kill()
                    kills += 1
                case 3:
                    with contextlib.suppress(OSError):  # the service uses up the space at the same time
                        self.disk.fill(leaving=dice.choice((0, 0, 4096, MEBIBYTE)))
                    fills += 1
                    time.sleep(dice.uniform(0.5, 3))
                    self.disk.empty()
            time.sleep(dice.uniform(0.2, 1.5))
        return kills, fills

    def kill(self):
        """Kills the service and starts it again; a command that is running meanwhile may own the vault first."""
        self.serving.clear()
        self.vault.service.process.kill()
        self.vault.service.process.wait()
        deadline = time.monotonic() + SILENT
        while True:
            try:
                self.vault.serve()
                break
            except AssertionError as error:
                if "owns the vault" not in str(error).splitlines()[-1] or time.monotonic() > deadline:
                    raise
        self.serving.set()

    def test_soak(self):
        """The service never serves a wrong byte, nothing hangs, and once all faults end every title is complete"""
        self.vault.serve()
        self.serving.set()
        self.addresses = {title: self.vault.address(title.url, "--expires", "24h") for title in self.titles}
        threads = [threading.Thread(target=self.read, args=(SEED + 10 + number,)) for number in range(4)]
        threads.append(threading.Thread(target=self.act))
        for thread in threads:
            thread.start()
        try:
            kills, fills = self.break_things()
        finally:
            self.over.set()
            self.origin.fault = faulty_origin.Fault()
            for thread in threads:
                thread.join()
        self.assertEqual(self.wrong, [], f"seed {SEED}")
        self.heal()
        for kind in ("whole", "range", "suffix", "head", "probe", "slow"):
            self.assertGreater(self.right[kind], 0, f"no right answer to {kind}: this proves nothing")
        self.figure("answers held against the oracle", sum(self.right.values()), f"0 wrong, seed {SEED}")
        self.figure("of them", dict(sorted(self.right.items())), "each kind > 0")
        self.figure("acts by exit code", {f"{name} {code}": count for (name, code), count in sorted(self.acts.items())},
                    "never 4, never a trap")
        self.figure("kills and times the disk filled", (kills, fills), "0 bytes wrong")

    def heal(self):
        """Ends all faults: after a restart every title is as the origin has it, and nothing is damaged."""
        self.vault.stop()
        self.vault.result("config", "set", "max-size", "36MiB")
        self.vault.serve()
        repaired = self.vault.run("verify", "--repair", timeout=300)
        self.assertEqual(repaired.returncode, 0, repaired.stderr.decode()[-400:] + repaired.stdout.decode()[-400:])
        for title in self.titles:
            self.vault.run("unpin", title.url)  # a pinned title plays without revalidation at its origin
            address = self.vault.address(title.url)
            answer = eventually(lambda: client.get(address), lambda answer: answer.body == title.newest, within=30)
            versions = [number for number, content in enumerate(title.versions) if content == answer.body]
            self.assertTrue(
                answer.body == title.newest,
                f"{title.url} is not what the origin has, seed {SEED}: {answer.status}, {len(answer.body)} bytes of "
                f"{len(title.newest)}, version {versions} of {len(title.versions)}, "
                f"{answer.headers.get('cache-status')}, {answer.headers.get('warning')}")
        self.assertEqual(self.vault.run("verify", timeout=300).returncode, 0)
        self.vault.stop()
        code, report = read_vault(self.vault)
        self.assertEqual(code, 0, report)
        self.assertEqual(report["damage"], [])
