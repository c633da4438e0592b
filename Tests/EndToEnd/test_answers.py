"""Answers of the service: ranges, hosts, capabilities, header fields, and refusals by the origin."""

import socket

from harness import client
from harness.case import VaultCase, each
from harness.waiting import eventually

NAME = "moov-first.mp4"


class Answers(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_origin(), cls.served_vault()
        for name in (NAME, "tone.mp3"):
            cls.media.path(name)
        cls.size = cls.media.size(NAME)
        cls.address = cls.vault.address(cls.origin.url(NAME))
        cls.whole = client.get(cls.address)
        cls.port = cls.vault.service.port

    def raw(self, *fields, target="/healthz", method="GET"):
        return client.raw(self.port, "\r\n".join([f"{method} {target} HTTP/1.1", *fields, "", ""]).encode("latin-1"))

    def other(self, target):
        """Returns the URL of another target of the service."""
        return f"http://127.0.0.1:{self.port}{target}"

    # The last byte is requested by a suffix range, so that the name of the check does not depend on the size.
    @each("bytes=0-", "bytes=0-0", "bytes=1000-1999", "bytes=5000-", "bytes=-1", "bytes=-70000", "bytes=-99999999999",
          "bytes=100-99999999999", "Bytes=3-9")
    def test_ranges(self, asked):
        """A single satisfiable range is answered with 206 and exactly its bytes: {}"""
        first, _, last = asked.partition("=")[2].partition("-")
        if first:
            start, end = int(first), min(int(last or self.size) + (1 if last else 0), self.size)
        else:
            start, end = max(0, self.size - int(last)), self.size
        answer = client.get(self.address, asked)
        self.assertEqual(answer.status, 206)
        self.assertEqual(answer.headers["content-range"], f"bytes {start}-{end - 1}/{self.size}")
        self.assertEqual(int(answer.headers["content-length"]), end - start)
        self.assertTrue(answer.body == self.media.bytes(NAME, start, end), "the bytes differ")

    @each("bytes=99999999999-", "bytes=-0", "bytes=9-5", "bytes=abc", "bytes=1-2x", "bytes=99999999999999999999999-")
    def test_unsatisfiable(self, asked):
        """An unsatisfiable range is answered with 416 and the length: {}"""
        answer = client.get(self.address, asked)
        self.assertEqual((answer.status, answer.headers.get("content-range")), (416, f"bytes */{self.size}"))

    def test_first_byte_past_end(self):
        """A range that starts at the end is answered with 416 and the length, as VLC expects"""
        answer = client.get(self.address, f"bytes={self.size}-")
        self.assertEqual((answer.status, answer.headers.get("content-range")), (416, f"bytes */{self.size}"))

    @each("seconds=1-2", "")
    def test_whole(self, asked):
        """A Range that cannot be interpreted is ignored, and the answer is 200 with all bytes: '{}'"""
        answer = client.get(self.address, asked)
        self.assertEqual((answer.status, len(answer.body)), (200, self.size))

    @each("bytes=0-99", None)
    def test_head(self, asked):
        """HEAD is answered with 200, the full length and no body (Range: {})"""
        answer = client.get(self.address, asked, method="HEAD")
        self.assertEqual((answer.status, int(answer.headers["content-length"]), answer.body), (200, self.size, b""))

    def test_if_range(self):
        """A range with If-Range is answered with 206 only if the entity tag matches strongly"""
        tag = self.whole.headers["etag"]
        for value, status in ((tag, 206), ('"other"', 200), ("W/" + tag, 200), ("Mon, 01 Jan 2001 00:00:00 GMT", 200)):
            answer = client.get(self.address, "bytes=0-9", headers={"If-Range": value})
            self.assertEqual(answer.status, status, value)

    def test_headers(self):
        """Every media answer has a strong ETag, the origin's Content-Type, and Cache-Control: no-store"""
        for answer in (self.whole, client.get(self.address, "bytes=5-9"), client.get(self.address, method="HEAD")):
            fields = answer.headers
            self.assertRegex(fields["etag"], r'^"[^"]+"$')
            self.assertEqual(fields["etag"], self.whole.headers["etag"])
            expected = {
                "accept-ranges": "bytes", "content-type": "video/mp4", "cache-control": "no-store",
                "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
                "cross-origin-resource-policy": "same-origin"}
            self.assertEqual({name: fields.get(name) for name in expected}, expected)

    def test_cache_status(self):
        """Cache-Status reports whether an answer was held or fetched"""
        self.assertEqual(client.get(self.address, "bytes=5-9").headers.get("cache-status"), "MediaVault; hit")
        self.assertEqual(self.whole.headers.get("cache-status"), "MediaVault; fwd=miss; stored")

    @each("GET", "HEAD")
    def test_health(self, method):
        """/healthz answers {} with 200 without a token"""
        self.assertEqual(client.get(self.other("/healthz"), method=method).status, 200)

    def test_hosts(self):
        """A request with a foreign, missing or repeated Host is refused, whatever its path"""
        here = f"127.0.0.1:{self.port}"
        target = client.split(self.address)[2]
        for fields, status in (
                ([f"Host: {here}"], 200), ([f"Host: localhost:{self.port}"], 200), ([f"Host: [::1]:{self.port}"], 200),
                (["Host: evil.example"], 421), ([f"Host: evil.example:{self.port}"], 421), (["Host: 127.0.0.1:1"], 421),
                ([], 400), (["Host:"], 400), ([f"Host: {here}", f"Host: {here}"], 400)):
            for path in ("/healthz", target, "/nothing"):
                expected = 404 if status == 200 and path == "/nothing" else status
                self.assertEqual(self.raw(*fields, target=path), expected, (fields, path[:8]))

    def test_capabilities(self):
        """A missing, wrong, expired or out-of-scope capability is answered with 404, always with the same body"""
        capability = client.split(self.address)[2].split("/")[2]
        expired = self.vault.address(self.origin.url(NAME), "--expires", "1s")
        eventually(lambda: client.get(expired, "bytes=0-0").status, lambda status: status != 206)
        wrong = ("A" if capability[-2] != "A" else "B").join((capability[:-2], capability[-1]))
        path = client.split(self.address)[2].partition(capability)[2]
        answers = [client.get(address) for address in (
            expired, self.other(f"/media/{wrong}{path}"), self.other(f"/media{path}"),
            self.other(f"/media/{capability}"),
            self.other("/media"),
            self.other(f"/media/{capability}{path.replace('http/', 'https/', 1)}"),
            self.other(f"/media/{capability}/http/elsewhere.example/{NAME}"), self.other("/pages/nothing"), self.other("/nothing"))]
        self.assertEqual({answer.status for answer in answers}, {404})
        self.assertEqual(len({answer.body for answer in answers}), 1)

    def test_capability_covers_folder(self):
        """A capability covers the folder of its URL, so that relative references resolve"""
        self.assertEqual(client.get(self.address.replace(NAME, "tone.mp3"), "bytes=0-9").status, 206)

    @each("POST", "PUT", "DELETE", "OPTIONS")
    def test_methods(self, method):
        """{} on media is answered with 405 and Allow"""
        answer = client.get(self.address, method=method)
        self.assertEqual(answer.status, 405)
        self.assertEqual({name.strip() for name in answer.headers["allow"].split(",")}, {"GET", "HEAD"})

    @each("/../secret", "/%2e%2e/secret", "/a\\b")
    def test_hostile_paths(self, path):
        """Dot segments and backslashes are refused: {}"""
        base = client.split(self.address)[2].rpartition("/")[0]
        self.assertIn(self.raw(f"Host: 127.0.0.1:{self.port}", target=base + path), (400, 404))

    def test_garbage(self):
        """Malformed HTTP gets an error or a closed connection, and the service stays up"""
        for request in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 200_000):
            try:
                self.assertIn(client.raw(self.port, request), (None, 400, 413, 414, 431, 505))
            except (ConnectionError, socket.timeout) as error:
                self.assertIsInstance(error, ConnectionError)
        self.assertTrue(self.vault.service.is_up())


class Refusals(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin, cls.vault = cls.new_scripted_origin(), cls.served_vault()

    @each((401, 401), (403, 403), (404, 404), (410, 410), (451, 451), (429, 503), (503, 503), (500, 502), (418, 502))
    def test_refusals(self, statuses):
        """The service answers a refusal by the origin with a matching status (origin's, service's): {}"""
        said, answered = statuses
        url = self.origin.add(f"refused-{said}", status=said, headers={"Retry-After": "7"} if said in (429, 503) else {})
        answer = client.get(self.vault.address(url), "bytes=0-99")
        self.assertEqual(answer.status, answered)
        self.assertEqual(answer.headers.get("content-type"), "application/problem+json")
        self.assertEqual(answer.headers.get("retry-after"), "7" if answered == 503 else None)

    def test_lie(self):
        """If the origin answers with another range than requested, the answer is 502 and no byte is served"""
        url = self.origin.add("liar.mp4", size=100_000, lies=True)
        answer = client.get(self.vault.address(url), "bytes=500-599")
        self.assertEqual((answer.status, answer.headers.get("content-type")), (502, "application/problem+json"))

    def test_path_is_kept(self):
        """The origin receives path and query byte for byte, with //, %2F and ; unchanged"""
        target = "a//b%2Fc;d=1/film.mp4?x=%20y&&z"
        url = self.origin.add(target, size=1000)
        self.assertEqual(client.get(self.vault.address(url)).body, self.origin.film(target).content)
