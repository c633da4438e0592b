import Testing

@testable import VaultCommand

@Suite struct TerminalTests {
    @Test("Foreign text cannot control the terminal") func printable() {
        #expect(Terminal.printable("film\u{1B}[2J\u{07}\r\n\u{9B}é…") == "film?[2J????é…")
    }

    @Test("Facts are printed in columns") func facts() {
        #expect(FactText.text([("url", "a"), ("generation", "1\u{1B}")]) == "url         a\ngeneration  1?\n")
    }
}
