"""The download queue: it survives restarts, keeps to its bounds, waits for origins, and is shown live."""

import calendar
import json
import os
import signal
import time

from harness import control
from harness.case import VaultCase, each
from harness.control import KEYLESS
from harness.terminal import Terminal
from harness.waiting import eventually

SIZE, HOLD = 1 << 20, 300_000


class Queue(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls._films = 0

    def films(self, count, origin=None, **script):
        """Adds films to an origin; returns their targets and URLs."""
        origin, targets = origin or self.origin, []
        for _ in range(count):
            type(self)._films += 1
            targets.append(f"film-{self._films}.mp4")
            origin.add(targets[-1], size=SIZE, seed=self._films, **script)
            self.addCleanup(origin.film(targets[-1]).release.set)
        return targets, [origin.url(target) for target in targets]

    def downloads(self, vault):
        return json.loads(vault.result("downloads", "--json", **(KEYLESS if vault.service else {})))

    def states(self, vault):
        return [item["state"] for item in self.downloads(vault)["downloads"]]

    def counts(self, vault, **others):
        return {"damaged": 0, "failed": 0, "paused": 0, "running": 0, "waiting": 0, **others}

    def assert_counts(self, vault, **others):
        self.assert_eventually(lambda: self.downloads(vault)["counts"], self.counts(vault, **others))

    def open_connections(self, origin, targets):
        return sum(
            1 for target in targets for item in origin.gets(target) if not item.ended.is_set())

    def wait_until_held_back(self, target):
        self.assertTrue(eventually(lambda: any(item.waiting.is_set() for item in self.origin.gets(target))))

    def test_detached_without_service(self):
        """fetch --detach without a service says that one has to run; the next one fetches everything"""
        vault, (targets, urls) = self.new_vault(), self.films(3)
        done = vault.run("fetch", "--detach", *urls)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("queued 3 titles; no service is running", done.stderr.decode())
        ids = [line.split()[0] for line in done.stdout.decode().splitlines()]
        self.assertEqual([item["id"] for item in self.downloads(vault)["downloads"]], ids)
        self.assertEqual(sum(len(self.origin.gets(target)) for target in targets), 0)
        self.assertIn("3 waiting", vault.result("status").decode())
        vault.serve()
        self.assert_counts(vault)
        self.assertEqual([vault.info(url)["id"] for url in urls], ids)
        self.assertEqual([vault.info(url)["bytes"] for url in urls], [SIZE] * 3)

    @each("SIGKILL", "SIGTERM")
    def test_restart(self, name):
        """After {} of the service the queue continues where it stopped, and each byte is fetched once"""
        vault, (targets, urls) = self.served_vault(), self.films(4, hold_at=HOLD)
        vault.result("fetch", "--detach", *urls, **KEYLESS)
        for target in targets[:2]:
            self.wait_until_held_back(target)
        self.assert_eventually(lambda: [vault.info(url)["bytes"] for url in urls[:2]], [HOLD] * 2)
        vault.service.process.send_signal(getattr(signal, name))
        vault.service.process.wait(30)
        for target in targets:
            self.origin.film(target).release.set()
        vault.serve()
        self.assert_counts(vault)
        self.assertEqual([vault.info(url)["bytes"] for url in urls], [SIZE] * 4)
        for target in targets[:2]:
            first, *others = [item.range for item in self.origin.gets(target)]
            self.assertEqual([item and item.split("-")[0] for item in others], [f"bytes={HOLD}"], first)
        for url, target in zip(urls, targets):
            self.assertTrue(vault.result("cat", url, **KEYLESS) == self.origin.film(target).content, url)

    def test_bounds(self):
        """Three downloads run at a time, two for one host; another host is not held up; settings apply at once"""
        vault, other = self.served_vault(), self.new_scripted_origin()
        targets, urls = self.films(6, hold_at=HOLD)
        other_targets, other_urls = self.films(4, other, hold_at=HOLD)
        vault.result("fetch", "--detach", *urls, *other_urls, **KEYLESS)
        self.assert_counts(vault, running=3, waiting=7)
        running = lambda: (  # noqa: E731
            self.open_connections(self.origin, targets), self.open_connections(other, other_targets))
        self.assert_eventually(running, (2, 1))
        vault.result("config", "set", "parallel-downloads", "6", **KEYLESS)
        self.assert_eventually(running, (2, 2))
        vault.result("config", "set", "downloads-per-host", "4", **KEYLESS)
        self.assert_eventually(running, (4, 2))
        vault.result("config", "set", "parallel-downloads", "1", **KEYLESS)
        self.assert_eventually(running, (1, 0))
        self.assert_counts(vault, running=1, waiting=9)
        for film in [*self.origin.films.values(), *other.films.values()]:
            film.release.set()
        self.assert_counts(vault)

    def test_waits_for_the_origin(self):
        """An origin that asks for time gets it, one that is briefly busy is asked again, and a 404 stays in the list"""
        vault = self.served_vault()
        (busy, gone, brief), urls = self.films(3)
        film = self.origin.film(busy)
        film.status, film.headers = 503, {"Retry-After": "3600"}
        self.origin.film(gone).status, self.origin.film(brief).status = 404, 500
        vault.result("fetch", "--detach", *urls, **KEYLESS)
        self.assertTrue(eventually(lambda: self.origin.gets(brief)))
        self.origin.film(brief).status = None
        self.assert_counts(vault, failed=1, waiting=1)
        waiting, failed, done = self.downloads(vault)["downloads"]
        self.assertEqual((waiting["attempts"], waiting["problem"]["originStatus"]), (1, 503))
        next_attempt = calendar.timegm(time.strptime(waiting["nextAttempt"], "%Y-%m-%dT%H:%M:%SZ"))
        self.assertGreater(next_attempt, time.time() + 3000)
        self.assertEqual(failed["problem"]["originStatus"], 404)
        self.assertEqual((done["state"], vault.info(urls[2])["bytes"]), ("done", SIZE))
        self.assertIn("retry in", vault.result("downloads", **KEYLESS).decode())
        # A person may retry what failed, and what waits; a restart forgets neither.
        vault.stop()
        vault.serve()
        self.assert_counts(vault, failed=1, waiting=1)
        film.status = self.origin.film(gone).status = None
        self.assertEqual(vault.result("downloads", "retry", "--all", **KEYLESS), b"2 downloads queued again\n")
        self.assert_counts(vault)
        self.assertEqual([vault.info(url)["bytes"] for url in urls], [SIZE] * 3)
        self.assertIn("a download failed", vault.service.log())

    def test_unreachable(self):
        """A download whose origin cannot be reached waits, and retry lets it run at once"""
        vault, origin = self.served_vault(), self.new_scripted_origin()
        _, (url,) = self.films(1, origin)
        port = origin.port
        origin.stop()
        vault.result("fetch", "--detach", url, **KEYLESS)
        self.assert_eventually(
            lambda: [item["problem"] and item["problem"]["code"] for item in self.downloads(vault)["downloads"]],
            ["unreachable"])
        self.assertEqual(self.states(vault), ["waiting"])
        self.assertEqual(vault.run("downloads", "retry", "--all", **KEYLESS).stdout, b"1 download queued again\n")
        self.assertGreater(port, 0)

    def test_acts(self):
        """pause, resume, first, last and cancel do what they say, by id, by URL and for all"""
        vault, (targets, urls) = self.served_vault(), self.films(4, hold_at=HOLD)
        vault.result("fetch", "--detach", *urls, **KEYLESS)
        self.wait_until_held_back(targets[0])
        ids = [item["id"] for item in self.downloads(vault)["downloads"]]
        self.assertEqual(vault.result("downloads", "pause", ids[0], **KEYLESS), b"1 download paused\n")
        self.assertTrue(eventually(lambda: self.origin.gets(targets[0])[0].ended.is_set()))
        self.assert_counts(vault, paused=1, running=2, waiting=1)
        self.assertEqual(json.loads(vault.result("downloads", "pause", "--all", "--json", **KEYLESS)), {"changed": 3})
        self.assert_eventually(lambda: self.open_connections(self.origin, targets), 0)
        vault.result("downloads", "first", urls[3], ids[2], **KEYLESS)
        vault.result("downloads", "last", ids[0], **KEYLESS)
        order = [item["id"] for item in self.downloads(vault)["downloads"]]
        self.assertEqual(order, [ids[2], ids[3], ids[1], ids[0]])
        self.assertIn("--yes", vault.run("downloads", "cancel", "--all", **KEYLESS).stderr.decode())
        vault.result("downloads", "cancel", ids[1], **KEYLESS)
        self.assertEqual(self.states(vault), ["paused"] * 3 + ["ended"])
        self.assertEqual(vault.run("downloads", "cancel", ids[1], **KEYLESS).returncode, 6)
        self.assertEqual(vault.run("downloads", "resume", **KEYLESS).returncode, 2)
        for target in targets:
            self.origin.film(target).release.set()
        vault.result("downloads", "resume", "--all", **KEYLESS)
        self.assert_counts(vault)
        self.assertEqual([vault.info(urls[number])["bytes"] for number in (0, 2, 3)], [SIZE] * 3)

    def test_hours(self):
        """Outside its hours nothing is fetched; at their end a download pauses, and later continues where it stopped"""
        vault, (targets, urls) = self.new_vault(), self.films(1, hold_at=HOLD)
        hour = lambda ahead: time.strftime("%H:%M", time.localtime(time.time() + ahead * 3600))  # noqa: E731
        vault.result("config", "set", "download-hours", f"{hour(2)}-{hour(4)}")
        vault.serve()
        vault.result("fetch", "--detach", *urls, **KEYLESS)
        vault.result("config", "set", "download-hours", f"{hour(-22)}-{hour(-20)}", **KEYLESS)
        self.assert_counts(vault, waiting=1)
        self.assertEqual(self.origin.gets(targets[0]), [])
        vault.result("config", "set", "download-hours", f"{hour(-2)}-{hour(2)}", **KEYLESS)
        self.wait_until_held_back(targets[0])
        self.assert_eventually(lambda: vault.info(urls[0])["bytes"], HOLD)
        vault.result("config", "set", "download-hours", f"{hour(3)}-{hour(4)}", **KEYLESS)
        self.assertTrue(eventually(lambda: self.origin.gets(targets[0])[0].ended.is_set()))
        self.assert_counts(vault, waiting=1)
        self.origin.film(targets[0]).release.set()
        vault.result("config", "unset", "download-hours", **KEYLESS)
        self.assert_counts(vault)
        self.assertEqual(vault.bytes_fetched(), SIZE)

    def test_rate(self):
        """All downloads of the queue share its rate"""
        vault, (_, urls) = self.served_vault(), self.films(2)
        vault.result("config", "set", "download-rate", "500kB/s", **KEYLESS)
        self.assertIn(b"500kB/s", vault.result("config", "get", "download-rate", **KEYLESS))
        started = time.monotonic()
        vault.result("fetch", "--detach", *urls, **KEYLESS)
        self.assert_counts(vault)
        took = time.monotonic() - started
        self.figure("two queued downloads of 1 MiB at 500 kB/s", took, ">= 3.5", " s")
        self.assertGreaterEqual(took, 3.5)

    def test_list_of_many(self):
        """A list is queued as a whole, in its order; one malformed title is named, and keeps all of them out"""
        vault, (_, urls) = self.new_vault(), self.films(30)
        listed = "\n".join([*urls[:10], "ftp://a.example/", *urls[10:]])
        done = vault.run("fetch", "--detach", "-", input=listed.encode())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("standard input:11: not a URL", done.stderr.decode())
        self.assertIn("nothing was queued", done.stderr.decode())
        self.assertEqual(self.downloads(vault)["downloads"], [])
        done = vault.run("fetch", "--detach", "-", input="\n".join(urls).encode())
        self.assertIn("queued 30 titles", done.stderr.decode())
        document = self.downloads(vault)
        self.assertEqual([item["url"] for item in document["downloads"]], urls)
        vault.result("fetch", "--detach", "--first", urls[29])
        self.assertEqual([item["url"] for item in self.downloads(vault)["downloads"]], [urls[29], *urls[:29]])
        vault.serve()
        self.assert_counts(vault)
        self.assertEqual(len(json.loads(vault.result("list", "--json"))), 30)

    def test_request_fields(self):
        """Request fields of a queued title are used after a restart"""
        vault = self.new_vault()
        (target,), (url,) = self.films(1, secret="Bearer of-the-queue")
        fields = os.path.join(self.scratch, "fields")
        with open(fields, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("Authorization: Bearer of-the-queue\n")
        vault.result("fetch", "--detach", "--header-file", fields, url)
        vault.serve()
        self.assert_counts(vault)
        self.assertEqual({item.fields.get("authorization") for item in self.origin.gets(target)},
                         {"Bearer of-the-queue"})

    def test_api(self):
        """The API queues several downloads at once, and lists those that clients wait for before the queue"""
        vault, (targets, urls) = self.served_vault(), self.films(3, hold_at=HOLD)
        status, body = control.ask(
            vault, "POST", "downloads", {"downloads": [{"url": url} for url in urls[:2]]})
        self.assertEqual(status, 202, body)
        self.assertEqual([item["url"] for item in json.loads(body)["downloads"]], urls[:2])
        self.wait_until_held_back(targets[0])
        status, body = control.ask(vault, "PATCH", "downloads", {"act": "cancel", "all": True})
        self.assertEqual((status, json.loads(body)), (200, {"changed": 2}))
        self.assert_eventually(lambda: self.open_connections(self.origin, targets), 0)

    def test_live(self):
        """At a terminal downloads shows bars while something runs, and ends with the table"""
        vault, (targets, urls) = self.served_vault(), self.films(2, hold_at=HOLD)
        vault.result("fetch", "--detach", *urls, **KEYLESS)
        self.wait_until_held_back(targets[1])
        terminal = Terminal([vault.binary, "downloads"], {**vault.environment, **KEYLESS, "TERM": "xterm"})
        terminal.wait_for(b"queue: 2 running")
        terminal.wait_for(b"28 %")
        self.assertIn(targets[0].encode(), terminal.shown)
        for target in targets:
            self.origin.film(target).release.set()
        terminal.wait_for(b"the queue is empty")
        self.assertEqual(terminal.end(), 0)
        self.assertIn(b"done", terminal.shown)
        self.assertIn(b"100 %", terminal.shown)

    def test_watch(self):
        """downloads --watch goes on until Ctrl-C, and the service is not disturbed"""
        vault = self.served_vault()
        terminal = Terminal([vault.binary, "downloads", "--watch"], {**vault.environment, **KEYLESS, "TERM": "xterm"})
        terminal.wait_for(b"the queue is empty")
        terminal.type(b"\x03")
        self.assertEqual(terminal.end(), 130)
        self.assertTrue(vault.service.is_up())
