"""Viewers: people who see only what is shared with them, through the commands and the control socket."""

import http.client
import json
import os
import threading

from harness import client, control
from harness.case import VaultCase
from harness.control import KEYLESS
from harness.terminal import Terminal
from harness.waiting import eventually

SIZE = 100_000


class Viewers(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def fetched(self, vault, *names, **options):
        """Fetches films; returns their ids."""
        ids = []
        for name in names:
            self.origin.add(name, size=SIZE, seed=7)
            vault.result("fetch", self.origin.url(name), **options)
            ids.append(vault.info(self.origin.url(name))["id"])
        return ids

    def file(self, text):
        path = os.path.join(self.scratch, "pin")
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
        return path

    def viewers(self, vault, **options):
        return {item["name"]: item for item in json.loads(
            vault.result("viewers", "list", "--json", **options))["viewers"]}

    def test_with_and_without_a_service(self):
        """Viewers are added, changed and removed, and titles shared, through the service without a key, and without
        one with the key"""
        for has_service in (True, False):
            vault = self.served_vault() if has_service else self.new_vault()
            options = KEYLESS if has_service else {}
            one, two = self.fetched(vault, "one.mp4", "two.mp4", **options)
            vault.result("viewers", "add", "Anna", "--pin-file", self.file("24681357\n"), **options)
            vault.result("viewers", "add", "Berta", "--all", **options)
            self.assertEqual(vault.run("viewers", "add", "anna", **options).returncode, 1)
            done = vault.run("share", one, two, "--with", "anna", **options)
            self.assertEqual((done.returncode, done.stderr), (0, b"mediavault: 2 titles shared\n"))
            known = self.viewers(vault, **options)
            self.assertEqual((known["Anna"]["hasPIN"], known["Anna"]["titles"]), (True, 2))
            self.assertEqual((known["Berta"]["hasPIN"], known["Berta"]["sharesAll"]), (False, True))
            shown = vault.result("viewers", "list", **options).decode()
            self.assertIn("Anna", shown)
            self.assertNotIn("2468", shown)
            vault.result("unshare", self.origin.url("one.mp4"), "--with-all", **options)
            self.assertEqual(self.viewers(vault, **options)["Anna"]["titles"], 1)
            vault.result("remove", two, **options)
            vault.result("viewers", "rename", "ANNA", "Clara", **options)
            vault.result("viewers", "pin", "Clara", "--none", **options)
            clara = self.viewers(vault, **options)["Clara"]
            self.assertFalse(clara["hasPIN"])
            self.assertEqual(clara["id"], known["Anna"]["id"])
            vault.result("share", "--prefix", self.origin.url(""), "--with", "Clara", "--json", **options)
            self.assertEqual(self.viewers(vault, **options)["Clara"]["titles"], 1)
            vault.result("viewers", "remove", "Clara", "Berta", **options)
            self.assertEqual(self.viewers(vault, **options), {})
            vault.stop()

    def test_refused(self):
        """What is spelt wrong is refused, and nothing is shared then"""
        vault = self.new_vault()
        one, = self.fetched(vault, "one.mp4")
        vault.result("viewers", "add", "Anna")
        for code, arguments in (
                (6, ("share", one, "--with", "Anna", "--with", "Nobody")), (6, ("viewers", "pin", "Nobody", "--none")),
                (6, ("viewers", "remove", "Anna", "Nobody")), (2, ("share", one)), (2, ("share", "--with", "Anna")),
                (2, ("share", one, "--with", "Anna", "--with-all")), (6, ("share", "aaaaaaaa", "--with", "Anna")),
                (2, ("viewers", "pin", "Anna", "--none", "--pin-file", "x")),
                (2, ("viewers", "pin", "Anna")),  # there is no terminal to ask at
                (2, ("viewers", "add", "Berta", "--pin-file", self.file("123")))):
            done = vault.run(*arguments)
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
        self.assertEqual({name: item["titles"] for name, item in self.viewers(vault).items()}, {"Anna": 0})

    def test_removed_while_asked(self):
        """What is removed or shredded while players go on asking is not fetched again, and is shared with no one"""
        vault = self.served_vault()
        names = [f"asked-{number}.mp4" for number in range(10)]
        ids = self.fetched(vault, *names)
        vault.result("viewers", "add", "Anna")
        vault.result("share", *ids, "--with", "Anna")
        answers, ended = {name: [] for name in names}, {name: threading.Event() for name in names}

        def ask(name, address):
            while not ended[name].is_set():
                try:
                    answers[name].append(client.get(address).status)
                except (OSError, http.client.HTTPException):
                    pass  # an answer that a removal ends is cut off

        players = [threading.Thread(target=ask, args=(name, vault.address(self.origin.url(name)))) for name in names]
        for player in players:
            player.start()
        try:
            self.assertTrue(eventually(lambda: all(answers.values())))
            for number, name in enumerate(names):
                vault.result("shred" if number % 2 else "remove", self.origin.url(name))
                after = len(answers[name])
                self.assertTrue(eventually(lambda: len(answers[name]) > after + 20))
                ended[name].set()
                self.assertEqual(set(answers[name][after + 2:]), {404}, name)
        finally:
            for event in ended.values():
                event.set()
            for player in players:
                player.join()
        self.assertEqual(vault.result("list"), b"")
        self.assertEqual(self.viewers(vault)["Anna"]["titles"], 0)
        vault.result("fetch", self.origin.url(names[0]))
        self.assertEqual(client.get(vault.address(self.origin.url(names[0]))).status, 200)
        self.assertEqual(self.viewers(vault)["Anna"]["titles"], 0)

    def test_unlocked(self):
        """Failed sign-ins are listed by name and address, and unlock lets the viewer sign in at once"""
        vault = self.served_vault()
        vault.result("viewers", "add", "Anna", "--pin-file", self.file("24681357"))

        def sign_in(pin):
            connection = http.client.HTTPConnection(*vault.listen.split(":"), timeout=60)
            fields = {"Content-Type": "application/json", "Origin": f"http://{vault.listen}"}
            connection.request("POST", "/api/v1/sessions", json.dumps({"name": "anna", "pin": pin}), fields)
            return connection.getresponse().status

        self.assertEqual([sign_in("0000") for _ in range(5)], [401] * 5)
        self.assertEqual(sign_in("24681357"), 429)
        failure, = self.viewers(vault)["Anna"]["failures"]
        self.assertEqual((failure["count"], failure["address"], failure["knownDevice"]), (5, None, False))
        shown = vault.result("viewers", "list", "--failed", **KEYLESS).decode().splitlines()
        self.assertEqual(len(shown), 2)
        self.assertRegex(shown[1], "^Anna +this machine +5 +20")
        done = vault.run("viewers", "unlock", "anna", **KEYLESS)
        self.assertEqual((done.returncode, done.stderr), (0, b"mediavault: viewer Anna can sign in at once\n"))
        self.assertEqual(self.viewers(vault)["Anna"]["failures"], [])
        self.assertEqual(sign_in("24681357"), 201)
        self.assertEqual(vault.run("viewers", "unlock", "Nobody").returncode, 6)

    def test_terminal(self):
        """A PIN is asked for twice at the terminal, without showing it"""
        vault = self.served_vault()
        terminal = Terminal([vault.binary, "viewers", "add", "Anna", "--pin"], vault.environment)
        terminal.wait_for(b"PIN: ")
        terminal.type(b"24681357\n")
        terminal.wait_for(b"Repeat PIN: ")
        terminal.type(b"24681357\n")
        self.assertEqual(terminal.end(), 0, terminal.shown)
        self.assertNotIn(b"2468", terminal.shown)
        self.assertTrue(self.viewers(vault, **KEYLESS)["Anna"]["hasPIN"])

    def test_kept(self):
        """Viewers, shares and positions outlive a restart, a new locator and a rebuilt index, and none is readable"""
        vault = self.served_vault()
        one, = self.fetched(vault, "one.mp4")
        vault.result("viewers", "add", "Annabella the Viewer", "--pin-file", self.file("a-secret-PIN"))
        vault.result("share", one, "--with", "Annabella the Viewer")
        status, _ = control.ask(
            vault, "PUT", f"resources/{one}/position", {"seconds": 12.5, "duration": 4321})
        self.assertEqual(status, 200)
        vault.stop()
        vault.result("keys", "rotate", "--locator")
        for name in ("index.sqlite", "catalog.backup"):
            with open(os.path.join(vault.folder, name), "rb") as file:
                content = file.read()
            for text in (b"Annabella", b"a-secret-PIN", one.encode(), b"12500", b"4321"):
                self.assertNotIn(text, content, name)
        with open(os.path.join(vault.base, "service.log"), "rb") as file:
            log = file.read()
        self.assertNotIn(b"Annabella", log)
        self.assertNotIn(b"a-secret-PIN", log)
        os.remove(os.path.join(vault.folder, "index.sqlite"))
        vault.result("index", "rebuild")
        vault.serve()
        known = self.viewers(vault, **KEYLESS)["Annabella the Viewer"]
        self.assertEqual((known["hasPIN"], known["titles"]), (True, 1))
        status, document = control.ask(vault, "GET", "positions")
        self.assertEqual(status, 200)
        self.assertEqual([(item["id"], item["seconds"]) for item in json.loads(document)["positions"]], [(one, 12.5)])
