"""Scripts/run --demo shows what it claims, or fails; it leaves no files behind."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

from harness.case import ROOT, Settings


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mediavault-demo-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def demo(self, binary):
        demo = subprocess.Popen(
            [os.path.join(ROOT, "Scripts", "run"), "--demo"], text=True,
            env={**os.environ, "MEDIAVAULT_BINARY": binary, "TMPDIR": self.folder},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(demo.communicate)
        self.addCleanup(demo.kill)
        return demo

    def test_shows(self):
        """Scripts/run --demo plays a clip with and without its origin, finds nothing readable, and leaves no files"""
        demo = self.demo(Settings.binary)
        told, _ = demo.communicate(timeout=120)
        self.assertEqual(demo.returncode, 0, told)
        for sentence in ("each byte once", "Stopped the origin", "Played it again", "none is there", "Everything was shown"):
            self.assertIn(sentence, told)
        self.assertEqual(os.listdir(self.folder), [])

    def test_interrupted(self):
        """Scripts/run --demo stops its servers and removes its files if it is interrupted"""
        demo = self.demo(Settings.binary)
        port = next(int(found[1]) for line in demo.stdout if (found := re.search(r"serving it on .*:(\d+)\.$", line)))
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)
        self.assertEqual(demo.returncode, 130)
        self.assertEqual(os.listdir(self.folder), [])
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)

    def test_fails(self):
        """Scripts/run --demo exits with 1 if the command fails"""
        demo = self.demo("/bin/false")
        told, _ = demo.communicate(timeout=60)
        self.assertEqual(demo.returncode, 1, told)
        self.assertNotIn("Everything was shown", told)
        self.assertEqual(os.listdir(self.folder), [])
