"""The network settings: proxies with passwords, and certificate authorities of an office's own."""

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
        files = [path for path in glob.glob(os.path.join(vault.base, "**"), recursive=True) if os.path.isfile(path)]
        self.assertTrue(any(path.endswith("index.sqlite") for path in files))
        for path in files:
            with open(path, "rb") as file:
                content = file.read()
            for secret in (PASSWORD, USER, "other.example"):
                self.assertNotIn(secret.encode(), content, f"{secret} is readable in {path}")
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
        written_index.set_settings(vault, proxy="no address")
        url, content = self.film("unreadable-settings.mp4")
        self.assertIn("set or unset the proxy, then the others again", self.refusal(vault, url))
        self.assertEqual(self.origin.gets("unreadable-settings.mp4"), [])
        self.assertNotEqual(vault.run("config", "set", "user-agent", "Kiosk/3").returncode, 0)
        vault.result("config", "set", "proxy", proxy.url())
        vault.result("config", "set", "user-agent", "Kiosk/3")
        self.assert_fetched(vault, url, content)
        self.assertEqual(self.origin.gets("unreadable-settings.mp4")[-1].fields["user-agent"], "Kiosk/3")
        written_index.set_settings(vault, proxy="no address")
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
