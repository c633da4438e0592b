"""What other pages and programs on the machine try against a browser that is signed in: theft, forgery, rebinding."""

import http.server
import json
import os
import subprocess
import threading

from harness import client
from harness.own_pages import FILM, PagesCase, expect

# Every way in which a page can make a browser send a request that changes something.
_FORGE = """
async ({service, id}) => {
    const path = `${service}/api/v1/resources/${id}/pin`;
    const tries = {
        simple: () => fetch(path, {method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}'}),
        put: () => fetch(path, {method: 'PUT', credentials: 'include'}),
        proof: () => fetch(path, {method: 'PUT', credentials: 'include', headers: {'X-Session-Proof': 'mvp_' + 'A'.repeat(64)}}),
        read: () => fetch(`${service}/api/v1/resources`, {credentials: 'include'}),
        signIn: () => fetch(`${service}/api/v1/sessions`, {method: 'POST', credentials: 'include',
            headers: {'Content-Type': 'application/json'}, body: JSON.stringify({ticket: 'A'.repeat(43)})}),
    };
    const seen = {};
    for (const [name, act] of Object.entries(tries))
        seen[name] = await act().then(answer => answer.type === 'opaque' ? 'opaque' : `status ${answer.status}`, () => 'refused');
    const frame = document.createElement('iframe');
    frame.src = service;
    document.body.append(frame);
    await new Promise(done => { frame.onload = done; setTimeout(done, 3000); });
    try { seen.frame = frame.contentDocument === null ? 'closed' : frame.contentDocument.body.innerText; } catch { seen.frame = 'closed'; }
    return seen;
}
"""


class Neighbour:
    """Another service on the same host, to whose page the browser comes; it keeps what it is sent."""

    def __init__(self):
        self.cookies = []
        neighbour = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                neighbour.cookies.append(self.headers.get("Cookie", ""))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>neighbour</title><body></body>")

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class Attacks(PagesCase):
    @classmethod
    def fill(cls):
        cls.hold(FILM)

    def neighbour(self):
        neighbour = Neighbour()
        self.addCleanup(neighbour.stop)
        return neighbour

    def ask(self, method, path, **fields):
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        return client.get(self.address + path, method=method, headers=headers)

    def test_stolen_cookie(self):
        """The cookie, which a browser also sends to another port of the host, opens nothing without the proof"""
        neighbour = self.neighbour()
        self.page.goto(neighbour.address)
        cookie = next(text for text in neighbour.cookies if "mvs_" in text)
        self.assertNotIn("mvs_", self.page.evaluate("document.cookie"), "no script reads it")
        self.assertEqual(self.page.evaluate("localStorage.length"), 0, "the proof belongs to the service's own port")
        for fields in ({}, {"X_Session_Proof": "mvp_" + "A" * 64}, {"X_Session_Proof": cookie.split("=")[1]}):
            self.assertEqual(self.ask("GET", "/api/v1/status", Cookie=cookie, **fields).status, 401)
        self.assertNotIn(b"mvp_", self.ask("GET", "/", Cookie=cookie).body)

    def test_forgery(self):
        """A page of another port or another site changes nothing, reads nothing and shows nothing in a frame"""
        self.expected = ("CORS", "ERR_", "Failed to load", "frame", "Content Security Policy", "policy", "403")
        service, id = self.address, self.id_of(FILM)
        neighbour = self.neighbour()
        for place in (neighbour.address, neighbour.address.replace("127.0.0.1", "localhost")):
            self.page.goto(place)
            seen = self.page.evaluate(_FORGE, {"service": service, "id": id})
            self.assertIn(seen.pop("simple"), ("opaque", "refused"))
            self.assertEqual(set(seen.values()), {"refused", "closed"}, seen)
            self.assertNotEqual(self.vault.info(self.origin.url(FILM))["class"], "pinned")

    def test_rebinding(self):
        """A name of a stranger that leads to this machine gets no page and no answer"""
        for path in ("/", "/api/v1/session", "/api/v1/sessions"):
            head = f"GET {path} HTTP/1.1\r\nHost: evil.test:{self.service.port}\r\n\r\n"
            self.assertEqual(client.raw(self.service.port, head.encode()), 421, path)

    def test_ended_session(self):
        """A session that is revoked is signed out at once, its feed ends, and what it plays stops"""
        self.expected = ("401", "404", "ERR_", "Failed to load")
        shown = json.loads(self.vault.result("sessions", "list", "--json"))["sessions"]
        newest = max(shown, key=lambda session: session["created"])
        self.assertIn("Chrom", newest["browser"])
        path = self.page.evaluate("""id => fetch('/api/v1/links', {method: 'POST', body: JSON.stringify({id}), headers:
            {'Content-Type': 'application/json', 'X-Session-Proof': localStorage.getItem('mv.proof')}})
            .then(answer => answer.json()).then(link => link.path)""", self.id_of(FILM))
        self.assertEqual(client.get(self.address + path, "bytes=0-9").status, 206)
        self.vault.result("sessions", "revoke", "--all", "--yes")
        self.assertEqual(client.get(self.address + path, "bytes=0-9").status, 404)
        expect(self.page.locator("main")).to_contain_text("mediavault open", timeout=40_000)

    def test_tls(self):
        """Over TLS the cookie belongs to the host alone and never leaves TLS, and the pages work the same"""
        vault, (certificate, key) = self.new_vault(), (os.path.join(self.scratch, name) for name in ("certificate.pem", "key.pem"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        service = subprocess.Popen(
            [vault.binary, "serve", "--tls-certificate", certificate, "--tls-key", key], env=vault.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(service.wait)
        self.addCleanup(service.terminate)
        self.assert_eventually(lambda: vault.run("open", "--print").returncode, 0)
        context = self.browser.new_context(ignore_https_errors=True)
        self.addCleanup(context.close)
        page = context.new_page()
        link = vault.result("open", "--print").decode().strip()
        self.assertTrue(link.startswith("https://"), link)
        page.goto(link)
        expect(page.locator("h1")).to_have_text("Shelf")
        page.reload()
        expect(page.locator("h1")).to_have_text("Shelf")
        cookie, = context.cookies()
        self.assertTrue(cookie["name"].startswith("__Host-"), cookie["name"])
        self.assertEqual((cookie["secure"], cookie["httpOnly"], cookie["path"]), (True, True, "/"))

    def test_nothing_kept(self):
        """No secret of a session is in a log of the service or readable in the vault's folder"""
        proof = self.page.evaluate("localStorage.getItem('mv.proof')")
        cookie = next(cookie for cookie in self.context.cookies() if cookie["name"].startswith("mediavault"))
        self.assertEqual((cookie["httpOnly"], cookie["sameSite"], cookie["path"]), (True, "Strict", "/"))
        for secret in (proof, cookie["value"], "Chrome on"):
            self.assertNotIn(secret, self.service.log())
            for parent, _, names in os.walk(self.vault.folder):
                for name in (name for name in names if not name.endswith(".sock")):
                    with open(os.path.join(parent, name), "rb") as file:
                        self.assertNotIn(secret.encode(), file.read(), name)
