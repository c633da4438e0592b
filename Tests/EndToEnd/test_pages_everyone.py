"""The pages for everyone: accessibility, sizes, right to left, motion, focus."""

from axe_playwright_python.sync_playwright import Axe
from harness.case import NIGHT, each
from harness.own_pages import FILM, OWNERS, SHOTS, SIZES, PagesCase, expect

# Presses each arrow on each control that has the focus, from the first on; returns those that no arrow reaches, and those
# from which none leads away.
_WALK = """async () => {
    const controls = () => [...document.querySelectorAll('a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea, summary, [tabindex="0"]')]
        .filter(one => one.checkVisibility({visibilityProperty: true}) && one.id !== 'skip');
    const reached = new Set(), waits = [], stuck = [];
    const name = one => one.outerHTML.slice(0, 110);
    const press = key => (document.activeElement || document.body).dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
    document.activeElement.blur();
    press('ArrowDown');
    waits.push(document.activeElement);
    while (waits.length) {
        const from = waits.pop();
        if (reached.has(from)) continue;
        reached.add(from);
        let leads = 0;
        for (const key of ['ArrowDown', 'ArrowUp', 'ArrowRight', 'ArrowLeft']) {
            if (!from.isConnected) break;
            from.focus({preventScroll: true});
            press(key);
            const to = document.activeElement;
            if (to === from) continue;
            leads++;
            if (!reached.has(to)) waits.push(to);
        }
        if (from.isConnected && !leads) stuck.push(name(from));
    }
    return [...controls().filter(one => !reached.has(one)).map(one => ['is not reached', name(one)]), ...stuck.map(one => ['holds the focus', one])];
}"""

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

    def test_arrows_reach_all(self):
        """Arrow keys alone reach every control of every page, of the player and of its bar, and leave it again"""
        found = []
        for name, path in {**self.paths(), "bar": ""}.items():
            self.go(path)
            if name == "player":
                self.page.keyboard.press(" ")
                self.wait_for("document.querySelector('video').currentTime > 0.2")
                self.page.keyboard.press(" ")
            self.page.wait_for_timeout(300)
            found += [(name, *trouble) for trouble in self.page.evaluate(_WALK)]
        self.assertEqual(found, [])

    def test_remote_control(self):
        """The middle of a remote control opens a choice, and its arrows leave a choice and a slider that are not open"""
        self.page.get_by_label("Sort by").focus()
        before = self.page.get_by_label("Sort by").input_value()
        self.page.keyboard.press("ArrowDown")
        self.assertEqual(self.page.get_by_label("Sort by").input_value(), before)
        expect(self.page.get_by_label("Sort by")).not_to_be_focused()
        self.go(self.paths()["player"])
        self.wait_for("document.querySelector('video').readyState > 0")
        for label in ("Place in the title", "Volume"):
            for key in ("ArrowUp", "ArrowDown"):
                self.page.get_by_label(label).focus()
                self.page.keyboard.press(key)
                expect(self.page.get_by_label(label)).not_to_be_focused()

    def test_telephone(self):
        """On a telephone the first card is in the first third, all rooms are at the bottom, and a finger hits every control"""
        self.visit(size="phone", has_touch=True, is_mobile=True)
        tile = self.page.locator(".tile, .card").first
        expect(tile).to_be_visible()
        self.assertLess(tile.bounding_box()["y"], 844 / 3)
        self.page.locator("nav").get_by_role("button", name="More").click()
        rooms = self.page.locator("nav a:visible").all_inner_texts() + self.page.locator(".menu:popover-open button").all_inner_texts()
        self.assertEqual(len(rooms), len(OWNERS) + 1)
        self.page.locator(".menu:popover-open").get_by_role("button", name="Settings").click()
        expect(self.page.locator("h1")).to_have_text("Settings")
        for name, path in self.paths().items():
            self.go(path)
            self.page.wait_for_timeout(200)
            small = self.page.evaluate("""[...document.querySelectorAll('nav a, nav button, button, select, input:not([type=checkbox])')].filter(one => one.checkVisibility())
                .map(one => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()]).filter(([, box]) => box.width && (box.height < 43.5 || box.width < 39)).map(([text]) => text)""")
            self.assertEqual(small, [], name)
        expect(self.page.locator(".keys")).to_have_count(0)
        self.go(self.paths()["player"])
        expect(self.page.locator(".keys")).to_be_hidden()

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
