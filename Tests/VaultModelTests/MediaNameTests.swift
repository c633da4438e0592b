import Testing
import VaultModel

@Suite("The form of names")
struct MediaNameTests {
    @Test("A name has no more than 800 bytes, however many accents its characters have")
    func accents() throws {
        let accented = "e" + String(repeating: "\u{301}", count: 5)
        let name = try #require(MediaName.cleaned(String(repeating: accented, count: 190)))
        #expect(accented.count == 1 && name.count == 800 / accented.utf8.count && name.utf8.count <= 800)
        #expect(MediaName.cleaned("e" + String(repeating: "\u{301}", count: 500)) == nil)
    }

    @Test("A name turns the direction of no text around it, and keeps the marks of its own")
    func directions() {
        #expect(MediaName.cleaned("in\u{202E}gnp.4\u{202C}\u{2067}pm\u{2069}") == "ingnp.4pm")
        #expect(MediaName.cleaned("\u{202D}\u{2068} ") == nil)
        #expect(MediaName.cleaned("one\u{2028}two\u{2029}three\u{85}four") == "one two three four")
        #expect(MediaName.cleaned("\u{5E9}\u{200F}!") == "\u{5E9}\u{200F}!")
        #expect(MediaName.cleaned("<script>alert(1)</script>") == "<script>alert(1)</script>", "text is text")
    }
}
