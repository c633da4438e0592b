"""Listeners of the service: loopback, other interfaces only with TLS or --insecure, and a socket file."""

import os
import socket
import ssl
import stat
import subprocess
import http.client

from harness import client
from harness.case import VaultCase, each
from harness.waiting import eventually

NAME = "moov-first.mp4"


class Listeners(VaultCase):
    @classmethod
    def prepare(cls):
        cls.media.path(NAME)
        cls.origin = cls.new_origin()
        cls.certificate, cls.key = cls.new_pair("")

    @classmethod
    def new_pair(cls, prefix):
        """Creates a certificate and its key, and returns their paths."""
        certificate, key = (os.path.join(cls.scratch, prefix + name) for name in ("certificate.pem", "key.pem"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
             "-out", certificate], check=True, capture_output=True)
        return certificate, key

    def start(self, vault, *options):
        """Starts the service and waits for its first log line, not for plain HTTP; it ends with the check."""
        process = subprocess.Popen(
            [vault.binary, "serve", *options], env=vault.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.assertIn('message="the vault was unlocked"', process.stderr.readline())
        self.assertIn("message=serving", process.stderr.readline())
        return process

    def test_tls(self):
        """With a certificate the service accepts only TLS, `url` prints an https link, and the title plays over it"""
        vault = self.new_vault()
        self.start(vault, "--tls-certificate", self.certificate, "--tls-key", self.key)
        address = vault.address(self.origin.url(NAME))
        self.assertTrue(address.startswith(f"https://{vault.listen}/media/"), address)
        context = ssl.create_default_context(cafile=self.certificate)
        connection = http.client.HTTPSConnection(*vault.listen.split(":"), context=context, timeout=30)
        self.addCleanup(connection.close)
        connection.request("GET", address.removeprefix(f"https://{vault.listen}"), headers={"Range": "bytes=1000-1999"})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (206, self.media.bytes(NAME, 1000, 2000)))
        self.assertGreaterEqual(connection.sock.version(), "TLSv1.2")
        with socket.create_connection(vault.listen.split(":"), timeout=30) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertNotIn(b"HTTP/1.1 200", plain.recv(4096), "plain HTTP is answered")
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            old = ssl.create_default_context(cafile=self.certificate)
            old.minimum_version = old.maximum_version = version
            old.set_ciphers("DEFAULT:@SECLEVEL=0")
            with socket.create_connection(vault.listen.split(":"), timeout=30) as plain:
                with self.assertRaises((ssl.SSLError, OSError)):
                    old.wrap_socket(plain, server_hostname="localhost")

    @each("--hsts", "--no-hsts", "neither")
    def test_hsts(self, choice):
        """Under its own name, a service at another port than 443 tells browsers to use TLS only with --hsts ({})"""
        vault = self.new_vault()
        self.start(
            vault, "--tls-certificate", self.certificate, "--tls-key", self.key, "--host", "vault.example",
            *([choice] if choice != "neither" else []))
        context = ssl.create_default_context(cafile=self.certificate)
        port = vault.listen.split(":")[1]
        for host, path, says in (
                ("vault.example", "/", choice == "--hsts"), ("vault.example", "/api/v1/status", choice == "--hsts"),
                ("localhost", "/", False), ("other.example", "/", False)):
            connection = http.client.HTTPSConnection(*vault.listen.split(":"), context=context, timeout=30)
            self.addCleanup(connection.close)
            connection.request("GET", path, headers={"Host": f"{host}:{port}"})
            answer = connection.getresponse()
            expected = "max-age=2592000" if says else None
            self.assertEqual(answer.getheader("Strict-Transport-Security"), expected, f"{host} {path}")

    def test_tls_renewed(self):
        """The service uses a renewed certificate without a restart, and an existing connection stays usable"""
        vault, used, renewed = self.new_vault(), self.new_pair("used-"), self.new_pair("renewed-")
        self.start(vault, "--tls-certificate", used[0], "--tls-key", used[1])
        context = ssl._create_unverified_context()  # the check compares certificates and does not verify them
        standing = http.client.HTTPSConnection(*vault.listen.split(":"), context=context, timeout=30)
        self.addCleanup(standing.close)
        standing.connect()
        shown = [ssl.PEM_cert_to_DER_cert(open(pair[0], encoding="ascii").read()) for pair in (used, renewed)]
        self.assertEqual(standing.sock.getpeercert(binary_form=True), shown[0])
        for new, old in zip(renewed, used):
            os.replace(new, old)
        address = tuple(vault.listen.split(":"))
        self.assert_eventually(
            lambda: ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(address, timeout=30)), shown[1], within=40)
        standing.request("GET", "/healthz")
        self.assertEqual(standing.getresponse().status, 200)

    @each("key", "certificate", "both", "mismatch", "alone")
    def test_tls_files(self, wrong):
        """The service exits with code 2 and a one-line error if the TLS files are unusable ({})"""
        vault = self.new_vault()
        other = os.path.join(self.scratch, "other-key.pem")
        subprocess.run(["openssl", "genrsa", "-out", other, "2048"], check=True, capture_output=True)
        files = {
            "key": (self.certificate, "/nowhere"), "certificate": (other, self.key), "both": ("/etc/passwd", "/nowhere"),
            "mismatch": (self.certificate, other)}.get(wrong)
        options = ["--tls-certificate", files[0], "--tls-key", files[1]] if files else ["--tls-key", self.key]
        done = vault.run("serve", *options, timeout=30)
        self.assertEqual((done.returncode, len(done.stderr.decode().strip().split("\n"))), (2, 1), done.stderr)

    @each("0.0.0.0", "[::]", "192.0.2.1")
    def test_beyond_loopback(self, host):
        """The service does not listen on an address beyond loopback without TLS or --insecure ({})"""
        vault = self.new_vault()
        done = vault.run("serve", "--listen", f"{host}:0", timeout=30)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"--insecure", done.stderr)

    def test_media_socket(self):
        """The media socket serves media, is accessible to its owner only, and is removed when the service ends"""
        vault = self.new_vault()
        path = os.path.join(vault.base, "media.sock")
        service = vault.serve("--media-socket", path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        target = client.split(vault.address(self.origin.url(NAME)))[2]
        done = subprocess.run(
            ["curl", "-s", "--unix-socket", path, "-r", "5-104", f"http://localhost{target}"], capture_output=True,
            timeout=30)
        self.assertEqual(done.stdout, self.media.bytes(NAME, 5, 105))
        service.stop()
        self.assertTrue(eventually(lambda: not os.path.exists(path)))


class Revocation(VaultCase):
    @each("the service runs", "no service runs")
    def test_revoke(self, when):
        """`keys revoke-links` while {} invalidates old playback links and the token; new links work"""
        self.media.path(NAME)
        origin, vault = self.new_origin(), self.served_vault()
        url = origin.url(NAME)
        address, token = vault.address(url), vault.token("read")
        status = f"http://{vault.listen}/api/v1/status"
        self.assertEqual(client.get(status, headers={"Authorization": f"Bearer {token}"}).status, 200)
        self.assertEqual(client.get(address, "bytes=0-9").status, 206)
        served = when == "the service runs"
        if not served:
            vault.stop()
        vault.result("keys", "revoke-links")
        if not served:
            vault.serve()
        self.assertEqual(client.get(address, "bytes=0-9").status, 404)
        self.assertEqual(client.get(status, headers={"Authorization": f"Bearer {token}"}).status, 401)
        self.assertEqual(client.get(vault.address(url), "bytes=0-9").status, 206)

    def test_expiry(self):
        """An expired playback link is answered with 404"""
        origin, vault = self.new_scripted_origin(), self.served_vault()
        address = vault.address(origin.add("short.mp4", size=1000), "--expires", "2s")
        self.assertEqual(client.get(address).status, 200)
        self.assertEqual(eventually(lambda: client.get(address).status, lambda status: status == 404), 404)


class Addresses(VaultCase):
    def test_redirect_inside(self):
        """A redirect to a private address is refused by command and service, and followed if its host is allowed"""
        inside, outside, vault = self.new_scripted_origin(), self.new_scripted_origin(), self.served_vault()
        secret = inside.add("secret.mp4", size=1000, seed=9).replace("film-origin.localhost", "127.0.0.1")
        url = outside.add("film.mp4", status=302, headers={"Location": secret})
        self.assertEqual(client.get(vault.address(url)).status, 502)
        self.assertEqual(vault.run("cat", url).returncode, 5)
        self.assertEqual(inside.exchanges, [])
        vault.result("config", "set", "allow-host", "127.0.0.1")
        self.assertEqual(client.get(vault.address(url)).body, inside.film("secret.mp4").content)

    @each("127.0.0.1", "localhost", "0x7f.1", "[::ffff:127.0.0.1]")
    def test_itself(self, host):
        """The service sends no request to itself, whatever the host name ({})"""
        vault = self.served_vault()
        port = vault.listen.rpartition(":")[2]
        answer = client.get(vault.address(f"http://{host}:{port}/healthz"))
        self.assertEqual(answer.status, 502)
        self.assertIn(b"this service", answer.body)

    @each("file:///etc/passwd", "gopher://127.0.0.1/x", "dict://127.0.0.1/x", "scp://h/a", "http://h%2F10.0.0.1/",
          "ftp://127.0.0.1/a")
    def test_schemes(self, url):
        """A URL that is not valid http or https is refused before any request ({})"""
        vault = self.new_vault()
        for command in ("fetch", "cat", "url"):
            self.assertEqual(vault.run(command, url).returncode, 2)

    def test_credentials_in_url(self):
        """A user name and password in a URL appear in no list, log or message"""
        origin, vault = self.new_scripted_origin(), self.served_vault()
        url = origin.add("private.mp4", size=1000).replace("http://", "http://user:hunter2@")
        vault.result("fetch", url)
        told = vault.result("list", "--json") + vault.result("info", url, "--json") + vault.service.log().encode()
        told += vault.run("url", url).stderr
        self.assertNotIn(b"hunter2", told)
