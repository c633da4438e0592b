import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Passphrase")
struct PassphraseTests {
    /// The normalized bytes of a typed passphrase.
    private static func normalized(_ typed: [UInt8]) throws -> [UInt8] {
        guard case .passphrase(let bytes) = try UnlockSecret.passphrase(normalizing: SecretBytes(typed)) else {
            return []
        }
        return bytes.exposed
    }

    @Test(
        "Only one trailing line end is removed",
        arguments: [
            ("word", "word"), ("word\n", "word"), ("word\r\n", "word"), ("word\n\n", "word\n"),
            ("word\r\n\r\n", "word\r\n"), ("word\r", "word\r"),
            ("word\n\r", "word\n\r"), (" word ", " word "), ("two\nlines\n", "two\nlines"), ("\nword", "\nword"),
            ("\r", "\r"), ("w\u{0}rd", "w\u{0}rd"),
            ("\u{FEFF}word", "\u{FEFF}word"),
        ])
    func lineEnds(typed: String, kept: String) throws {
        #expect(try Self.normalized(Array(typed.utf8)) == Array(kept.utf8))
    }

    @Test(
        "Composed and decomposed text are the same passphrase, and compatibility forms are different ones",
        arguments: [
            ("A\u{30A}ngstro\u{308}m", "Ångström"), ("\u{212B}", "\u{C5}"), ("é\n", "e\u{301}"),
            ("\u{1112}\u{1161}\u{11AB}", "\u{D55C}"),
            ("a\u{323}\u{307}", "a\u{307}\u{323}"),
        ])
    func normalForms(one: String, other: String) throws {
        let (one, other) = (try Self.normalized(Array(one.utf8)), try Self.normalized(Array(other.utf8)))
        #expect(one == other)
        #expect(try Self.normalized(Array("ﬁ".utf8)) == Array("ﬁ".utf8))
        #expect(try Self.normalized(Array("１".utf8)) != Array("1".utf8))
    }

    @Test("An empty passphrase is refused, and so is a line end alone", arguments: ["", "\n", "\r\n"])
    func empty(typed: String) {
        let error = #expect(throws: VaultError.self) { try Self.normalized(Array(typed.utf8)) }
        #expect(error?.code == .wrongKey)
    }

    @Test(
        "A passphrase that is not UTF-8 is refused",
        arguments: [[0xFF], [0x77, 0xE9], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]])
    func notUTF8(typed: [UInt8]) {
        let error = #expect(throws: VaultError.self) { try Self.normalized(typed + [0x0A]) }
        #expect(error?.code == .wrongKey)
    }

    @Test("A keyring created with the composed form opens with the decomposed form and a line end")
    func keyring() throws {
        let fixture = try KeyringFixture(passphrase: Array("Ångström\n".utf8))
        for typed in ["A\u{30A}ngstro\u{308}m", "\u{C5}ngstr\u{F6}m\r\n"] {
            #expect(try fixture.unlock(passphrase: Array(typed.utf8)).revision == 1)
        }
    }

    @Test("The derived key depends on salt, cost and passphrase")
    func argon2id() throws {
        let salt = Array(repeating: UInt8(1), count: 16)
        func key(_ text: String, _ salt: [UInt8], _ ops: Int64, _ memory: Int64) throws -> [UInt8] {
            try Argon2id.key(from: SecretBytes(Array(text.utf8)), .init(salt: salt, opsLimit: ops, memLimit: memory))
                .exposed
        }
        let keys = [
            try key("word", salt, 1, 8 << 20), try key("words", salt, 1, 8 << 20),
            try key("word", salt.flipping(bit: 0), 1, 8 << 20),
            try key("word", salt, 2, 8 << 20), try key("word", salt, 1, 9 << 20),
        ]
        #expect(Set(keys).count == 5)
        #expect(try key("word", salt, 1, 8 << 20) == keys[0])
    }

    @Test("Deriving a key from a passphrase leaves neither half of the key on the stack")
    func stack() throws {
        let passphrase = try SecretBytes(Array("word".utf8))
        let cost = Argon2id.Cost(salt: Array(repeating: 1, count: 16), opsLimit: 1, memLimit: 8 << 20)
        // The linker spills registers at the first call of a function, so the test calls the functions once before.
        let other = Argon2id.Cost(salt: Array(repeating: 2, count: 16), opsLimit: 1, memLimit: 8 << 20)
        _ = try Argon2id.key(from: passphrase, other).exposed
        var key: [UInt8] = []
        let left = try StackBelow.copied { key = try Argon2id.key(from: passphrase, cost).exposed }
        for half in [key[..<16], key[16...]] { #expect(left.firstRange(of: half) == nil) }
    }
}
