import Testing
import VaultModel

@Suite("Header fields")
struct HeaderFieldsTests {
    private let fields = HeaderFields(["Content-Type": "video/mp4", "X-Seen": "one", "x-sEEN": " two\t", "Empty": ""])

    @Test(
        "Names are looked up without regard to case",
        arguments: [
            "Content-Type", "content-type", "CONTENT-TYPE", "cOnTeNt-TyPe",
        ])
    func lookup(name: String) {
        #expect(fields[name] == "video/mp4")
    }

    @Test("A lookup returns the first value, or all of them in order")
    func order() {
        #expect(fields["X-SEEN"] == "one")
        #expect(fields.values("x-seen") == ["one", "two"])
        #expect(fields.fields.map(\.name) == ["Content-Type", "X-Seen", "x-sEEN", "Empty"])
    }

    @Test("A missing field is nil; a field without a value is empty")
    func absent() {
        #expect(fields["Content-Length"] == nil)
        #expect(fields.values("Content-Length").isEmpty)
        #expect(fields["Empty"] == "")
    }

    @Test(
        "Only ASCII letters are folded",
        arguments: [
            ("abc-1", "ABC-1", true), ("K", "\u{212A}", false), ("s", "ſ", false), ("é", "É", false),
            ("é", "e\u{301}", false),
            ("[", "{", false), ("@", "`", false), ("a", "ab", false), ("", "", true),
        ])
    func folding(one: String, other: String, isEqual: Bool) {
        #expect(one.isEqualIgnoringCase(other) == isEqual)
    }
}
