import Testing

@testable import VaultCommand

@Suite("Words for a shell")
struct ShellWordsTests {
    @Test("Words are shown as a shell reads them back: quoted only if they have to be")
    func quoting() {
        #expect(ShellWords.lines(nil) == [])
        #expect(ShellWords.lines(["/bin/notify", "--to=a@b.example"]) == ["/bin/notify --to=a@b.example"])
        let typed = ["/bin/x", "", "a b", "it's", "$HOME;*"]
        #expect(ShellWords.lines(typed) == [#"/bin/x '' 'a b' 'it'\''s' '$HOME;*'"#])
    }
}
