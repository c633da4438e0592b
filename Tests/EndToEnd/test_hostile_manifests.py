"""Manifests that try to reach what the operator did not name, to fill the memory, or to pass a page off as media."""

import json
import re
import threading
import urllib.parse

from harness import client
from harness.case import NIGHT, VaultCase, each

HLS = "application/vnd.apple.mpegurl"
DASH = "application/dash+xml"
SECRET = b"an answer from inside"
MIB = 1 << 20
PLAYERS = 8
PEAK = 768 * MIB
MPD = ('<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT1S" profiles="x" '
       'mediaPresentationDuration="PT1S"><Period><AdaptationSet mimeType="video/mp4">{}<Representation id="1" '
       'bandwidth="1"><BaseURL>a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>')


def playlist(*lines, head=()):
    return "\n".join(["#EXTM3U", "#EXT-X-TARGETDURATION:1", *head,
                      *(f"#EXTINF:1,\n{line}" for line in lines), "#EXT-X-ENDLIST", ""]).encode()


class HostileCase(VaultCase):
    @classmethod
    def prepare(cls):
        cls.vault = cls.served_vault()
        cls.origin, cls.inside = cls.new_scripted_origin(), cls.new_scripted_origin()
        cls.inside.add("secret.ts", content=SECRET, type="video/mp2t")

    def links(self, address, expected=200):
        """Returns every address that a player may take from the manifest at an address."""
        answer = client.get(address)
        self.assertEqual(answer.status, expected, answer.body)
        found = re.findall(r'(?:URI|media)="([^"]*)"|<BaseURL>([^<]*)</BaseURL>|^([^#<\s].*)$', answer.body.decode(),
                           re.MULTILINE)
        links = [urllib.parse.urljoin(address, "".join(link)) for link in found]
        for link in links:
            self.assertTrue(link.startswith(address.split("/media/")[0] + "/"), f"{link} leads around the vault")
        return links

    def add(self, name, content, type=HLS, **script):
        return self.vault.address(self.origin.add(name, content=content, type=type, **script))


class Reach(HostileCase):
    def assert_nothing(self, links):
        """Checks that no link brings anything, and that nothing was asked inside."""
        self.assertTrue(links)
        for link in links:
            for headers in (None, "bytes=0-1"):
                answer = client.get(link, headers, timeout=20)
                self.assertIn(answer.status, (404, 502, 504), link)
                self.assertNotIn(SECRET, answer.body)
        self.assertEqual(self.inside.exchanges, [], "the other port was asked")

    def test_spellings(self):
        """Octal, hexadecimal, short and embedded spellings of a private address, in a playlist and in an MPD, get
        nothing from there"""
        hosts = ["0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "127.1", "127.0.1", "0",
                 "0.0.0.0", "[::1]", "[::]", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
                 "[2002:7f00:1::]", "localhost", "LOCALHOST", "localhost.", "film-origin.localhost", "127.0.0.1",
                 "127.0.0.1.", "user:password@127.0.0.1", "%31%32%37.0.0.1", "①②⑦.0.0.1"]
        targets = [f"{scheme}://{host}:{self.inside.port}/secret.ts" for host in hosts for scheme in ("http", "HTTP")]
        self.assert_nothing(self.links(self.add("a/spelled.m3u8", playlist(*targets))))
        bases = "".join(f'<Representation id="r{number}" bandwidth="1"><BaseURL>{target}</BaseURL></Representation>'
                        for number, target in enumerate(targets))
        links = self.links(self.add("a/spelled.mpd", MPD.format(bases).encode(), DASH))
        self.assertEqual(len(links), len(targets) + 1)
        self.assert_nothing(links[:-1])

    @each("NAME", "QUERYPARAM", "IMPORT")
    def test_variables(self, kind):
        """A variable (EXT-X-DEFINE:{}) that holds a private host, or a whole private URL, gets nothing from there"""
        host = f"127.0.0.1:{self.inside.port}"
        values = {"h": host, "u": f"http://{host}/secret.ts", "s": f"//{host}"}
        uses = ["http://{$h}/secret.ts", "{$u}", "{$s}/secret.ts"]
        query = urllib.parse.urlencode(values)
        define = {
            "NAME": [f'#EXT-X-DEFINE:NAME="{name}",VALUE="{value}"' for name, value in values.items()],
            "QUERYPARAM": [f'#EXT-X-DEFINE:QUERYPARAM="{name}"' for name in values],
            "IMPORT": [f'#EXT-X-DEFINE:IMPORT="{name}"' for name in values]}
        address = self.add(f"v/{kind}.m3u8" + (f"?{query}" if kind == "QUERYPARAM" else ""),
                           playlist(*uses, head=define[kind]))
        if kind == "IMPORT":
            lines = ["#EXTM3U", *define["NAME"], "#EXT-X-STREAM-INF:BANDWIDTH=1", f"{kind}.m3u8", ""]
            address, = self.links(self.add("v/master.m3u8", "\n".join(lines).encode()))
        links = self.links(address)
        self.assertEqual(len(links), len(uses))
        self.assert_nothing(links)

    def test_redirects(self):
        """A segment, a key and a playlist that their own origin redirects to a private address get nothing from
        there"""
        for name in ("seg.ts", "k.key", "media.m3u8"):
            self.origin.add(f"r/{name}", status=302, headers={"Location": self.inside.url("secret.ts")})
        links = self.links(self.add("r/list.m3u8", playlist(
            "seg.ts", "media.m3u8", head=['#EXT-X-KEY:METHOD=AES-128,URI="k.key"'])))
        self.assertEqual(len(links), 3)
        self.assert_nothing(links)
        self.assertEqual(client.get(self.vault.address(self.origin.url("r/media.m3u8"))).status, 502)
        self.assertEqual(self.inside.exchanges, [])

    def test_cycle(self):
        """Playlists that name each other end in a clear error of fetch, and each request for one is a bounded answer"""
        for name, other in (("one", "two"), ("two", "one")):
            self.origin.add(f"c/{name}.m3u8", type=HLS,
                            content=f"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{other}.m3u8\n".encode())
        address = self.vault.address(self.origin.url("c/one.m3u8"))
        for _ in range(40):
            address, = self.links(address)
        self.assertLess(len(address), 400, "the links grow")
        done = self.vault.run("fetch", self.origin.url("c/one.m3u8"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"names further playlists", done.stderr)

    def test_held_private_bytes(self):
        """What the operator fetched from a private address stays out of a manifest's reach: after a restart, a repair,
        new keys, another locator and a rebuilt index; the operator plays it all the same"""
        vault, inside = self.served_vault(), self.new_scripted_origin()
        held = inside.add("held.ts", content=SECRET * 9, type="video/mp2t")
        vault.result("fetch", held)
        address = vault.address(self.origin.add(
            "h/list.m3u8", content=playlist(held, inside.url("unknown.ts")), type=HLS))

        def check(act):
            links = self.links(address)
            for range in (None, "bytes=0-", "bytes=5-9", None):
                self.assertEqual(client.get(vault.address(held)).body, SECRET * 9, act)
                seen = [client.get(link, range, timeout=20) for link in links]
                self.assertEqual([answer.status for answer in seen], [502, 502], act)
                self.assertEqual(seen[0].body, seen[1].body, f"the answer tells what is held after {act}")
                self.assertEqual(seen[0].headers["cache-status"], seen[1].headers["cache-status"])
        check("the fetch")
        for act in (["verify"], ["verify", "--repair"], ["keys", "reseal"], ["keys", "rotate", "--locator"]):
            vault.result(*act)
            check(act)
            vault.stop()
            vault.serve()
            address = vault.address(self.origin.url("h/list.m3u8"))
            check([*act, "and a restart"])
        vault.stop()
        vault.result("index", "rebuild", "--force")
        vault.serve()
        check("a rebuilt index")
        self.assertEqual({item.target for item in inside.exchanges}, {"/held.ts"})


class Bombs(HostileCase):
    """Manifests that cost much to read."""

    def _refused(self, name, content, type, reason):
        answer = client.get(self.add(name, content, type))
        self.assertEqual(answer.status, 502)
        self.assertIn(reason, json.loads(answer.body)["detail"])

    @each("deep nesting", "many attributes", "entities", "an external entity", "xlink")
    def test_markup(self, what):
        """An MPD is refused with the reason, and nothing of it is fetched: {}"""
        inside = self.inside.url("secret.ts")
        text, reason = {
            "deep nesting": (MPD.format("<a>" * 100_000 + "</a>" * 100_000), "nested"),
            "many attributes": (MPD.format("<a " + " ".join(f'b{i}="1"' for i in range(100_000)) + "/>"), "attributes"),
            "entities": ('<!DOCTYPE MPD [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>' + MPD.format("<a>&c;</a>"), "type"),
            "an external entity": (f'<!DOCTYPE MPD SYSTEM "{inside}">' + MPD.format(""), "type"),
            "xlink": (MPD.format(f'<Period xmlns:x="http://www.w3.org/1999/xlink" x:href="{inside}"/>'), ""),
        }[what]
        answer = client.get(self.add(f"b/{''.join(filter(str.isalpha, what))}.mpd", text.encode(), DASH))
        self.assertEqual(answer.status, 502)
        self.assertIn("cannot be used", json.loads(answer.body)["detail"])
        self.assertIn(reason, json.loads(answer.body)["detail"])
        self.assertEqual(self.inside.exchanges, [])

    @each("segments", "attributes", *(["comments", "far folders"] if "players" in NIGHT else []))
    def test_memory(self, what):
        """Eight players that open playlists of up to 32 MiB at once, of many {}, take a bounded amount of memory"""
        line = b"#EXTINF:1,\n" + b"s" * 114 + b".ts\n"
        begin = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
        content, kind = {
            "segments": (begin + line * 240_000 + b"#EXT-X-ENDLIST\n", HLS),
            "comments": (begin + b"#\n" * (15 * MIB) + playlist("s.ts")[8:], HLS),
            "far folders": (playlist(*(f"http://h/{number}/a.ts" for number in range(30_000))), HLS),
            "attributes": (MPD.format(("<X " + " ".join(f'a{i}="1"' for i in range(60)) + "/>") * 60_000).encode(), DASH),
        }[what]
        self.assertLessEqual(len(content), 32 * MIB)
        vault = self.served_vault()
        name = "".join(filter(str.isalpha, what))
        addresses = [vault.address(self.origin.add(f"m/{name}-{number}.{'m3u8' if kind == HLS else 'mpd'}",
                                                   content=content, type=kind)) for number in range(PLAYERS)]
        small = vault.address(self.origin.add("m/small.m3u8", content=playlist("s.ts"), type=HLS))
        statuses = []
        threads = [threading.Thread(target=lambda address=address: statuses.append(
            client.get(address, timeout=300).status)) for address in addresses]
        for thread in threads:
            thread.start()
        self.assertEqual(client.get(small, timeout=60).status, 200, "a small playlist waits for large ones")
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [200] * PLAYERS)
        peak = vault.service.memory("VmHWM")
        self.figure(f"peak memory with {PLAYERS} players of playlists of {len(content) >> 20} MiB of {what}", peak / MIB,
                    f"<= {PEAK >> 20}", " MiB")
        self.assertLessEqual(peak, PEAK)
        self.origin.films.clear()


class Pages(HostileCase):
    PAGE = b"<!DOCTYPE html><html><body>Sign in</body></html>"

    def test_part(self):
        """fetch refuses a title in which a part is a web page, names it, and keeps nothing of it; --any-type takes it"""
        vault = self.new_vault()
        for name, content, kind in (("1.ts", b"G" * 500, "video/mp2t"), ("2.ts", self.PAGE, "text/html")):
            self.origin.add(f"p/{name}", content=content, type=kind)
        url = self.origin.add("p/list.m3u8", content=playlist("1.ts", "2.ts"), type=HLS)
        done = vault.run("fetch", url)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"/p/2.ts is a web page", done.stderr)
        self.assertIn(b"--any-type", done.stderr)
        self.assertEqual(vault.run("cat", self.origin.url("p/2.ts"), "--offline").returncode, 6)
        self.assertEqual(vault.result("cat", self.origin.url("p/1.ts"), "--offline"), b"G" * 500)
        vault.result("fetch", "--any-type", url)
        self.assertEqual(vault.result("cat", self.origin.url("p/2.ts"), "--offline"), self.PAGE)

    def test_portal(self):
        """A page that a network sends in place of a held film or playlist replaces neither, and is not kept as fresh"""
        headers = {"Cache-Control": "max-age=0"}
        content = {"film.ts": b"G" * 70_000, "list.m3u8": playlist("film.ts")}
        kinds = {"film.ts": "video/mp2t", "list.m3u8": HLS}
        for name in content:
            address = self.add(f"q/{name}", content[name], kinds[name], headers=headers)
            first = client.get(address)
            self.add(f"q/{name}", self.PAGE, "text/html", headers={"Cache-Control": "max-age=3600"})
            self.assertEqual(client.get(address).body, first.body)
            address = self.add(f"q/other-{name}", self.PAGE, "text/html", headers={"Cache-Control": "max-age=3600"})
            client.get(address)
            self.add(f"q/other-{name}", content[name], kinds[name], headers=headers)
            self.assertEqual(client.get(address).status, 200)
            self.assertNotIn(b"Sign in", client.get(address).body)
