"""The pages of the service in a real Chromium, with a real vault and real media."""

import glob
import json
import os
import sys

from .case import ROOT, Settings, VaultCase
from .waiting import eventually

# What drives the browser is not Debian's, and lies where Scripts/test has installed it.
sys.path += glob.glob(os.path.join(ROOT, ".build", "playwright", "lib", "python3*", "site-packages"))

from playwright.sync_api import expect, sync_playwright  # noqa: E402

PAGES = os.path.join(ROOT, "Sources", "VaultService", "Pages")
SHOTS = os.path.join(ROOT, ".build", "screenshots")

PATIENCE = 20_000  # milliseconds that a busy machine may take to show something
expect.set_options(timeout=PATIENCE)

FILM, OTHER, SONG = "moov-first.mp4", "film.webm", "tone.mp3"
OWNERS = ("titles", "downloads", "storage", "keys", "access", "health", "settings")
SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1280, 800), "television": (1920, 1080)}

# Tells the console of what a policy forbids.
_WATCH = """
addEventListener('securitypolicyviolation', event => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));
"""


class PagesCase(VaultCase):
    """The base of the checks of pages. Every check fails if the console has an error that it did not expect."""

    options = ()

    @classmethod
    def prepare(cls):
        for name in (FILM, OTHER, SONG):
            cls.media.path(name)
        cls.origin, cls.vault = cls.new_origin(), cls.new_vault()
        cls.service = cls.vault.serve(*cls.options)
        cls.address = f"http://{cls.vault.listen}"
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"])
        cls.addClassCleanup(cls.browser.close)
        os.makedirs(SHOTS, exist_ok=True)
        cls.fill()

    @classmethod
    def fill(cls):
        """Puts titles into the vault."""

    @classmethod
    def link(cls):
        """Returns a link that signs one browser in."""
        return cls.vault.result("open", "--print").decode().strip()

    @classmethod
    def hold(cls, name, *options):
        """Fetches a title, or a part of it, and names it as its file; returns its URL."""
        url = cls.origin.url(name)
        cls.vault.result(*(("cat", url, "--range", *options) if options else ("fetch", url)))
        cls.vault.result("rename", url, name.partition("?")[0])
        return url

    def setUp(self):
        self.troubles, self.expected = [], ()
        self.context = self.page = None
        self.visit()

    def tearDown(self):
        self.context.close()
        told = [text for text in self.troubles if not any(part in text for part in self.expected)]
        self.assertEqual(told, [], "the console has errors")

    def visit(self, size="desk", scheme="light", locale="en", signed_in=True, **options):
        """Opens the pages in a fresh browser profile."""
        if self.context:
            self.context.close()
        width, height = SIZES[size]
        self.context = self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale, **options)
        self.context.add_init_script(_WATCH)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda told: told.type == "error" and self.troubles.append(told.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.goto(self.link() if signed_in else self.address)
        if signed_in:
            expect(self.page.locator("h1")).to_have_text("Regal" if locale == "de" else "Shelf")
        return self.page

    def go(self, path):
        """Follows a link within the app, and waits for its page."""
        expect(self.page.locator("main h1")).to_be_visible()
        self.page.evaluate("path => { document.querySelector('main h1').textContent = '…'; location.hash = path; }", f"#/{path}")
        expect(self.page.locator("main h1")).not_to_have_text("…")
        return self.page

    def act(self, name):
        """Presses what stands in the menu of the page's title."""
        self.page.locator("main").get_by_role("button", name="More", exact=True).click()
        self.page.locator(".menu:popover-open").get_by_role("button", name=name, exact=True).click()

    def id_of(self, name):
        return self.vault.info(self.origin.url(name))["id"]

    def titles(self):
        return json.loads(self.vault.result("list", "--json"))

    def wait_for(self, script, within=20):
        """Waits until a script is true in the page."""
        # The function of playwright for this needs eval, which the policy forbids.
        self.assertTrue(eventually(lambda: self.page.evaluate(script), within=within, every=0.05), script)

    def confirm(self, act, *words):
        """Checks what the dialog says, and agrees to it."""
        dialog = self.page.locator("dialog")
        for part in words:
            expect(dialog).to_contain_text(part)
        dialog.get_by_role("button", name=act, exact=True).click()
        expect(dialog).to_have_count(0)

    def seconds(self):
        return self.page.evaluate("document.querySelector('video').currentTime")
