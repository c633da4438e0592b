import Testing
import VaultModel

@Suite("Entity tag")
struct EntityTagTests {
    @Test(
        "A tag is read with its strength, and printed unchanged",
        arguments: [
            ("\"abc\"", "abc", false), ("W/\"abc\"", "abc", true), ("\"\"", "", false), ("W/\"\"", "", true),
            ("\"W/abc\"", "W/abc", false), ("\"a,b;c=d\"", "a,b;c=d", false), ("\"!#~é\"", "!#~é", false),
            ("\"\\\"", "\\", false),
        ])
    func read(text: String, opaque: String, isWeak: Bool) throws {
        let tag = try #require(EntityTag(text))
        #expect(tag.opaque == opaque)
        #expect(tag.isWeak == isWeak)
        #expect(tag.description == text)
    }

    @Test("Blanks around a tag are not part of it")
    func blanks() {
        #expect(EntityTag(" \t\"a\" ") == EntityTag(strong: "a"))
    }

    @Test(
        "Text that is not spelled as a tag is refused",
        arguments: [
            "", "abc", "\"", "\"abc", "abc\"", "'abc'", "w/\"abc\"", "W/", "W/abc", "W/ \"abc\"", "W\"abc\"",
            "\"a\"b\"", "\"a b\"",
            "\"a\tb\"", "\"a\r\nX: y\"", "\"a\u{0}\"", "\"a\u{7F}\"", "\"a\", \"b\"", "*", "\"a\"\u{301}", "“a”",
        ])
    func refused(text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test(
        "Only two strong tags that are equal match strongly (RFC 9110 §8.8.3.2)",
        arguments: [
            ("W/\"1\"", "W/\"1\"", false), ("W/\"1\"", "W/\"2\"", false), ("W/\"1\"", "\"1\"", false),
            ("\"1\"", "\"1\"", true),
            ("\"1\"", "\"2\"", false), ("\"a\"", "\"A\"", false),
        ])
    func strongComparison(one: String, other: String, isMatch: Bool) throws {
        let (one, other) = (try #require(EntityTag(one)), try #require(EntityTag(other)))
        #expect(one.matchesStrongly(other) == isMatch)
        #expect(other.matchesStrongly(one) == isMatch)
    }

    @Test(
        "Tags match weakly if their texts are equal (RFC 9110 §8.8.3.2)",
        arguments: [
            ("W/\"1\"", "W/\"1\"", true), ("W/\"1\"", "W/\"2\"", false), ("W/\"1\"", "\"1\"", true),
            ("\"1\"", "\"1\"", true), ("\"\u{E9}\"", "\"e\u{301}\"", false),
        ])
    func weakComparison(one: String, other: String, isMatch: Bool) throws {
        let (one, other) = (try #require(EntityTag(one)), try #require(EntityTag(other)))
        #expect(one.matchesWeakly(other) == isMatch)
        #expect(other.matchesWeakly(one) == isMatch)
    }
}
