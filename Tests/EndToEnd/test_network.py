"""The network settings: proxies with passwords, certificate authorities of an office's own, and credentials of hosts."""

import glob
import json
import os

from harness import client, written_index
from harness.case import VaultCase, each
from harness.control import KEYLESS
from harness.proxies import Authority, HTTPProxy, SOCKSProxy, TLSFront

SIZE = 300_000
HOST = "media.example"  # a name that only the proxies of this file know
USER, PASSWORD = "clerk", "a-password-of-the-proxy"
SECRET = "a-secret-of-the-settings"
PROXIES = {"http": HTTPProxy, "socks5h": SOCKSProxy}


class Network(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_scripted_origin()
        cls.authority = Authority(cls.scratch)
        cls.front = TLSFront(cls.origin.port, *cls.authority.certify(HOST))
        cls.addClassCleanup(cls.front.stop)

    def proxy(self, scheme="http", **credentials):
        proxy = PROXIES[scheme](**credentials)
        self.addCleanup(proxy.stop)
        return proxy

    def film(self, name, port=None):
        """Returns the URL of a new film at a host that only a proxy finds, and its bytes."""
        self.origin.add(name, size=SIZE, seed=len(self.origin.films) + 1)
        scheme, port = ("https", self.front.port) if port == "tls" else ("http", self.origin.port)
        return f"{scheme}://{HOST}:{port}/{name}", self.origin.film(name).content

    def assert_fetched(self, vault, url, content, **environment):
        self.assertTrue(vault.result("cat", url, **environment) == content, f"{url} differs")

    def assert_sealed(self, vault, *secrets):
        """Requires that no file of the vault, its log included, has one of these texts."""
        files = [path for path in glob.glob(os.path.join(vault.base, "**"), recursive=True) if os.path.isfile(path)]
        self.assertTrue(any(path.endswith("index.sqlite") for path in files))
        for path in files:
            with open(path, "rb") as file:
                content = file.read()
            for secret in secrets:
                self.assertNotIn(secret.encode(), content, f"{secret} is readable in {path}")

    def refusal(self, vault, url, **environment):
        """Returns what the command says of a title that it cannot fetch."""
        done = vault.run("cat", url, **environment)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr.decode()

    @each("http", "socks5h")
    def test_proxy(self, scheme):
        """A proxy ({}) with user and password sees the requests for http and https, and titles arrive whole"""
        vault, proxy = self.new_vault(), self.proxy(scheme, user=USER, password=PASSWORD)
        vault.result("config", "set", "proxy", proxy.url())
        vault.result("config", "set", "ca-file", self.authority.path)
        for port in (None, "tls"):
            self.assert_fetched(vault, *self.film(f"{scheme}-{port}.mp4", port))
        self.assertEqual({(host, port) for host, port in proxy.asked},
                         {(HOST, self.origin.port), (HOST, self.front.port)})
        self.assertEqual(proxy.refused, 0)

    @each("http", "socks5h")
    def test_wrong_password(self, scheme):
        """A proxy ({}) that refuses the password is named as the cause, for http and https; then the right one helps"""
        vault, proxy = self.new_vault(), self.proxy(scheme, user=USER, password=PASSWORD)
        vault.result("config", "set", "proxy", proxy.url(password="another-one"))
        vault.result("config", "set", "ca-file", self.authority.path)
        for port in (None, "tls"):
            url, content = self.film(f"wrong-{scheme}-{port}.mp4", port)
            told = self.refusal(vault, url)
            self.assertIn("proxy", told)
            self.assertIn("credentials" if scheme == "socks5h" else "user and password", told)
            self.assertNotIn("another-one", told)
            self.assertIn("correct the proxy in the settings", told)
        self.assertGreater(proxy.refused, 0)
        vault.result("config", "set", "proxy", "-", input=(proxy.url() + "\n").encode())
        self.assert_fetched(vault, url, content)

    def test_password_unreadable(self):
        """The proxy's password is in no file of the vault, in no log and in nothing that config or the API shows"""
        vault, proxy = self.served_vault(), self.proxy(user=USER, password=PASSWORD)
        vault.result("config", "set", "proxy", proxy.url(), **KEYLESS)
        vault.result("config", "set", "proxy-for", f"other.example={proxy.url()}", **KEYLESS)
        self.assert_fetched(vault, *self.film("unreadable.mp4"), **KEYLESS)
        self.assertTrue(proxy.asked)
        shown = vault.result("config", "get", "--json", **KEYLESS) + vault.result("config", "get", **KEYLESS)
        self.assertIn(f"http://{USER}:…@127.0.0.1:{proxy.port}".encode(), shown)
        shown += vault.result("config", "set", "user-agent", "Kiosk/2", "--json", **KEYLESS)
        token = vault.token()
        answer = client.get(f"http://{vault.listen}/api/v1/settings", headers={"Authorization": f"Bearer {token}"})
        self.assertEqual(json.loads(answer.body)["proxy"], f"http://{USER}:…@127.0.0.1:{proxy.port}")
        shown += answer.body
        vault.stop()
        self.assert_sealed(vault, PASSWORD, USER, "other.example")
        self.assertNotIn(PASSWORD.encode(), shown)

    def test_unknown_authority(self):
        """A certificate of an authority that is not known is a clear error that names ca-file, whose advice helps"""
        vault, proxy = self.new_vault(), self.proxy()
        vault.result("config", "set", "proxy", proxy.url())
        url, content = self.film("office.mp4", "tls")
        told = self.refusal(vault, url)
        self.assertIn("the setting ca-file", told)
        self.assertIn("add that authority to the setting", told)
        self.assertEqual(self.origin.gets("office.mp4"), [])
        vault.result("config", "set", "ca-file", self.authority.path)
        self.assertEqual(vault.result("config", "get", "ca-file"), b"1 certificate\n")
        os.rename(self.authority.path, self.authority.path + ".away")
        self.addCleanup(os.rename, self.authority.path + ".away", self.authority.path)
        self.assert_fetched(vault, url, content)

    def test_key_log(self):
        """The secrets of TLS connections are written to no file, even if the environment names one"""
        vault = self.new_vault()
        vault.result("config", "set", "ca-file", self.authority.path)
        vault.result("config", "set", "proxy", self.proxy().url())
        url, content = self.film("secret.mp4", "tls")
        log = os.path.join(self.scratch, "keys.log")
        self.assert_fetched(vault, url, content, SSLKEYLOGFILE=log)
        self.assertFalse(os.path.exists(log))

    def test_running_service(self):
        """A change applies to the next transfer of a running service: proxy, proxy for a host, user agent, authority"""
        vault, first, second = self.served_vault(), self.proxy(), self.proxy("socks5h")
        url, content = self.film("running-1.mp4")
        self.assertIn(client.get(vault.address(url)).status, (502, 504))
        vault.result("config", "set", "proxy", first.url(), **KEYLESS)
        vault.result("config", "set", "user-agent", "Kiosk/2", **KEYLESS)
        self.assertEqual(client.get(vault.address(url)).body, content)
        self.assertTrue(first.asked)
        self.assertEqual(self.origin.gets("running-1.mp4")[-1].fields["user-agent"], "Kiosk/2")
        count = len(first.asked)
        vault.result("config", "set", "proxy-for", f"{HOST}={second.url()}", **KEYLESS)
        url, content = self.film("running-2.mp4")
        self.assertEqual(client.get(vault.address(url)).body, content)
        self.assertEqual((len(first.asked), bool(second.asked)), (count, True))
        url, content = self.film("running-3.mp4", "tls")
        self.assertIn(client.get(vault.address(url)).status, (502, 504))
        vault.result("config", "set", "ca-file", self.authority.path, **KEYLESS)
        self.assertEqual(client.get(vault.address(url)).body, content)
        vault.result("config", "set", "proxy-for", f"{HOST}=direct", **KEYLESS)
        url, _ = self.film("running-4.mp4")
        self.assertIn(client.get(vault.address(url)).status, (502, 504))
        self.assertEqual(self.origin.gets("running-4.mp4"), [])

    def test_unreadable_settings(self):
        """Settings that cannot be read stop every request; the advice to set the proxy, then the others, helps"""
        vault, proxy = self.new_vault(), self.proxy()
        vault.result("config", "set", "user-agent", "Kiosk/2")
        written_index.set_network(vault, proxy="no address")
        url, content = self.film("unreadable-settings.mp4")
        self.assertIn("set or unset the proxy, then the others again", self.refusal(vault, url))
        self.assertEqual(self.origin.gets("unreadable-settings.mp4"), [])
        self.assertNotEqual(vault.run("config", "set", "user-agent", "Kiosk/3").returncode, 0)
        vault.result("config", "set", "proxy", proxy.url())
        vault.result("config", "set", "user-agent", "Kiosk/3")
        self.assert_fetched(vault, url, content)
        self.assertEqual(self.origin.gets("unreadable-settings.mp4")[-1].fields["user-agent"], "Kiosk/3")
        written_index.set_network(vault, proxy="no address")
        vault.result("config", "unset", "proxy")
        self.assertNotIn(b"proxy  ", vault.result("config", "get"))

    def test_environment(self):
        """Proxies of the environment are used only if the settings say so, and no_proxy exempts a host"""
        vault, proxy = self.new_vault(), self.proxy()
        named = {"http_proxy": proxy.url(), "all_proxy": proxy.url()}
        url, content = self.film("environment.mp4")
        self.refusal(vault, url, **named)
        self.assertEqual(proxy.asked, [])
        vault.result("config", "set", "proxy-from-environment", "yes")
        self.refusal(vault, url, **named, no_proxy="example")
        self.assertEqual(proxy.asked, [])
        self.assert_fetched(vault, url, content, **named)
        self.assertTrue(proxy.asked)

    def test_headers(self):
        """A header of a host goes to that host alone, through a proxy and a tunnel, and is never shown or logged"""
        vault, proxy = self.served_vault(), self.proxy()
        for setting in (("proxy", proxy.url()), ("ca-file", self.authority.path)):
            vault.result("config", "set", *setting, **KEYLESS)
        vault.result("config", "set", "header-for", f"{HOST}:{self.front.port}", "X-Role: of-this-port", **KEYLESS)
        vault.result("config", "set", "header-for", HOST, "-", "X-Role: clerk",
                     input=f"Authorization: Bearer {SECRET}\n".encode(), **KEYLESS)
        self.assertEqual(vault.result("config", "get", "header-for", **KEYLESS).decode().splitlines(), [
            f"{HOST} Authorization: …", f"{HOST} X-Role: …", f"{HOST}:{self.front.port} X-Role: …"])
        for port, role in ((None, "clerk"), ("tls", "of-this-port")):
            name = f"headers-{port}.mp4"
            url, content = self.film(name, port)
            self.origin.film(name).secret = f"Bearer {SECRET}"
            self.assertEqual(client.get(vault.address(url)).body, content)
            self.assertEqual({item.fields.get("x-role") for item in self.origin.gets(name)}, {role})
        vault.result("config", "set", "proxy-for", f"other.{HOST}={self.proxy('socks5h').url()}", **KEYLESS)
        url, content = self.film("headers-other.mp4")
        self.assertEqual(client.get(vault.address(url.replace(HOST, f"other.{HOST}"))).body, content)
        self.assertEqual({item.fields.get("authorization") for item in self.origin.gets("headers-other.mp4")}, {None})
        self.assertNotIn(SECRET, "".join(proxy.heads))
        shown = vault.result("config", "get", "--json", **KEYLESS)
        self.assertEqual(json.loads(shown)["headerFor"][HOST], ["Authorization", "X-Role"])
        shown += vault.result("config", "get", **KEYLESS)
        vault.result("config", "unset", "header-for", HOST, "authorization", **KEYLESS)
        self.assertIn(f"{HOST} X-Role: …", vault.result("config", "get", "header-for", **KEYLESS).decode())
        vault.result("config", "unset", "header-for", HOST, **KEYLESS)
        self.assertNotIn(f"{HOST} ", vault.result("config", "get", "header-for", **KEYLESS).decode())
        vault.stop()
        self.assert_sealed(vault, SECRET, "of-this-port")
        self.assertNotIn(SECRET.encode(), shown)

    def test_headers_refused(self):
        """A header that frames the message, or is not one, is refused without its value, and changes nothing"""
        vault = self.new_vault()
        vault.result("config", "set", "header-for", HOST, "X-Role: clerk")
        for field in (f"Range: {SECRET}", f"Host: {SECRET}", f"X A: {SECRET}", SECRET, "X-Role: …"):
            done = vault.run("config", "set", "header-for", HOST, field)
            self.assertEqual(done.returncode, 2, field)
            self.assertNotIn(SECRET.encode(), done.stderr)
        for fields in (("X-Role: a", "X-Role: b"), ("X-Role: a", "x-role: b")):
            done = vault.run("config", "set", "header-for", HOST, *fields)
            self.assertIn(b"given twice", done.stderr)
        self.assertEqual(vault.result("config", "get", "header-for").decode(), f"{HOST} X-Role: …\n")

    def cookies(self, *lines):
        """Returns the path of a cookie file with these lines, whose fields have spaces between them."""
        path = os.path.join(self.scratch, f"cookies-{self.id().rpartition('.')[2]}.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("# Netscape HTTP Cookie File\n\n" + "".join("\t".join(line.split(" ")) + "\n" for line in lines))
        return path

    def test_cookies(self):
        """Cookies of a file go to their hosts, paths and schemes until they expire; the file is copied and sealed"""
        vault, proxy = self.served_vault(), self.proxy("socks5h")
        for setting in (("proxy", proxy.url()), ("ca-file", self.authority.path)):
            vault.result("config", "set", *setting, **KEYLESS)
        path = self.cookies(
            f"#HttpOnly_{HOST} FALSE / FALSE 0 session {SECRET}", f".{HOST} TRUE / TRUE 99999999999 tls 2",
            f"{HOST} FALSE /deep FALSE 0 deep 3", f"{HOST} FALSE / FALSE 1000000000 expired 4",
            f".{HOST} TRUE / FALSE 0 below 5", "another.example FALSE / FALSE 0 another 6")
        vault.result("config", "set", "cookie-file", path, **KEYLESS)
        os.remove(path)
        self.assertEqual(vault.result("config", "get", "cookie-file", **KEYLESS), b"6 cookies\n")
        for name, port, host, expected in (
                ("cookies-1.mp4", None, HOST, f"session={SECRET}; below=5"),
                ("deep/cookies-2.mp4", None, HOST, f"deep=3; session={SECRET}; below=5"),
                ("cookies-3.mp4", "tls", HOST, f"session={SECRET}; tls=2; below=5"),
                ("cookies-4.mp4", None, f"other.{HOST}", "below=5"), ("cookies-5.mp4", None, f"an{HOST}", None)):
            url, content = self.film(name, port)
            self.assertEqual(client.get(vault.address(url.replace(HOST, host))).body, content)
            self.assertEqual({item.fields.get("cookie") for item in self.origin.gets(name)}, {expected}, name)
        shown = vault.result("config", "get", "--json", **KEYLESS)
        self.assertEqual(json.loads(shown)["cookieFile"], {"cookies": 6})
        self.assertNotIn(SECRET.encode(), shown)
        vault.result("config", "unset", "cookie-file", **KEYLESS)
        url, content = self.film("cookies-6.mp4")
        self.assertEqual(client.get(vault.address(url)).body, content)
        self.assertEqual({item.fields.get("cookie") for item in self.origin.gets("cookies-6.mp4")}, {None})
        vault.stop()
        self.assert_sealed(vault, SECRET, "another.example")

    def test_cookies_refused(self):
        """A file with a line that is no cookie, or with none, is refused: the error names the line, and nothing of it"""
        vault = self.new_vault()
        path = self.cookies(f"{HOST} FALSE / FALSE 0 a 1", f"{HOST} FALSE / FALSE {SECRET} b 2")
        done = vault.run("config", "set", "cookie-file", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"line 4 of the cookie file", done.stderr)
        self.assertNotIn(SECRET.encode(), done.stderr)
        self.assertEqual(vault.run("config", "set", "cookie-file", "/dev/null").returncode, 2)
        self.assertEqual(vault.result("config", "get", "cookie-file"), b"")

    def certificate(self, name, key=None):
        """Returns the path of a PEM file with a new client certificate, and its key or another one."""
        certificate, own = self.authority.certify(name)
        path = os.path.join(self.scratch, f"{name}-client.pem")
        with open(path, "w", encoding="ascii") as file:
            for part in (certificate, key or own):
                with open(part, encoding="ascii") as source:
                    file.write(source.read())
        return path

    def test_client_certificate(self):
        """An origin that requires a client certificate serves the vault by its own, through a proxy, with and without a
        service, and no other host is shown it; the file is copied and sealed"""
        front = TLSFront(self.origin.port, *self.authority.certify(f"secured.{HOST}"), clients=self.authority.path)
        self.addCleanup(front.stop)
        vault, proxy = self.new_vault(), self.proxy()
        for setting in (("proxy", proxy.url()), ("ca-file", self.authority.path)):
            vault.result("config", "set", *setting)

        def film(name):
            url, content = self.film(name)
            return url.replace(f"http://{HOST}:{self.origin.port}", f"https://secured.{HOST}:{front.port}"), content

        told = self.refusal(vault, film("certificate-1.mp4")[0])
        self.assertIn("it requires a client certificate", told)
        self.assertIn("client-certificate", told)
        path = self.certificate("kiosk.example")
        vault.result("config", "set", "client-certificate", path, "--host", f"other.{HOST}")
        self.refusal(vault, film("certificate-2.mp4")[0])
        vault.result("config", "set", "client-certificate", path, "--host", f"secured.{HOST}")
        with open(path, "rb") as file:
            lines = file.read().splitlines()
        os.remove(path)
        self.assert_fetched(vault, *film("certificate-3.mp4"))
        self.assertEqual(vault.result("config", "get", "client-certificate").decode().splitlines(), [
            f"1 certificate --host other.{HOST}", f"1 certificate --host secured.{HOST}"])
        vault.serve()
        url, content = film("certificate-4.mp4")
        self.assertEqual(client.get(vault.address(url)).body, content)
        shown = vault.result("config", "get", "--json", **KEYLESS)
        self.assertEqual(json.loads(shown)["clientCertificate"][f"secured.{HOST}"], {"certificates": 1})
        vault.result("config", "unset", "client-certificate", "--host", f"secured.{HOST}", **KEYLESS)
        self.assertIn(client.get(vault.address(film("certificate-5.mp4")[0])).status, (502, 504))
        vault.result("config", "set", "client-certificate", self.certificate("any.example"), **KEYLESS)
        url, content = film("certificate-6.mp4")
        self.assertEqual(client.get(vault.address(url)).body, content)
        vault.stop()
        secrets = [line.decode() for line in lines if len(line) == 64]
        self.assertGreater(len(secrets), 3)
        self.assert_sealed(vault, *secrets, f"secured.{HOST}")

    def test_client_certificate_refused(self):
        """A key of another certificate, one with a passphrase, and a file without a key are refused, and nothing changes"""
        vault = self.new_vault()
        _, other = self.authority.certify("other.example")
        path = self.certificate("mixed.example", key=other)
        told = vault.run("config", "set", "client-certificate", path)
        self.assertEqual(told.returncode, 2)
        self.assertIn(b"does not belong to its first certificate", told.stderr)
        self.assertEqual(vault.run("config", "set", "client-certificate", self.authority.path).returncode, 2)
        with open(path, "ab") as file:
            file.write(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
        told = vault.run("config", "set", "client-certificate", path)
        self.assertIn(b"has a passphrase", told.stderr)
        self.assertEqual(vault.result("config", "get", "client-certificate"), b"")

    def test_headers_and_redirects(self):
        """A redirect to another host, and a playlist of another one, get headers and cookies of neither host"""
        vault, proxy, other = self.new_vault(), self.proxy("socks5h"), f"other.{HOST}"
        vault.result("config", "set", "proxy", proxy.url())
        for host in (HOST, other):
            vault.result("config", "set", "header-for", host, f"X-Key: {SECRET}")
        vault.result("config", "set", "cookie-file", self.cookies(f".{HOST} TRUE / FALSE 0 session {SECRET}"))
        _, content = self.film("moved.mp4")
        self.origin.add("to-moved", status=302, headers={"Location": f"http://{other}:{self.origin.port}/moved.mp4"})
        self.assert_fetched(vault, f"http://{HOST}:{self.origin.port}/to-moved", content)
        self.assertEqual(self.credentials("to-moved"), {(SECRET, f"session={SECRET}")})
        self.assertEqual(self.credentials("moved.mp4"), {(None, None)})
        lines = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n{}\n#EXT-X-ENDLIST\n"
        listed = lines.format(f"http://{other}:{self.origin.port}/part.ts")
        self.origin.add("list.m3u8", content=listed.encode(), type="application/vnd.apple.mpegurl")
        self.origin.add("part.ts", content=b"\x47" + bytes(187), type="video/mp2t")
        vault.result("fetch", f"http://{HOST}:{self.origin.port}/list.m3u8")
        self.assertEqual(self.credentials("list.m3u8"), {(SECRET, f"session={SECRET}")})
        self.assertEqual(self.credentials("part.ts"), {(None, None)})

    def credentials(self, name):
        return {(item.fields.get("x-key"), item.fields.get("cookie")) for item in self.origin.gets(name)}

    @each("localhost", "127.0.0.1", "0x7f.1", "10.1.2.3", "[::1]", "intranet", "nas.local")
    def test_redirect_to_private(self, host):
        """Through a proxy, a redirect to a host that is private by its name ({}) is refused before the proxy is asked"""
        vault, proxy = self.new_vault(), self.proxy()
        vault.result("config", "set", "proxy", proxy.url())
        name = "".join(c if c.isalnum() else "-" for c in host)
        self.origin.add(f"to-{name}", status=302, headers={
            "Location": f"http://{host}:{self.front.port}/secret.mp4"})
        told = self.refusal(vault, f"http://{HOST}:{self.origin.port}/to-{name}")
        self.assertIn("allow-host", told)
        self.assertEqual({port for _, port in proxy.asked}, {self.origin.port})
