"""Feeds and lists that the vault follows: what is new comes, what is gone goes, and a feed that fails changes nothing."""

import http.client
import json
import os

from harness.case import VaultCase, each
from harness.control import KEYLESS

SIZE = 20_000
WAYS = ("without a service", "through a service")


def rss(*items):
    """Returns a feed with an enclosure for each URL."""
    entries = "".join(
        f"<item><title>Part {number}</title><guid>g-{number}</guid><pubDate>Wed, {number + 1:02} Oct 2002 13:00:00 GMT"
        f"</pubDate><enclosure url='{url}' type='video/mp4'/></item>" for number, url in enumerate(items))
    return f"<?xml version='1.0'?><rss version='2.0'><channel><title>The show</title>{entries}</channel></rss>".encode()


class Sync(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls._films = 0

    def films(self, count):
        """Adds files to the origin; returns their URLs."""
        urls = []
        for _ in range(count):
            type(self)._films += 1
            urls.append(self.origin.add(f"part-{self._films}.mp4", size=SIZE, seed=self._films))
        return urls

    def publish(self, content, name=None, type="application/rss+xml"):
        """Lets a feed have this content; returns its URL."""
        name = name or f"{self.id().split('.')[-1]}.xml"
        return self.origin.add(f"{name}?token=hunter2", content=content, type=type)

    def vault_by(self, how):
        return self.served_vault() if how == "through a service" else self.new_vault()

    def environment(self, vault):
        return KEYLESS if vault.service else {}

    def sync(self, vault, *arguments):
        return vault.run("sync", *arguments, **self.environment(vault))

    def api(self, vault, token, method, target, document=None):
        """Returns the status and the document of an answer of the API."""
        connection = http.client.HTTPConnection(*vault.listen.split(":"), timeout=60)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request(method, "/api/v1/" + target, json.dumps(document) if document is not None else None, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, json.loads(body)

    def assert_held(self, vault, urls):
        def held():
            titles = json.loads(vault.result("list", "--json"))
            return {title["url"] for title in titles if title["size"] == title["bytes"] is not None}
        self.assert_eventually(held, set(urls))

    @each(*WAYS)
    def test_feed(self, how):
        """{}, a feed is followed: new titles come once, gone ones go, and a run without a change is silent with -q"""
        vault, urls = self.vault_by(how), self.films(3)
        feed = self.publish(rss(*urls[:2]), f"followed-{how[:4]}.xml")
        done = self.sync(vault, feed)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_held(vault, urls[:2])
        names = {title["name"] for title in json.loads(vault.result("list", "--json"))}
        self.assertEqual(names, {"Part 0", "Part 1"})
        done = self.sync(vault, feed, "-q")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.publish(rss(*urls[1:]), f"followed-{how[:4]}.xml")
        shown = self.sync(vault, feed, "--dry-run").stdout.decode()
        self.assertIn("1 to fetch, 0 to remove, 1 unchanged, 1 stay until everything new is there", shown)
        self.assert_held(vault, urls[:2])
        done = self.sync(vault, feed, "--json")
        report = json.loads(done.stdout)
        self.assertEqual([(item["name"], item["problem"]) for item in report["fetched"]], [("Part 1", None)])
        # A service removes it when the new one has come.
        gone = [("Part 0", None)] if how == "without a service" else []
        self.assertEqual([(item["name"], item["problem"]) for item in report["removed"]], gone)
        self.assert_held(vault, urls[1:])
        for url in urls:
            self.assertEqual(len(self.origin.gets(url.rsplit("/", 1)[1])), 1)
        listed = self.sync(vault, "list").stdout.decode()
        self.assertIn("The show", listed)
        self.assertNotIn("hunter2", listed + done.stdout.decode() + done.stderr.decode())

    @each(*WAYS)
    def test_failing_feeds(self, how):
        """{}, a feed that is empty, damaged, missing, a portal's page or too odd removes nothing, and the run fails"""
        vault, urls = self.vault_by(how), self.films(1)
        name = f"failing-{how[:4]}.xml"
        feed = self.publish(rss(*urls), name)
        self.assertEqual(self.sync(vault, feed).returncode, 0)
        self.assert_held(vault, urls)
        whole = rss("https://a.example/1.mp4")
        for content, type_ in (
                (rss(), "application/rss+xml"), (whole[:-20], "application/rss+xml"), (b"", "application/rss+xml"),
                (b"<!DOCTYPE html><html><body>Log in</body></html>", "text/html"), (b"Log in", "text/plain"),
                (b"[", "application/json"), (b"<!DOCTYPE rss [<!ENTITY a 'b'>]>" + whole, "application/rss+xml")):
            self.publish(content, name, type_)
            done = self.sync(vault, feed)
            self.assertNotEqual(done.returncode, 0, content)
            self.assertNotIn(b"hunter2", done.stderr)
        self.origin.add(f"{name}?token=hunter2", status=404)
        self.assertEqual(self.sync(vault, feed).returncode, 5)
        self.assert_held(vault, urls)
        self.publish(rss("ftp://a.example/1.mp4"), name)
        self.assertEqual(self.sync(vault, feed).returncode, 5)
        self.assert_held(vault, urls)

    @each(*WAYS)
    def test_lists(self, how):
        """{}, a list in a file is followed under its path, and one on standard input under its name"""
        vault, urls = self.vault_by(how), self.films(4)
        path = os.path.join(self.scratch, f"list-{how[:4]}.txt")

        def write(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        write("# mine\n" + "\n".join(urls[:2]) + "\n")
        self.assertEqual(self.sync(vault, path).returncode, 0)
        self.assert_held(vault, urls[:2])
        write(f"{urls[1]}\nno url\n{urls[2]}\n")
        done = self.sync(vault, path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(":2: ", done.stderr.decode())
        self.assert_held(vault, urls[:3])
        write("")
        self.assertEqual(self.sync(vault, path).returncode, 2)
        write(json.dumps([{"url": urls[1], "title": "One"}, urls[3]]))
        self.assertEqual(self.sync(vault, path, "--newest", "1").returncode, 0)
        self.assert_held(vault, [urls[1]])
        environment = self.environment(vault)
        self.assertEqual(vault.run("sync", "-", input=urls[0].encode(), **environment).returncode, 2)
        done = vault.run("sync", "-", "--name", "pipe", input=urls[0].encode(), **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_held(vault, urls[:2])

    def test_shared_and_pinned(self):
        """A title of two feeds stays until both drop it, and a pinned one stays"""
        vault, urls = self.new_vault(), self.films(4)
        one, two = self.publish(rss(*urls[:3]), "one.xml"), self.publish(rss(urls[0]), "two.xml")
        for feed in (one, two):
            self.assertEqual(self.sync(vault, feed).returncode, 0)
        vault.result("pin", urls[1])
        self.publish(rss(urls[3]), "one.xml")
        self.assertIn("1 kept because pinned", self.sync(vault, one).stdout.decode())
        self.assert_held(vault, [urls[0], urls[1], urls[3]])
        self.publish(rss(urls[3]), "two.xml")
        self.assertEqual(self.sync(vault, two).returncode, 0)
        self.assert_held(vault, [urls[1], urls[3]])

    def test_failing_title(self):
        """A title that cannot be fetched is named, the others come, and the next run tries it again"""
        vault, urls = self.new_vault(), self.films(1)
        missing = self.origin.url("later.mp4")
        feed = self.publish(rss(missing, *urls))
        done = self.sync(vault, feed)
        self.assertEqual(done.returncode, 5)
        self.assertIn("1 fetched, 0 removed, 0 unchanged, 1 failed", done.stdout.decode())
        self.assertIn("failed: Part 0", done.stderr.decode())
        self.origin.add("later.mp4", size=SIZE)
        self.assertEqual(self.sync(vault, feed).returncode, 0)
        self.assert_held(vault, [missing, *urls])

    def test_redirected_feed(self):
        """A feed behind a redirect to another origin may not name what is at private addresses"""
        vault, urls = self.new_vault(), self.films(1)
        other = self.new_scripted_origin()
        other.add("moved.xml", status=302, headers={"Location": self.publish(rss(*urls))})
        done = self.sync(vault, other.url("moved.xml"))
        self.assertNotEqual(done.returncode, 0)
        self.assert_held(vault, [])

    def test_subscription(self):
        """A subscription is followed by the service, also by the next one; remove --titles takes what it brought"""
        vault, urls = self.new_vault(), self.films(3)
        feed = self.publish(rss(*urls))
        added = self.sync(vault, "add", feed, "--newest", "2", "--name", "my show", "--every", "5m")
        self.assertEqual(added.returncode, 0, added.stderr)
        self.assertIn("no service is running", added.stderr.decode())
        vault.serve()
        self.assert_held(vault, urls[1:])
        document = json.loads(self.sync(vault, "list", "--json").stdout)["subscriptions"][0]
        self.assertEqual((document["name"], document["titles"], document["every"]), ("my show", 2, 300))
        self.assertIsNone(document["problem"])
        refused = self.sync(vault, feed)
        self.assertIn(f"is a saved subscription, {document['id']}", refused.stderr.decode())
        self.assertNotEqual(refused.returncode, 0)
        vault.stop()
        self.publish(rss(*urls[:2]))
        vault.serve()
        done = self.sync(vault, "run", "my show", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_held(vault, urls[:2])
        self.assertEqual(self.sync(vault, "run", "no such show").returncode, 6)
        done = self.sync(vault, "remove", "my show", "--titles")
        self.assertEqual(done.stdout.decode(), "1 subscription removed, 2 titles removed\n")
        self.assert_held(vault, [])
        self.assertEqual(self.sync(vault, "list").stdout.decode(), "")
        self.assertEqual(self.sync(vault, "add", feed).returncode, 0)
        self.assertEqual(self.sync(vault, "remove", "--all").returncode, 2, "there is no terminal to ask at")
        done = self.sync(vault, "remove", "--all", "--yes")
        self.assertEqual(done.stdout.decode(), "1 subscription removed, 0 titles removed\n")
        self.assertEqual(self.sync(vault, "list").stdout.decode(), "")

    @each(*WAYS)
    def test_tried(self, how):
        """{}, `sync add` reads a feed before it saves it; a service runs it at once, and --untried saves anything"""
        vault, urls = self.vault_by(how), self.films(2)
        name = f"tried-{how[:4]}.xml"
        feed = self.origin.add(name, content=b"<html><body>Log in</body></html>", type="text/html")
        done = self.sync(vault, "add", feed)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("it is a web page", done.stderr.decode())
        self.assertNotIn("--untried", done.stderr.decode())
        self.assertEqual(self.sync(vault, "list").stdout.decode(), "")
        self.origin.add(name, content=rss(*urls), type="application/rss+xml")
        asked = len(self.origin.gets(name))
        done = self.sync(vault, "add", feed)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("it names 2 titles", done.stderr.decode())
        self.assertEqual(len(self.origin.gets(name)), asked + 1)
        if vault.service:
            self.assert_held(vault, urls)
        self.assertEqual(self.sync(vault, "remove", "--all", "--yes").returncode, 0)
        feeds = f'<opml version="2.0"><body><outline xmlUrl="{feed}?token=hunter2"/></body></opml>'.encode()
        done = self.sync(vault, "add", self.origin.add(f"list-{name}", content=feeds, type="text/x-opml"))
        self.assertIn(f"list of 1 feed (OPML): {feed}", done.stderr.decode())
        self.assertNotIn("hunter2", done.stderr.decode())
        done = self.sync(vault, "add", "http://127.0.0.1:1/feed")
        self.assertIn("--untried", done.stderr.decode(), "it may be there later")
        done = self.sync(vault, "add", "http://127.0.0.1:1/feed", "--untried")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not tried", done.stderr.decode())

    @each(*WAYS)
    def test_pages(self, how):
        """{}, a feed in pages is read to its end; while a page is missing nothing is removed, and the exit code is 1"""
        vault, urls = self.vault_by(how), self.films(3)
        name = f"paged-{how[:4]}"

        def publish(first, second):
            link = b"<channel><atom:link rel='next' href='%s-2.xml'/>" % name.encode()
            content = rss(*first).replace(b"<channel>", link)
            feed = self.origin.add(f"{name}.xml", content=content, type="application/rss+xml")
            if second:
                self.origin.add(f"{name}-2.xml", content=rss(*second), type="application/rss+xml")
            else:
                self.origin.add(f"{name}-2.xml", status=404)
            return feed
        feed = publish(urls[:1], urls[1:2])
        self.assertEqual(self.sync(vault, feed).returncode, 0)
        self.assert_held(vault, urls[:2])
        publish(urls[2:], [])
        done = self.sync(vault, feed)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nothing was removed", done.stderr.decode())
        self.assert_held(vault, urls)
        self.assertIn(f"{name}-2.xml", self.sync(vault, "list").stdout.decode())

    def test_api(self):
        """The API has subscriptions and syncs; a body that is odd is refused, and no answer has the token of a feed"""
        vault, urls = self.served_vault(), self.films(1)
        feed = self.publish(rss(*urls))
        token = vault.token()
        for body in ({}, {"url": feed, "list": "b"}, {"url": "ftp://a.example"}, {"url": feed, "every": 1},
                     {"url": feed, "newest": 0}, {"url": feed, "odd": 1}, {"url": feed, "name": "a\nb"}):
            self.assertEqual(self.api(vault, token, "POST", "subscriptions", body)[0], 400, body)
        status, document = self.api(vault, token, "POST", "subscriptions", {"url": feed, "name": "show"})
        self.assertEqual(status, 200)
        self.assertNotIn("hunter2", json.dumps(document))
        status, report = self.api(vault, token, "POST", "syncs", {"id": document["id"]})
        self.assertEqual((status, len(report["fetched"])), (200, 1))
        self.assert_held(vault, urls)
        for body in ({}, {"id": "00000000"}, {"id": document["id"], "source": {"url": feed}}):
            self.assertIn(self.api(vault, token, "POST", "syncs", body)[0], (400, 404), body)
        self.assertEqual(len(self.api(vault, token, "GET", "subscriptions")[1]["subscriptions"]), 1)
        reader = vault.token("read")
        self.assertEqual(self.api(vault, reader, "GET", "subscriptions")[0], 200)
        self.assertEqual(self.api(vault, reader, "POST", "syncs", {"id": document["id"]})[0], 403)
        path = f"subscriptions?id={document['id']}&titles=true"
        self.assertEqual(self.api(vault, token, "DELETE", path)[1], {"removed": 1})
        self.assertEqual(self.api(vault, token, "DELETE", path)[0], 404)
