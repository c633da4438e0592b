"""Lists of titles: what they may contain, how they are fetched, and what a long one costs."""

import json
import os
import subprocess
import threading
import time

from harness.case import VaultCase, at_night, each
from harness.terminal import Terminal

USAGE, ORIGIN = 2, 5
COUNT, SIZE = 2000, 3000
SYNCS, CONNECTIONS = 3 * COUNT + 200, 8
SYSCALLS = "fsync,fdatasync,sync_file_range,msync"
WAYS = ("without a service", "through a service")


def told(done):
    """Returns the messages of a command."""
    return done.stderr.decode().splitlines()


class Lists(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()

    def vault_by(self, how):
        return self.served_vault() if how == "through a service" else self.new_vault()

    def write(self, text, name="list.txt"):
        path = os.path.join(self.scratch, name)
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        return path

    def held(self, vault):
        """Returns the names of the titles that are held whole, by their URLs."""
        titles = json.loads(vault.result("list", "--json"))
        return {title["url"]: title["name"] for title in titles if title["size"] == title["bytes"] is not None}

    @each(*WAYS)
    def test_list(self, how):
        """{}, a list is read with its byte order mark, line ends, comments, ids and lines of yt-dlp, and each line that
        is none is named"""
        vault = self.vault_by(how)
        plain = self.origin.add(f"plain-{how[:4]}.mp4", size=5000)
        locked = self.origin.add(f"locked-{how[:4]}.mp4", size=5000, seed=2, secret="Bearer of the list")
        gone = self.origin.url(f"gone-{how[:4]}.mp4")
        dumped = json.dumps({
            "_type": "video", "url": locked, "title": "A film", "duration": 12.5, "thumbnail": "x", "formats": [],
            "http_headers": {"Authorization": "Bearer of the list", "Accept-Encoding": "gzip"}})
        path = self.write(
            b"\xef\xbb\xbf# films\r\n\r\n" + f"{plain}#part  # the first\r\n{dumped}\r\n{gone}\r\n".encode()
            + b"htp://user:secret@host/x?token=secret\r\nhttp://\x1b[31m\r\n{\"url\": 7}\r\n")
        done = vault.run("fetch", "--list", path, "--json")
        messages = told(done)
        self.assertEqual(done.returncode, ORIGIN, messages)
        bad = 'mediavault: list.txt:6: not a URL: "htp://…host/x…" (its scheme is not http or https)'
        self.assertEqual(messages[0], bad)
        self.assertTrue(messages[1].startswith('mediavault: list.txt:7: not a URL: "http://?[31m"'), messages[1])
        self.assertRegex(messages[2], r"^mediavault: list.txt:8: not a line of yt-dlp")
        self.assertNotIn(b"secret", done.stderr)
        self.assertNotIn(b"\x1b", done.stderr)
        total = next(index for index, line in enumerate(messages) if "2 of 6 titles complete" in line)
        self.assertRegex(messages[total + 1], rf"^mediavault: failed: list.txt:5: .*gone-.*404")
        self.assertEqual(messages[total + 2], bad.replace(": list", ": failed: list"))
        self.assertEqual(len(messages), total + 5)
        records = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([record["complete"] for record in records], [True, True, False, False, False, False])
        self.assertEqual([record["error"] and record["error"]["code"] for record in records][2:],
                         ["refused", "invalidURL", "invalidURL", "invalidURL"])
        self.assertEqual(self.held(vault)[locked], "A film")
        self.assertEqual(vault.result("cat", "--offline", plain), self.origin.film(f"plain-{how[:4]}.mp4").content)

    def test_input(self):
        """- and --list - read standard input, and it is read once"""
        vault = self.new_vault()
        url = self.origin.add("input.mp4", size=3000)
        for words in (("-",), ("--list", "-")):
            done = vault.run("fetch", *words, input=f"{url} # one\nfilms\n".encode())
            self.assertEqual(done.returncode, USAGE)
            self.assertEqual(told(done)[0], 'mediavault: standard input:2: not a URL: "films" (nor the id of a title)')
        for words in (("-", "-"), ("-", "--list", "-")):
            self.assertIn("only once", told(vault.run("fetch", *words))[-1])
        self.assertIn("no title given", told(vault.run("fetch"))[-1])
        self.assertIn("cannot be read", told(vault.run("fetch", "--list", self.scratch + "/none"))[-1])
        self.assertIn("names no title", told(vault.run("fetch", "--list", self.write("# none\n")))[-1])

    def test_fields_stay(self):
        """The request fields of a line go to the origin of its URL alone"""
        vault, other = self.new_vault(), self.new_scripted_origin()
        elsewhere = other.add("elsewhere.mp4", size=3000)
        first = self.origin.add("redirected.mp4", status=302, headers={"Location": elsewhere})
        line = json.dumps({"url": first, "http_headers": {"X-Ticket": "sesame", "Cookie": "a=b"}})
        vault.result("config", "set", "allow-host", "film-origin.localhost")
        vault.result("fetch", "--list", self.write(f"{line}\n{other.add('other.mp4', size=3000)}\n"))
        self.assertEqual([item.fields.get("x-ticket") for item in self.origin.gets("redirected.mp4")], ["sesame"])
        for name in ("elsewhere.mp4", "other.mp4"):
            self.assertEqual([item.fields.get("x-ticket", item.fields.get("cookie")) for item in other.gets(name)],
                             [None])

    @each(*WAYS)
    def test_quiet(self, how):
        """{}, --quiet shows nothing but errors"""
        vault = self.vault_by(how)
        good = [self.origin.add(f"quiet-{number}.mp4", size=3000) for number in range(3)]
        done = vault.run("fetch", "-q", *good)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        done = vault.run("fetch", "--quiet", *good, self.origin.url("none.mp4"))
        self.assertEqual(done.returncode, ORIGIN)
        self.assertEqual(len(told(done)), 1, told(done))

    def test_repeated(self):
        """Of many failures the first twenty are repeated at the end, and the number of the others"""
        vault = self.new_vault()
        done = vault.run("fetch", "--list", self.write("".join(f"films{number}!\n" for number in range(23))))
        messages = told(done)
        self.assertEqual(done.returncode, USAGE)
        self.assertEqual(len(messages), 23 + 1 + 20 + 1, messages)
        self.assertTrue(all(line.startswith("mediavault: failed: list.txt:") for line in messages[24:44]), messages)
        self.assertEqual(messages[-1], "mediavault: and 3 more failed")

    @each((None, 2), (5, 5))
    def test_at_a_time(self, case):
        """With --parallel and the most titles of one host at a time {}, as many wait for their origin and no more"""
        parallel, most = case
        vault, origin = self.new_vault(), self.new_scripted_origin()
        urls = [origin.add(f"held-{number}.mp4", size=3000, hold_at=-1) for number in range(8)]
        run = subprocess.Popen(
            [vault.binary, "fetch", *(["--parallel", str(parallel)] if parallel else []), "-"], env=vault.environment,
            stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        run.stdin.write("\n".join(urls).encode())
        run.stdin.close()

        def waiting():
            return sum(1 for item in list(origin.exchanges) if item.waiting.is_set())
        self.assert_eventually(waiting, most)
        released = threading.Thread(target=lambda: [film.release.set() for film in origin.films.values()])
        seen = waiting()
        time.sleep(0.3)  # as long as a further request would take many times over
        self.assertEqual((seen, waiting()), (most, most))
        released.start()
        released.join()
        self.assertEqual(run.wait(timeout=60), 0)
        self.assertEqual(len(self.held(vault)), 8)

    def test_terminal(self):
        """At a terminal, several titles have one line with the number, what arrived and the names of those that are
        fetched"""
        vault, origin = self.new_vault(), self.new_scripted_origin()
        urls = [origin.add(f"shown-{number}.mp4", size=3000, hold_at=1000 if number == 2 else None)
                for number in range(3)]
        terminal = Terminal(
            [vault.binary, "fetch", "--list", self.write("\n".join(urls))], {**vault.environment, "TERM": "xterm"})
        terminal.wait_for(b"shown-2.mp4", after=b"2 of 3 titles  ")
        origin.film("shown-2.mp4").release.set()
        self.assertEqual(terminal.end(), 0)
        self.assertRegex(terminal.shown, rb"\r\x1b\[K3 of 3 titles  100 %  9.0 kB")
        self.assertTrue(terminal.shown.endswith(b"3 of 3 titles complete, 9.0 kB in total\r\n"), terminal.shown)


class LongList(VaultCase):
    """A list of 2 000 small titles."""

    @classmethod
    def prepare(cls):
        folder = os.path.join(cls.media.folder, "small")
        os.makedirs(folder, exist_ok=True)
        for number in range(COUNT):
            path = os.path.join(folder, f"{number}.mp4")
            if not os.path.exists(path) or os.path.getsize(path) != SIZE:
                with open(path, "wb") as file:
                    file.write(cls.content(number))
        cls.origin = cls.new_origin()
        cls.list = os.path.join(cls.scratch, "long.txt")
        with open(cls.list, "w", encoding="ascii") as file:
            file.writelines(cls.origin.url(f"small/{number}.mp4") + "\n" for number in range(COUNT))

    @staticmethod
    def content(number):
        return number.to_bytes(4, "big") * (SIZE // 4)

    def fetch(self, vault, *before):
        """Fetches the list; returns the seconds."""
        start = time.monotonic()
        done = subprocess.run(
            [*before, vault.binary, "fetch", "--quiet", "--list", self.list], env=vault.environment,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return time.monotonic() - start

    def test_cost(self):
        """2 000 titles of 3 kB are requested once each over few connections, with three syncs each at most, and are whole"""
        vault, counts = self.new_vault(), os.path.join(self.scratch, "syncs")
        before = len(self.origin.requests())
        self.fetch(vault, "strace", "-f", "-c", "--seccomp-bpf", "-e", f"trace={SYSCALLS}", "-o", counts)
        with open(counts, encoding="ascii") as file:
            lines = [line.split() for line in file if line.split()[-1:] and line.split()[-1] in SYSCALLS.split(",")]
        self.assertTrue(lines, "strace counted nothing")
        syncs = sum(int(line[3]) for line in lines)
        self.assert_eventually(lambda: len(self.origin.requests()) - before, COUNT)
        requests = self.origin.requests()[before:]
        self.assertEqual(len({item.uri for item in requests}), COUNT)
        connections = len({item.connection for item in requests})
        self.figure(f"syncs of a list of {COUNT} titles", syncs, f"at most {SYNCS}")
        self.figure(f"connections for a list of {COUNT} titles", connections, f"at most {CONNECTIONS}")
        self.assertLessEqual(syncs, SYNCS)
        self.assertLessEqual(connections, CONNECTIONS)
        self.assertEqual(vault.status()["bytes"], COUNT * SIZE)
        for number in (0, 1, COUNT - 1):
            url = self.origin.url(f"small/{number}.mp4")
            self.assertTrue(vault.result("cat", "--offline", url) == self.content(number), f"title {number}")
        vault.result("verify")

    @at_night("downloads")
    @each(*WAYS)
    def test_speed(self, how):
        """The time that these take {}, without a bound, because it depends on the machine"""
        vault = self.served_vault() if how == "through a service" else self.new_vault()
        self.figure(f"fetch of {COUNT} titles of 3 kB {how}", self.fetch(vault), "no bound", " s")
        self.assertEqual(vault.status()["bytes"], COUNT * SIZE)
