"""Crowds of slow clients: other clients are served meanwhile, and no resources leak."""

import random
import re
import resource
import shutil
import statistics
import subprocess
import threading
import time

from harness import client
from harness.case import NIGHT, each
from harness.crowd import SIZE, Crowd
from harness.waiting import settled

alone = True  # a crowd of 2 000 takes the machine

SLOW = {  # the options of slowhttptest for each mode
    "headers": ("-H", "-i", "1"),
    "body": ("-B", "-i", "1", "-s", "1000000"),
    "range": ("-R", "-a", "1", "-b", "500"),
    "read": ("-X", "-w", "16", "-y", "64", "-n", "1", "-z", "8", "-k", "3"),
}
CONNECTIONS, SECONDS = 2000, 12 if "crowds" in NIGHT else 8
CROWD_MEMORY = 30e6  # bytes that may remain allocated after the largest crowd


class SlowClients(Crowd):
    def answers(self):
        """Returns the number of answers that the service has sent."""
        told = client.get(
            f"http://127.0.0.1:{self.service.port}/metrics",
            headers={"Authorization": f"Bearer {self.vault.token()}"}).body.decode()
        return sum(int(float(line.split()[-1])) for line in told.splitlines() if line.startswith("mediavault_http_requests_total"))

    def ask_meanwhile(self, address, content, is_over):
        """Returns how long another client waits for each of its ranges while the crowd is connected."""
        waits = []
        while not is_over():
            first = random.Random(len(waits)).randrange(SIZE - 1000)
            started = time.monotonic()
            answer = client.get(address, f"bytes={first}-{first + 999}", timeout=30)
            waits.append(time.monotonic() - started)
            self.assertEqual((answer.status, answer.body), (206, content[first:first + 1000]))
            time.sleep(0.05)  # the pace of a client, not a wait for an event
        return waits

    @each(*(SLOW if "crowds" in NIGHT else ("headers", "read")))
    def test_slow(self, mode):
        """During a slowhttptest attack (slow {}) another client is served in time, and no memory or descriptor leaks"""
        if not shutil.which("slowhttptest"):
            self.fail("slowhttptest is not installed: Scripts/test installs it")
        address, content = self.served("slow.mp4")
        before_memory, before = settled(self.service.memory, 65_536), self.descriptors()
        answered = self.answers()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        attack = subprocess.Popen(
            ["slowhttptest", "-c", str(CONNECTIONS), "-r", "500", "-l", str(SECONDS), "-p", "3", *SLOW[mode],
             "-u", address], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.scratch,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard)))
        told = []
        reader = threading.Thread(target=lambda: told.extend(attack.stdout))
        reader.start()
        self.addCleanup(attack.kill)
        waits = self.ask_meanwhile(address, content, lambda: attack.poll() is not None)
        attack.wait()
        reader.join()
        text = re.sub(rb"\x1b\[[0-9;]*m", b"", b"".join(told))
        came = sum(int(re.findall(rb"\b%s:\s+(\d+)" % word, text)[-1]) for word in (b"connected", b"closed"))
        # slowhttptest does not count clients that are answered at once.
        came = max(came, self.answers() - answered)
        self.assertGreater(came, CONNECTIONS // 4, f"there was no crowd: {text[-300:]}")
        self.figure(f"slow {mode}: another client waits at most", max(waits), "told only", " s")
        self.figure(f"slow {mode}: … and as a rule", statistics.median(waits), "told only", " s")
        left = self.assert_back(before_memory, before)
        self.figure(f"slow {mode}: memory left", left / 1e6, f"<= {CROWD_MEMORY / 1e6}", " MB")
        self.assertLessEqual(left, CROWD_MEMORY)
