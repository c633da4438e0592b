"""Many clients at once, clients that disconnect, few descriptors and few threads: no resource leaks, and each is served in
turn."""

import os
import random
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from harness import client, unprivileged
from harness.case import NIGHT, SEED, Settings, VaultCase, each
from harness.crowd import SIZE, Crowd
from harness.vault import Vault
from harness.waiting import eventually, settled

ABORTING, AT_A_TIME = 10_000, 50
IDLE = 1000
IDLE_MEMORY = 30e6
LEFT_MEMORY = 8e6  # bytes that the allocator keeps for the next crowd


class AbortingClients(Crowd):
    def test_abort(self):
        """10 000 clients that disconnect during a 206 answer leave no descriptor, thread or memory behind"""
        address, content = self.served("abort.mp4")
        _, _, target = client.split(address)
        numbers = random.Random(SEED)
        firsts = [numbers.randrange(SIZE - (1 << 20)) for _ in range(ABORTING)]

        def abort(number):
            with socket.create_connection(("127.0.0.1", self.service.port), timeout=30) as connection:
                connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\n"
                                   f"Range: bytes={firsts[number]}-\r\n\r\n".encode())
                self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 206 "))
                if number % 2:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        failures = []

        def work(start, end):
            try:
                for number in range(start, end, AT_A_TIME):
                    abort(number)
            except (OSError, AssertionError) as error:
                failures.append(repr(error))

        def crowd(start, end):
            client.together([lambda offset=offset: work(start + offset, end) for offset in range(AT_A_TIME)])

        crowd(0, ABORTING // 10)  # a first crowd, so that what any crowd allocates is in the baseline
        before = eventually(self.descriptors, lambda count: count < 60, within=20)
        before_memory, threads = settled(self.service.memory, 65_536), self.threads()
        crowd(ABORTING // 10, ABORTING)
        self.assertEqual(failures, [])
        left = self.assert_back(before_memory, before)
        self.figure(f"memory left by {ABORTING} clients that went away", left / 1e6, f"<= {LEFT_MEMORY / 1e6}", " MB")
        self.assertLessEqual(left, LEFT_MEMORY)
        self.assertLessEqual(self.threads(), threads + 4)
        answer = client.get(address, "bytes=0-999")
        self.assertEqual((answer.status, answer.body), (206, content[:1000]))

    def test_idle(self):
        """1 000 idle keep-alive clients use at most 30 MB of memory"""
        _, _ = self.served("idle.mp4")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        before = settled(self.service.memory, 65_536)
        health = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\n\r\n".encode()
        clients = []
        for _ in range(IDLE):
            connection = socket.create_connection(("127.0.0.1", self.service.port), timeout=10)
            self.addCleanup(connection.close)
            connection.sendall(health)
            self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200 "))
            clients.append(connection)
        growth = settled(self.service.memory, 65_536) - before
        self.figure(f"memory of {IDLE} idle clients", growth / 1e6, f"<= {IDLE_MEMORY / 1e6}", " MB")
        self.assertLessEqual(growth, IDLE_MEMORY)


class FewDescriptors(Crowd):
    @each(64, *([96] if "crowds" in NIGHT else []))
    def test_limit(self, limit):
        """With {} descriptors the service serves a crowd in turn without crash or busy loop, and works afterwards"""
        origin, self.vault = self.new_scripted_origin(), self.new_vault()
        url = origin.add("few.mp4", size=SIZE, seed=3)
        self.vault.launcher = ("prlimit", f"--nofile={limit}:{limit}")
        self.service = self.vault.serve()
        address, content = self.vault.address(url), origin.film("few.mp4").content
        client.digest(address)
        health = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\n\r\n".encode()
        crowd = []
        for _ in range(2 * limit):
            connection = socket.create_connection(("127.0.0.1", self.service.port), timeout=10)
            self.addCleanup(connection.close)
            connection.sendall(health[:20])
            crowd.append(connection)
        # With 64 descriptors five clients fit, and each client of the crowd keeps its place for a second: 26 seconds.
        answer = client.get(address, "bytes=0-999", timeout=60)
        self.assertEqual((answer.status, answer.body), (206, content[:1000]), "a client is not served during the crowd")
        used, started = self.processor_time(), time.monotonic()
        while time.monotonic() - started < 3:
            self.assertEqual(client.get(address, "bytes=5-9", timeout=30).body, content[5:10])
            time.sleep(0.2)  # the pace of a client
        share = (self.processor_time() - used) / (time.monotonic() - started)
        self.figure(f"processor share beside a crowd, {limit} descriptors", share, "<= 0.5")
        self.assertLessEqual(share, 0.5)
        for connection in crowd:
            connection.close()
        self.assertIsNone(self.service.process.poll(), "the service has ended")
        self.assertEqual(client.digest(address)[:2], (200, SIZE))

    def test_filling(self):
        """With 128 descriptors the service survives a crowd in which each client downloads a different title"""
        origin, self.vault = self.new_scripted_origin(), self.new_vault()
        films = [f"own-{number}.mp4" for number in range(120)]
        urls = [origin.add(film, size=400_000, seed=number, hold_at=200_000) for number, film in enumerate(films)]
        self.vault.launcher = ("prlimit", "--nofile=128:128")
        self.service = self.vault.serve()
        folder = self.vault.address(urls[0]).removesuffix(films[0])
        crowd = []
        for film in films:
            try:
                crowd.append(client.Stream(folder + film, "bytes=0-", timeout=30))
                self.addCleanup(crowd[-1].socket.close)
            except OSError:
                pass  # the service has no descriptor for this client
            time.sleep(0.05)  # the pace of a crowd
        most = max(self.watched_descriptors(6))
        self.figure("descriptors of a crowd that fills, of 128", most, "< 128")
        self.assertIsNone(self.service.process.poll(), f"the service has ended: {self.service.log()[-400:]}")
        self.assertLess(most, 128)
        for film in films:
            origin.film(film).release.set()
        for stream in crowd:
            stream.socket.close()
        content = origin.film(films[0]).content
        self.assert_eventually(lambda: client.get(folder + films[0], "bytes=0-").body == content, True)

    def watched_descriptors(self, seconds):
        """Yields the number of open descriptors every 0.1 seconds."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self.service.process.poll() is None:
            yield self.descriptors()
            time.sleep(0.1)

    def test_too_few(self):
        """With 16 descriptors the service reports that the limit is too low, and exits with code 1"""
        vault = self.new_vault()
        done = subprocess.run(
            ["prlimit", "--nofile=16:16", vault.binary, "serve"], env=vault.environment, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=30)
        told = done.stderr.decode().strip()
        self.assertEqual((done.returncode, len(told.split("\n"))), (1, 1), told)
        self.assertTrue(re.search(r"ulimit -n", told), told)


@unittest.skipUnless(sys.platform == "linux" and os.geteuid() == 0, "only root becomes a user who runs nothing else")
class FewThreads(VaultCase):
    # A limit on threads counts all that its user runs: nobody else is this one.
    USER = 64_017

    def run_as_user(self, limit, *command, **options):
        """Runs the command as that user, who may have `limit` threads in all."""
        return subprocess.run(
            ["prlimit", f"--nproc={limit}:{limit}", "setpriv", f"--reuid={self.USER}", f"--regid={self.USER}",
             "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", *command],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, cwd="/", **options)

    def test_threads(self):
        """With few threads, each command says in a sentence how many it needs, and with so many it does its work"""
        folder = tempfile.mkdtemp(prefix="mediavault-threads-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        binary = unprivileged.install(Settings.binary, folder)
        vault = Vault(binary, os.path.join(folder, "home"))
        os.chown(vault.base, self.USER, self.USER)
        url = self.new_scripted_origin().add("threads.mp4", size=1 << 20)
        needed = set()
        for command in (["--version"], ["list"], ["fetch", url], ["serve"]):
            done = self.run_as_user(20, binary, *command, env=vault.environment)
            told = done.stderr.decode().strip()
            self.assertEqual((done.returncode, len(told.split("\n"))), (1, 1), told)
            found = re.search(r"only 20 threads .* needs (\d+); .*ulimit -u", told)
            self.assertTrue(found, told)
            needed.add(int(found.group(1)))
        self.assertEqual(len(needed), 1)
        limit = needed.pop()
        # What else the user runs has its share.
        beside = self.run_as_user(
            limit, "sh", "-c", f"sleep 60 & '{binary}' --version; status=$?; kill $!; exit $status", env=vault.environment)
        self.assertEqual(beside.returncode, 1, beside.stderr)
        self.assertIn(f"only {limit - 2} threads", beside.stderr.decode())
        for command in (["--version"], ["init"], ["fetch", url], ["list"]):
            done = self.run_as_user(limit, binary, *command, env=vault.environment)
            self.assertEqual(done.returncode, 0, done.stderr)
