"""Pages in a real Chromium: those of other sites can do nothing to the service, those of allowed origins can play."""

import json

from harness import client
from harness.case import Settings, VaultCase
from harness.pages import Browser, PageServer

NAME = "moov-first.mp4"
EVIL, KIOSK = "evil.test", "kiosk.test"

# Every way in which a page can make a browser send a request, with the result of each.
_ATTACK = """
async ({media, removals, title, token}) => {
    const text = url => fetch(url).then(r => r.text()).then(t => 'read ' + t.length, () => 'refused');
    const loads = (tag, set) => new Promise(done => {
        const element = document.createElement(tag);
        for (const event of ['load', 'loadedmetadata', 'canplay']) element.addEventListener(event, () => done('loaded'));
        element.addEventListener('error', () => done('refused'));
        set(element);
        document.body.append(element);
        setTimeout(() => done('refused'), 5000);
    });
    const body = JSON.stringify({url: title});
    const posts = (type, more) => fetch(removals, {method: 'POST', body, headers: {...more, ...(type && {'Content-Type': type})}})
        .then(r => 'status ' + r.status, () => 'refused');
    const form = () => new Promise(done => {
        const frame = document.createElement('iframe');
        frame.name = 'sink';
        document.body.append(frame);
        const form = document.createElement('form');
        Object.assign(form, {action: removals, method: 'POST', enctype: 'text/plain', target: 'sink'});
        const field = document.createElement('input');
        Object.assign(field, {name: body.slice(0, -1) + ',"x":"', value: '"}'});
        form.append(field);
        document.body.append(form);
        frame.addEventListener('load', () => setTimeout(() => done('sent'), 500));
        form.submit();
        setTimeout(() => done('sent'), 3000);
    });
    return {
        fetch: await text(media),
        opaque: await fetch(media, {mode: 'no-cors'}).then(r => r.type + ' ' + r.status, () => 'refused'),
        ranged: await fetch(media, {headers: {'Range': 'bytes=5-9', 'If-Range': '"x"'}}).then(() => 'read', () => 'refused'),
        image: await loads('img', e => e.src = media),
        video: await loads('video', e => e.src = media),
        crossorigin: await loads('video', e => { e.crossOrigin = 'anonymous'; e.src = media; }),
        audio: await loads('audio', e => e.src = media),
        script: await loads('script', e => e.src = media),
        style: await loads('link', e => { e.rel = 'stylesheet'; e.href = media; }),
        simple: await posts(null, {}),
        json: await posts('application/json', {}),
        token: await posts('application/json', {'Authorization': 'Bearer ' + token}),
        form: await form(),
        beacon: navigator.sendBeacon(removals, body),
    };
}
"""

_PLAY = """
async ({media}) => {
    const seen = {};
    for (const mode of [null, 'anonymous']) {
        const video = document.createElement('video');
        document.body.replaceChildren(video);
        video.muted = true;
        if (mode) video.crossOrigin = mode;
        const happens = event => new Promise((done, failed) => {
            video.addEventListener(event, done, {once: true});
            video.addEventListener('error', () => failed(new Error('media error ' + video.error.code)), {once: true});
        });
        const ready = happens('canplay');
        video.src = media;
        await ready;
        for (const second of [12, 4]) {
            const there = happens('seeked');
            video.currentTime = second;
            await there;
        }
        await video.play();
        while (video.currentTime < 4.3) await happens('timeupdate');
        const canvas = new OffscreenCanvas(16, 16).getContext('2d');
        canvas.drawImage(video, 0, 0, 16, 16);
        let pixels = true;
        try { canvas.getImageData(0, 0, 1, 1); } catch { pixels = false; }
        seen[mode || 'plain'] = [Math.round(video.duration), pixels];
    }
    const part = await fetch(media, {headers: {'Range': 'bytes=100-199', 'If-Range': '"other"'}});
    const exact = await fetch(media, {headers: {'Range': 'bytes=100-199'}});
    seen.ranges = [part.status, exact.status, exact.headers.get('Content-Range'), (await exact.arrayBuffer()).byteLength];
    return seen;
}
"""


class WebPages(VaultCase):
    @classmethod
    def prepare(cls):
        cls.media.path(NAME)
        cls.origin, cls.vault, cls.pages = cls.new_origin(), cls.new_vault(), PageServer()
        cls.addClassCleanup(cls.pages.stop)
        cls.service = cls.vault.serve("--allow-origin", cls.pages.origin(KIOSK))
        cls.browser = Browser(Settings.browser_python, EVIL, KIOSK)
        cls.addClassCleanup(cls.browser.close)

    def state(self):
        return json.loads(self.vault.result("list", "--json")), self.vault.bytes_fetched()

    def attack(self, page, name):
        title = self.origin.url(name)
        return self.browser.visit(
            page, _ATTACK, media=self.vault.address(title), title=title,
            removals=f"http://127.0.0.1:{self.service.port}/api/v1/removals", token=self.vault.token())

    def assert_nothing_came_of(self, done):
        for way in ("fetch", "ranged", "image", "video", "crossorigin", "audio", "script", "style", "simple", "json",
                    "token"):
            self.assertEqual(done[way], "refused", f"{way}: {done}")
        self.assertIn(done["opaque"], ("refused", "opaque 0"))

    def test_foreign_page(self):
        """A page of another site, even with a valid link and a token with the scope admin, reads, triggers and changes nothing"""
        title = f"{NAME}?never-asked-for"
        before, asked = self.state(), len(self.origin.requests())
        _, done = self.attack(self.pages.origin(EVIL) + "/", title)
        self.assert_nothing_came_of(done)
        self.assertEqual(self.state(), before, "the vault has changed")
        self.assertEqual(self.origin.requests()[asked:], [], "a page made the vault ask the origin")

    def test_foreign_page_of_held(self):
        """Held titles, pinned or not, are as closed to a page of another site as titles that are not held"""
        title = f"{NAME}?held"
        client.digest(self.vault.address(self.origin.url(title)))
        # The bytes that were read last are sealed a moment later.
        url = self.origin.url(title)
        self.assert_eventually(lambda: [item["complete"] for item in self.state()[0] if item["url"] == url], [True])
        before = self.state()
        _, done = self.attack(self.pages.origin(EVIL) + "/", title)
        self.assert_nothing_came_of(done)
        self.assertEqual(self.state(), before, "the vault has changed")

    def test_page_in_place_of_media(self):
        """A page that an origin sends in place of media runs no script in the name of the service"""
        script = "fetch(location.pathname.replace('page.html', 'secret.mp4'))"
        origin = PageServer(f"<!doctype html><title>page</title><body><script>{script}</script></body>")
        self.addCleanup(origin.stop)
        self.browser.visit(origin.origin("127.0.0.1") + "/page.html", "() => fetch('/after').then(() => 1)")
        self.assertIn("/secret.mp4", origin.asked, "the page does nothing when opened directly")
        del origin.asked[:]
        address = self.vault.address(origin.origin("127.0.0.1") + "/page.html")
        status, _ = self.browser.visit(address, "() => document.title")
        self.assertEqual((status, origin.asked), (200, ["/page.html"]))

    def test_page_of_two_types(self):
        """A page that an origin sends with two types, audio and HTML, is shown as neither, and runs no script"""
        script = "fetch(location.pathname.replace('page.html', 'secret.mp4'))"
        origin = PageServer(
            f"<!doctype html><title>page</title><body><script>{script}</script></body>", "audio/mpeg, text/html")
        self.addCleanup(origin.stop)
        self.browser.visit(origin.origin("127.0.0.1") + "/page.html", "() => fetch('/after').then(() => 1)")
        self.assertIn("/secret.mp4", origin.asked, "Chromium runs nothing when it is opened directly")
        del origin.asked[:]
        address = self.vault.address(origin.origin("127.0.0.1") + "/page.html")
        # The browser offers to download what is not a page.
        with self.assertRaisesRegex(AssertionError, "[Dd]ownload"):
            self.browser.visit(address, "() => document.title")
        self.assertEqual(origin.asked, ["/page.html"])

    def test_rebinding(self):
        """A page whose own host name resolves to this machine gets 421 before the service looks anything up"""
        address = self.vault.address(self.origin.url(f"{NAME}?rebound"))
        target = client.split(address)[2]
        for path in ("/healthz", target, "/api/v1/status"):
            status, read = self.browser.visit(
                f"http://{EVIL}:{self.service.port}{path}", "async () => document.body.innerText")
            self.assertEqual(status, 421)
            self.assertIn("Misdirected", read)
        _, done = self.browser.visit(
            f"http://{EVIL}:{self.service.port}/healthz",
            "async ({target}) => fetch(target).then(r => r.status)", target=target)
        self.assertEqual(done, 421, "the service answered a same-origin request")

    def test_allowed_page(self):
        """A page of an allowed origin plays and seeks, with and without crossorigin, and reads ranges"""
        size = self.media.size(NAME)
        address = self.vault.address(self.origin.url(NAME + "?kiosk"))
        _, seen = self.browser.visit(self.pages.origin(KIOSK) + "/", _PLAY, media=address)
        self.assertEqual(seen["plain"], [20, False], "pixels were readable without crossorigin")
        self.assertEqual(seen["anonymous"], [20, True])
        self.assertEqual(seen["ranges"], [200, 206, f"bytes 100-199/{size}", 100])

    def test_allowed_page_cannot_administer(self):
        """A page of an allowed origin cannot administer the service, even with a token with the scope admin"""
        before = json.loads(self.vault.result("list", "--json"))
        title = self.origin.url(NAME + "?admin")
        _, done = self.attack(self.pages.origin(KIOSK) + "/", NAME + "?admin")
        for way in ("simple", "json", "token"):
            self.assertEqual(done[way], "refused")
        held = json.loads(self.vault.result("list", "--json"))
        self.assertFalse([item for item in held if item.get("class") == "pinned"])
        self.assertLessEqual(len(held) - len(before), 1, title)
