"""Tokens with scopes, and links with a name: what each allows, and that each can be taken away on its own."""

import glob
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse

from harness import client, control
from harness.case import ROOT, VaultCase
from harness.control import KEYLESS
from harness.media import TITLE

NAME, FILM = "tone.mp3", "moov-first.mp4"
SCOPES = ("metrics", "read", "play", "admin")
READER = os.path.join(ROOT, "Tests", "IndependentReader")


class Tokens(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_origin()

    def ask(self, vault, method, target, token=None, document=None):
        """Returns the answer to a request on the port, without reading the body of a feed."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        connection = http.client.HTTPConnection(*vault.listen.split(":"), timeout=60)
        body = None if document is None else json.dumps(document)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, target, body=body, headers=headers)
        answer = connection.getresponse()
        is_feed = answer.getheader("Content-Type") == "text/event-stream"
        data = b"" if is_feed else answer.read()
        connection.close()
        return client.Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, data, True)

    def status_of(self, vault, token):
        return self.ask(vault, "GET", "/api/v1/status", token).status

    def test_scopes(self):
        """Each scope allows exactly the routes and methods that the description names, and no token allows none"""
        vault = self.served_vault()
        tokens = {scope: vault.token(scope) for scope in SCOPES}
        paths = json.loads(control.ask(vault, "GET", "openapi.json")[1])["paths"]
        needed = {(path.replace("{id}", "aaaaaaaa"), method.upper()): operation["x-scope"]
                  for path, operations in paths.items() for method, operation in operations.items()
                  if operation.get("security") != []}
        needed["/metrics", "GET"] = "metrics"
        self.assertGreater(len(needed), 50)
        for (target, method), least in needed.items():
            document = {} if method in ("POST", "PATCH", "PUT") else None
            answer = self.ask(vault, method, target, document=document)
            self.assertEqual((answer.status, answer.headers["www-authenticate"]), (401, 'Bearer realm="mediavault"'))
            wrong = self.ask(vault, method, target, tokens["admin"][:-1] + "~", document)
            self.assertEqual(wrong.status, 401, (method, target))
            self.assertIn('error="invalid_token"', wrong.headers["www-authenticate"])
            for scope, token in tokens.items():
                if scope == "admin" and least == "admin":
                    continue  # what it can do would end the service
                answer = self.ask(vault, method, target, token, document)
                if SCOPES.index(scope) >= SCOPES.index(least):
                    self.assertNotIn(answer.status, (401, 403), (scope, method, target))
                else:
                    self.assertEqual(answer.status, 403, (scope, method, target))
                    self.assertIn(f'error="insufficient_scope", scope="{least}"', answer.headers["www-authenticate"])
        for target, status in (("/healthz", 200), ("/readyz", 200), ("/api/v1/other", 404), ("/", 200), ("/x", 404)):
            self.assertEqual(self.ask(vault, "GET", target).status, status)
        self.assertEqual(self.ask(vault, "GET", "/api/v1/keys", tokens["admin"]).status, 200)

    def test_scraper(self):
        """A token for metrics reads metrics, and can neither read titles nor destroy anything"""
        vault = self.served_vault()
        token, id = vault.token("metrics", "--name", "prometheus"), vault.status()["vault"]
        self.assertEqual(self.ask(vault, "GET", "/metrics", token).status, 200)
        for method, target, document in (
                ("GET", "/api/v1/resources", None), ("POST", "/api/v1/destructions", {"vault": id}),
                ("POST", "/api/v1/tokens", {"scope": "admin"}), ("DELETE", "/api/v1/tokens?all=true", None)):
            self.assertEqual(self.ask(vault, method, target, token, document).status, 403)
        self.assertEqual(vault.status()["vault"], id)

    def test_without_key(self):
        """Beside a service, no command for tokens and named links needs a key, and the token is the only output"""
        vault = self.served_vault()
        done = vault.run("token", "create", "--scope", "read", "--name", "dash", "--expires", "30d", **KEYLESS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"^mvt_[A-Za-z0-9_-]{64}\n$")
        self.assertNotIn(done.stdout.strip(), done.stderr)
        token, = json.loads(vault.result("token", "list", "--json", **KEYLESS))["tokens"]
        self.assertEqual((token["name"], token["scope"], token["lastUsed"]), ("dash", "read", None))
        self.assertIn(token["id"].encode(), done.stderr)
        self.assertEqual(self.status_of(vault, done.stdout.decode().strip()), 200)
        shown = vault.result("token", "list", **KEYLESS).decode().split()
        self.assertEqual(shown[:6], ["ID", "SCOPE", "CREATED", "EXPIRES", "USED", "NAME"])
        self.assertEqual(shown[6:8] + shown[-1:], [token["id"], "read", "dash"])
        self.assertRegex(shown[-2], r"^20\d\d-\d\d-\d\d$")
        vault.result("url", self.origin.url(NAME), "--name", "tv", "--expires", "never", **KEYLESS)
        link, = json.loads(vault.result("links", "list", "--json", **KEYLESS))["links"]
        self.assertEqual((link["name"], link["expires"], link["url"]), ("tv", None, self.origin.url(NAME)))
        twice = vault.run("links", "revoke", link["id"], "tv", link["id"], "--json", **KEYLESS)
        self.assertEqual((twice.returncode, json.loads(twice.stdout)), (0, {"revoked": 1}), "named twice, one link")
        self.assertIn("--yes", vault.run("token", "revoke", "--all", **KEYLESS).stderr.decode())
        vault.result("token", "revoke", "--all", "--yes", **KEYLESS)
        self.assertEqual((vault.result("links", "list"), vault.result("token", "list")), (b"", b""))
        self.assertEqual(vault.run("token", "revoke", "dash", **KEYLESS).returncode, 6)

    def test_revocation(self):
        """A revoked token and a revoked link end at once on open connections, and others go on"""
        vault, url = self.served_vault(), self.origin.url(NAME)
        tokens = [vault.token("read", "--name", name) for name in ("one", "two")]
        targets = [client.split(vault.address(url, "--name", name, "--expires", "never"))[2] for name in ("tv", "pad")]
        targets.append(client.split(vault.address(url))[2])
        connection = http.client.HTTPConnection(*vault.listen.split(":"), timeout=60)
        self.addCleanup(connection.close)

        def asked(target, **headers):
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status

        def statuses():
            return [asked("/api/v1/status", Authorization=f"Bearer {token}") for token in tokens] + [
                asked(target, Range="bytes=0-99") for target in targets]

        for _ in range(3):
            self.assertEqual(statuses(), [200, 200, 206, 206, 206])
        socket = connection.sock
        vault.result("token", "revoke", "one", **KEYLESS)
        self.assertEqual(statuses(), [401, 200, 206, 206, 206])
        vault.result("links", "revoke", "tv", **KEYLESS)
        self.assertEqual(statuses(), [401, 200, 404, 206, 206])
        self.assertIs(connection.sock, socket, "premise: the connection stayed open")
        vault.service.stop()
        connection.close()
        vault.serve()
        self.assertEqual(statuses(), [401, 200, 404, 206, 206])
        vault.result("keys", "revoke-links", **KEYLESS)
        self.assertEqual(statuses(), [401, 401, 404, 404, 404])

    def test_links_to_removed_titles(self):
        """remove and shred list the named links to a title before, and revoke them with --links, through the service
        and without it"""
        origin = self.new_scripted_origin()
        urls = [origin.add(f"linked-{number}.mp4", size=50_000, seed=number) for number in range(3)]
        for has_service in (True, False):
            vault = self.served_vault() if has_service else self.new_vault()
            options = KEYLESS if has_service else {}
            vault.result("fetch", *urls, **options)
            for name, titles in (("one", urls[:1]), ("both", urls[:2]), ("other", urls[2:])):
                vault.result("url", *titles, "--name", name, "--expires", "never", **options)

            def left():
                shown = json.loads(vault.result("links", "list", "--json", **options))["links"]
                return sorted(link["name"] for link in shown)

            done = vault.run("remove", urls[1], **options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"named link both", done.stderr)
            self.assertIn(b"--links", done.stderr)
            self.assertNotIn(b"link one", done.stderr)
            self.assertEqual(left(), ["both", "one", "other"])
            done = vault.run("shred", urls[0], "--links", **options)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in (b"named link one", b"named link both"):
                self.assertIn(name, done.stderr)
            self.assertEqual(left(), ["other"])
            done = vault.run("remove", "--links", urls[2], **options)
            self.assertEqual((done.returncode, b"is revoked once" in done.stderr), (0, True), done.stderr)
            self.assertEqual(left(), [])
            vault.stop()

    def test_expiry(self):
        """A token is refused from the moment at which it expires, and a past one is not created"""
        vault = self.served_vault()
        token = vault.token("read", "--expires", "3s")
        self.assertEqual(self.status_of(vault, token), 200)
        self.assert_eventually(lambda: self.status_of(vault, token), 401)
        for words in (("--expires", "2020-01-01"), ("--expires", "0s"), ("--expires", "soon"), ("--name", "")):
            done = vault.run("token", "create", "--scope", "read", *words)
            self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        late = json.loads(vault.result("token", "create", "--scope", "read", "--expires", "2031-05-06", "--json"))
        self.assertEqual(late["expires"], "2031-05-06T00:00:00Z")
        for words in (("--expires", "never"), ("--expires", "400d")):
            self.assertEqual(vault.run("url", self.origin.url(NAME), *words).returncode, 2)

    def test_key_operations(self):
        """Tokens and named links outlive a restart, a new generation and a new locator, and end with the root key"""
        vault, url = self.new_vault(), self.origin.url(NAME)
        token, address = vault.token("read"), vault.address(url, "--name", "tv", "--expires", "never")

        def statuses():
            return self.status_of(vault, token), client.get(address, "bytes=0-9").status

        vault.serve()
        self.assertEqual(statuses(), (200, 206))
        vault.result("keys", "rotate", **KEYLESS)
        vault.result("keys", "rotate", "--locator", **KEYLESS)
        self.assertEqual(statuses(), (200, 206))
        vault.service.stop()
        vault.serve()
        self.assertEqual(statuses(), (200, 206))
        vault.result("keys", "rotate", "--root", "--key-file", vault.key)
        self.assertEqual(statuses(), (401, 404))
        self.assertEqual(vault.result("token", "list"), b"")
        token = vault.token("read", "--name", "again")
        self.assertEqual(statuses(), (200, 404))

    def test_kill(self):
        """A token or link that was printed works after the service was killed the moment after"""
        vault = self.served_vault()
        for number in range(3):
            token = vault.token("read", "--name", str(number))
            address = vault.address(self.origin.url(NAME), "--name", str(number), "--expires", "never")
            vault.service.process.send_signal(signal.SIGKILL)
            vault.service.process.wait()
            vault.serve()
            self.assertEqual(self.status_of(vault, token), 200)
            self.assertEqual(client.get(address, "bytes=0-9").status, 206)

    def test_lost_index(self):
        """A revoked token stays revoked if the service is killed at once and the index is lost, and others stay valid"""
        vault = self.new_vault()
        tokens = [vault.token("read", "--name", name) for name in ("gone", "kept")]
        vault.serve()
        vault.result("token", "revoke", "gone", **KEYLESS)
        vault.service.process.send_signal(signal.SIGKILL)
        vault.service.process.wait()
        for path in glob.glob(os.path.join(vault.folder, "index.sqlite*")):
            os.remove(path)
        vault.result("index", "rebuild")
        vault.serve()
        self.assertEqual([self.status_of(vault, token) for token in tokens], [401, 200])

    def test_nothing_readable(self):
        """No name, token or link can be read in the vault's files; the independent reader finds each record, and makes
        the token from it and the keyring"""
        vault, name = self.new_vault(), "a-name-that-nothing-else-has"
        token = vault.token("play", "--name", name)
        link = vault.address(self.origin.url(NAME), "--name", name + "-link", "--expires", "never")
        secrets = [name, token, token[4:30], client.split(link)[2].split("/")[2], '"play"']
        for path in glob.glob(os.path.join(vault.folder, "**"), recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
                for secret in secrets:
                    self.assertNotIn(secret.encode(), data, path)
        done = subprocess.run(
            [sys.executable, os.path.join(READER, "read_vault.py"), vault.folder, vault.keyring, "--key-file", vault.key],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-1000:] + done.stderr[-500:])
        grants = {grant["kind"]: grant for grant in json.loads(done.stdout)["grants"]}
        self.assertEqual((grants["token"]["name"], grants["token"]["scope"]), (name, "play"))
        self.assertEqual((grants["links"]["name"], grants["links"]["url"]), (name + "-link", self.origin.url(NAME)))
        program = (
            "import sys, json; sys.path.insert(0, sys.argv[1])\n"
            "from vaultformat import keyring, token, unlock\n"
            "members = keyring.read(open(sys.argv[2], 'rb').read())\n"
            "keys = keyring.unlock_keys(members, unlock.key_file(open(sys.argv[3], 'rb').read()))\n"
            "print(token.text(keys.token, members['tokenEpoch'], bytes.fromhex(sys.argv[4]), 'play'))\n"
            "print(token.era(keys.token, members['tokenEpoch']).hex())")
        made = subprocess.run(
            [sys.executable, "-c", program, READER, vault.keyring, vault.key, grants["token"]["id"]],
            capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(made[0], token)

    def test_player(self):
        """A token for playing plays what the vault has and nothing else, and its links end with it"""
        vault, url = self.served_vault(), self.origin.url(NAME)
        vault.result("fetch", url)
        token, other = vault.token("play", "--name", "kodi"), self.origin.url(FILM)

        def link(**document):
            return self.ask(vault, "POST", "/api/v1/links", token, document)

        for document, status in (
                ({"url": other}, 404), ({"url": url, "name": "mine"}, 400), ({"url": url, "lifetime": 0}, 400),
                ({"url": url, "fields": [["Cookie", "a"]]}, 400), ({"url": other, "contentID": "film"}, 400)):
            self.assertEqual(link(**document).status, status, document)
        at_content = "/api/v1/content?url=" + urllib.parse.quote(other, safe="")
        self.assertEqual(self.ask(vault, "GET", at_content, token).status, 404)
        fetched = vault.bytes_fetched()
        made = link(url=url)
        self.assertEqual(made.status, 200, made.body)
        address = f"http://{vault.listen}{json.loads(made.body)['path']}"
        self.assert_whole(address, NAME)
        self.assertEqual(self.ask(
            vault, "GET", "/api/v1/content?url=" + urllib.parse.quote(url, safe=""), token).status, 200)
        self.assertEqual(vault.bytes_fetched(), fetched, "nothing was requested for it")
        vault.result("token", "revoke", "kodi", **KEYLESS)
        self.assertEqual(client.get(address).status, 404)

    def test_tickets(self):
        """A ticket opens the feed of events once, is in no log, and the feed ends when its token is revoked"""
        vault = self.served_vault("--log-level", "debug")
        token = vault.token("read", "--name", "page")
        made = self.ask(vault, "POST", "/api/v1/tickets", token)
        ticket = json.loads(made.body)["ticket"]
        target = f"/api/v1/events?ticket={ticket}"
        self.assertEqual(self.ask(vault, "GET", f"/api/v1/status?ticket={ticket}").status, 401, "for events only")
        stream = client.Stream(f"http://{vault.listen}{target}")
        self.addCleanup(stream.close)
        self.assertEqual((stream.status, stream.headers["content-type"]), (200, "text/event-stream"))
        self.assertEqual(stream.read(3), b":\n\n")
        self.assertEqual(self.ask(vault, "GET", target).status, 401, "once")
        unused = json.loads(self.ask(vault, "POST", "/api/v1/tickets", token).body)["ticket"]
        self.assertEqual(self.ask(vault, "GET", "/api/v1/events?ticket=" + "A" * 43).status, 401)
        vault.result("token", "revoke", "page", **KEYLESS)
        stream.read(1 << 20)  # to its end
        self.assertEqual(self.ask(vault, "GET", f"/api/v1/events?ticket={unused}").status, 401)
        log = vault.service.log()
        self.assertIn("tokens, named links or sessions were revoked", log)
        for secret in (ticket, unused, token, "page"):
            self.assertNotIn(secret, log)

    def test_playlist(self):
        """A playlist of all titles has their names on one line each, and every link plays and ends with its name"""
        vault, urls = self.served_vault(), {name: self.origin.url(name) for name in (NAME, FILM)}
        for url in urls.values():
            vault.result("fetch", url)
        vault.result("rename", urls[NAME], "Tone, 440 Hz")
        text = vault.result("url", "--m3u", "--all", "--name", "tv", "--expires", "never", **KEYLESS).decode()
        lines = text.splitlines()
        self.assertEqual((lines[0], len(lines), text[-1]), ("#EXTM3U", 5, "\n"))
        entries = dict(zip((line.partition(",")[2] for line in lines[1::2]), lines[2::2]))
        self.assertEqual(set(entries), {"Tone, 440 Hz", TITLE})
        for line in lines[1::2]:
            self.assertRegex(line, r"^#EXTINF:(-1|\d+),")
        self.assert_whole(entries["Tone, 440 Hz"], NAME)
        self.assert_whole(entries[TITLE], FILM)
        link, = json.loads(vault.result("links", "list", "--json"))["links"]
        self.assertEqual(link["count"], 2)
        vault.result("links", "revoke", "tv")
        self.assertEqual({client.get(address).status for address in entries.values()}, {404})
        plain = vault.result("url", "--m3u", "--all", **KEYLESS).decode().splitlines()
        self.assertEqual(len(plain), 5, "beside a service no key is needed without a name either")
        self.assert_whole(plain[2], NAME if "Tone" in plain[1] else FILM)
        several = vault.result("url", *urls.values()).decode().split()
        self.assertEqual([re.sub(".*/", "", address) for address in several], list(urls))
        prefixed = vault.result("url", "--m3u", "--prefix", self.origin.url("moov")).decode().splitlines()
        # The film's header says how long it plays.
        self.assertEqual(prefixed[1], f"#EXTINF:20,{TITLE}")
