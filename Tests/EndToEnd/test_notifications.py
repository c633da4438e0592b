"""The operator's program is told what happens to a vault, and gets nothing else of the service."""

import contextlib
import http.client
import json
import os
import shutil
import tempfile

from harness import client
from harness.case import VaultCase
from harness.control import KEYLESS
from harness.waiting import eventually

SECRET = "a-secret-of-the-query"


class Notifications(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def setUp(self):
        # Nobody else can write to the folders above it, wherever the checkout is.
        self.programs = tempfile.mkdtemp(prefix="programs-")
        self.addCleanup(shutil.rmtree, self.programs, ignore_errors=True)

    def program(self, name, text):
        """Writes a script; returns its path."""
        path = os.path.join(self.programs, name)
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o755)
            file.write(f"#!/bin/sh\n{text}\n")
        return path

    def notices(self, name="notices"):
        """Returns what a program wrote into a file, one JSON object on a line."""
        try:
            with open(os.path.join(self.programs, name), encoding="utf-8") as file:
                return [json.loads(line) for line in file.read().splitlines()]
        except FileNotFoundError:
            return []

    def recording(self):
        return self.program("notify", f"cat >> {self.programs}/notices")

    def refused(self, vault, *arguments, **environment):
        """Returns what the command says of a setting that it refuses."""
        done = vault.run("config", "set", *arguments, **environment)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr.decode()

    @staticmethod
    def patch(vault, token, document):
        """Changes settings with a token; returns status and body of the answer."""
        connection = http.client.HTTPConnection(vault.listen, timeout=60)
        with contextlib.closing(connection):
            connection.request(
                "PATCH", "/api/v1/settings", json.dumps(document),
                {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def test_failed_download(self):
        """A download that fails is told once, with the title's id and name and without its URL's query"""
        vault = self.served_vault()
        vault.result("config", "set", "notify-command", self.recording(), **KEYLESS)
        url = self.origin.url(f"missing.mp4?token={SECRET}")
        vault.result("fetch", "--detach", "--title", "A missing film", url, **KEYLESS)
        told = eventually(self.notices)
        self.assertEqual([(item["kind"], item["name"]) for item in told], [("download-failed", "A missing film")])
        self.assertEqual(set(told[0]), {"kind", "time", "id", "name", "message", "omitted"})
        queue = json.loads(vault.result("downloads", "list", "--json", **KEYLESS))
        self.assertIn(told[0]["id"], json.dumps(queue))
        self.assertNotIn(SECRET, json.dumps(told) + vault.service.log())

    def test_damage(self):
        """Damage is told when a player meets it, and the player gets the right bytes"""
        vault = self.served_vault()
        url = self.origin.add("damaged.mp4", size=300_000, seed=9)
        vault.result("fetch", url, **KEYLESS)
        vault.result("config", "set", "notify-command", self.recording(), **KEYLESS)
        vault.stop()
        for parent, _, names in os.walk(os.path.join(vault.folder, "segments")):
            for name in names:
                with open(os.path.join(parent, name), "r+b") as file:
                    file.seek(5000)
                    byte = file.read(1)[0]
                    file.seek(5000)
                    file.write(bytes([byte ^ 1]))
        vault.serve()
        self.assertEqual(client.get(vault.address(url)).body, self.origin.film("damaged.mp4").content)
        told = eventually(self.notices)
        self.assertEqual([item["kind"] for item in told], ["damage"])
        self.assertEqual(told[0]["id"], vault.info(url)["id"])

    def test_bare_program(self):
        """The program has three descriptors, no secret in its environment, and its arguments word for word"""
        vault = self.served_vault()
        script = (f"cat > /dev/null; exec > {self.programs}/seen.part; echo $#; printf '%s\\n' \"$@\"; "
                  "env | cut -d= -f1 | sort; for n in $(seq 3 255); do [ -e /proc/self/fd/$n ] && echo fd$n; done; "
                  f"mv {self.programs}/seen.part {self.programs}/seen")
        vault.result("config", "set", "notify-command", "--", "/bin/sh", "-c", script, "name", "--to", "a b; $HOME",
                     **KEYLESS)
        shown = vault.result("config", "get", "notify-command", **KEYLESS).decode()
        self.assertIn("name --to 'a b; $HOME'", shown)
        vault.result("fetch", "--detach", self.origin.url("nowhere.mp4"), **KEYLESS)
        seen = os.path.join(self.programs, "seen")
        self.assertTrue(eventually(lambda: os.path.exists(seen)))
        with open(seen, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[:3], ["2", "--to", "a b; $HOME"])
        self.assertEqual(set(lines[3:]) - {"PWD", "OLDPWD", "SHLVL", "_"}, {"PATH", "LANG"})

    def test_local_command_alone(self):
        """Programs are set by the local command, with and without a service, and by no token"""
        vault = self.new_vault()
        program = self.recording()
        vault.result("config", "set", "notify-command", program, "x")
        self.assertEqual(vault.result("config", "get", "notify-command"), f"{program} x\n".encode())
        self.assertIn("absolute path", self.refused(vault, "notify-command", "notify"))
        vault.serve()
        self.assertIn("absolute path", self.refused(vault, "refresh-command", "./refresh", **KEYLESS))
        token = vault.token("admin")
        for body in ({"notifyCommand": ["/bin/sh"]}, {"refreshCommand": [program]}, {"notifyCommand": []}):
            status, text = self.patch(vault, token, body)
            self.assertEqual(status, 400)
            self.assertIn("control socket", json.loads(text)["detail"])
        answer = client.get(f"http://{vault.listen}/api/v1/settings", headers={"Authorization": f"Bearer {token}"})
        self.assertIsNone(json.loads(answer.body)["notifyCommand"])
        self.assertEqual(vault.result("config", "get", "notify-command", **KEYLESS), f"{program} x\n".encode())
        vault.result("config", "unset", "notify-command", **KEYLESS)
        self.assertEqual(vault.result("config", "get", "notify-command", **KEYLESS), b"")
        vault.stop()
        for parent, _, names in os.walk(vault.base):
            for name in names:
                with open(os.path.join(parent, name), "rb") as file:
                    self.assertNotIn(os.path.basename(self.programs).encode(), file.read(), name)

    def test_loose_program(self):
        """A program that others can replace, or that hangs on, is not run, or holds nothing up; the log says why"""
        vault = self.served_vault()
        loose = self.recording()
        vault.result("config", "set", "notify-command", loose, **KEYLESS)
        os.chmod(loose, 0o777)
        self.assertIn("others may write to it", self.refused(vault, "notify-command", loose, **KEYLESS))
        vault.result("fetch", "--detach", self.origin.url("first.mp4"), **KEYLESS)
        self.assertTrue(eventually(lambda: "others may write to it" in vault.service.log()))
        self.assertEqual(self.notices(), [])
        vault.result("config", "set", "notify-command", self.program("hang", "exec sleep 600"), **KEYLESS)
        vault.result("fetch", "--detach", self.origin.url("second.mp4"), **KEYLESS)
        code, seconds = vault.service.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 20)
