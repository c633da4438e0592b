import Testing

@testable import VaultCommand

@Suite struct TerminalTests {
    @Test("Foreign text cannot control the terminal") func printable() {
        #expect(Terminal.printable("film\u{1B}[2J\u{07}\r\n\u{9B}é…") == "film?[2J????é…")
        // Right-to-left letters stay, but characters that would reverse the text around them do not.
        #expect(Terminal.printable("a\u{202E}4pm.\u{2066}b\u{200F}שלום") == "a?4pm.?b\u{200F}שלום")
    }

    @Test("Facts are printed in columns") func facts() {
        #expect(FactText.text([("url", "a"), ("generation", "1\u{1B}")]) == "url         a\ngeneration  1?\n")
    }
}
