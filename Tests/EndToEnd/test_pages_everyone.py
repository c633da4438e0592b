"""The pages for everyone: accessibility, sizes, right to left, motion, focus."""

from axe_playwright_python.sync_playwright import Axe
from harness.case import NIGHT, each
from harness.own_pages import FILM, OWNERS, SHOTS, SIZES, PagesCase, expect

SCHEMES, SCREENS = (("light", "dark"), SIZES) if "pages" in NIGHT else (("light",), ("phone",))


class Everyone(PagesCase):
    @classmethod
    def fill(cls):
        for query in range(12):
            url = cls.origin.url(f"{FILM}?{query}")
            if query % 3:
                cls.vault.result("cat", url, "--range", f"0-{300_000 * query}")
            else:
                cls.vault.result("fetch", url)
            cls.vault.result("rename", url, ["A long journey home, and what came of it in the end", "فيلم طويل", "Film", "Кино"][query % 4] + f" {query}")
        cls.vault.result("pin", cls.origin.url(f"{FILM}?0"))
        cls.vault.result("keys", "rotate")
        cls.vault.result("url", cls.origin.url(f"{FILM}?0"), "--name", "Kitchen")
        cls.vault.token("play", "--name", "Television")
        cls.vault.result("fetch", "--detach", "http://film-origin.localhost:9/never.mp4")

    def paths(self):
        found = self.vault.info(self.origin.url(f"{FILM}?4"))["id"]
        return {"shelf": "", "player": f"play/{found}", "title": f"titles/{found}", **{name: name for name in OWNERS}}

    @each(*SCHEMES)
    def test_axe(self, scheme):
        """axe finds nothing on any page, in the {} scheme"""
        self.visit(scheme=scheme, reduced_motion="reduce")
        found = []

        def check(name):
            self.page.wait_for_timeout(300)
            for violation in Axe().run(self.page).response["violations"]:
                found.append((name, violation["id"], [node["target"] for node in violation["nodes"]][:3],
                              violation["nodes"][0]["failureSummary"][:200]))

        for name, path in self.paths().items():
            self.go(path)
            check(name)
        self.go(self.paths()["title"])
        self.page.get_by_role("button", name="Shred").click()
        check("dialog")
        self.page.keyboard.press("Escape")
        self.expected = ("401",)
        self.page.get_by_role("button", name="Sign out").click()
        expect(self.page.locator("main")).to_contain_text("mediavault open")
        check("welcome")
        self.assertEqual(found, [])

    @each(*SCREENS)
    def test_sizes(self, size):
        """No page is wider than the screen of a {}; a picture of each is kept"""
        self.visit(size=size, scheme="dark" if size == "television" else "light")
        for name, path in self.paths().items():
            self.go(path)
            self.page.wait_for_timeout(300)
            self.page.screenshot(path=f"{SHOTS}/{size}-{name}.png")
            self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, name)

    def test_right_to_left(self):
        """The pages hold together from right to left"""
        self.page.evaluate("document.documentElement.dir = 'rtl'")
        for name, path in self.paths().items():
            self.go(path)
            self.page.wait_for_timeout(200)
            self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, name)
            if name in ("shelf", "player"):
                self.page.screenshot(path=f"{SHOTS}/rtl-{name}.png")

    def test_motion(self):
        """Nothing moves for those who want less motion"""
        self.visit(reduced_motion="reduce")
        for path in ("", "downloads"):
            self.go(path)
            self.assertEqual(self.page.evaluate(
                "[...document.querySelectorAll('*')].filter(one => parseFloat(getComputedStyle(one).transitionDuration) > 0).length"), 0)

    def test_focus(self):
        """Every element that the tab key reaches shows the focus, and has a name"""
        for path in ("", "titles", "settings"):
            self.go(path)
            for _ in range(25):
                self.page.keyboard.press("Tab")
                seen = self.page.evaluate("""() => { const one = document.activeElement, style = getComputedStyle(one);
                    return one === document.body || one.matches('h1, main') ? null : [style.outlineStyle !== 'none' || style.boxShadow !== 'none', one.outerHTML.slice(0, 90)]; }""")
                if seen:
                    self.assertTrue(seen[0], seen[1])
