import SeededRandom
import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Damaged and changed keyrings")
struct KeyringDamageTests {
    @Test("A keyring with one flipped bit is damaged, or tampered with if the bit is in the authenticator")
    func everyBit() throws {
        let fixture = try KeyringFixture()
        let value = try #require(try fixture.object["authenticator"])
        let text = Array(String(decoding: value.canonical, as: UTF8.self).utf8)
        let place = try #require(fixture.file.indices.first { fixture.file[$0...].starts(with: text) })
        let authenticator = (place + 1)..<(place + text.count - 1)
        for bit in 0..<(fixture.file.count * 8) {
            let trouble = KeyringFixture(file: fixture.file.flipping(bit: bit)).trouble()
            // A flip there may also leave an invalid string or invalid UTF-8, which is damage.
            let isExpected =
                trouble == .damagedKeyring || (authenticator.contains(bit / 8) && trouble == .tamperedKeyring)
            #expect(isExpected, "bit \(bit): \(trouble.map(\.description) ?? "opened")")
        }
    }

    @Test("A truncated keyring is damaged, unless only the line end is missing")
    func everyCut() throws {
        let fixture = try KeyringFixture()
        for count in 0..<(fixture.file.count - 1) {
            #expect(
                KeyringFixture(file: Array(fixture.file.prefix(count))).trouble() == .damagedKeyring, "\(count) bytes")
        }
        #expect(KeyringFixture(file: fixture.file.dropLast()).trouble() == nil)
        #expect(KeyringFixture(file: fixture.file + fixture.file).trouble() == .damagedKeyring)
        #expect(KeyringFixture(file: fixture.file + [0]).trouble() == .damagedKeyring)
    }

    @Test("A keyring with random changes never opens and never traps")
    func property() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("KeyringDamageTests.property: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let fixture = try KeyringFixture()
        let original = try JSONParser.parse(fixture.file)
        for _ in 0..<3000 {
            var file = fixture.file
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: file.indices, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: file[index] = UInt8.random(in: 0 ... .max, using: &generator)
                case 1: file.remove(at: index)
                default: file.insert(UInt8.random(in: 0 ... .max, using: &generator), at: index)
                }
            }
            // White space between members does not change the document.
            if let value = try? JSONParser.parse(file), value == original { continue }
            let trouble = KeyringFixture(file: file).trouble()
            #expect(
                trouble == .damagedKeyring || trouble == .tamperedKeyring, "\(String(decoding: file, as: UTF8.self))")
        }
    }

    @Test(
        "Any changed member under a correct checksum is tampering",
        arguments: [
            ("revision", .integer(2)), ("tokenEpoch", .integer(7)), ("receiptSequence", .integer(1)), ("added", .null),
            ("authenticator", nil), ("authenticator", .null), ("authenticator", .string("")),
            ("authenticator", .integer(1)),
        ] as [(String, JSONValue?)])
    func tampered(name: String, value: JSONValue?) throws {
        #expect(try KeyringFixture().forged { $0[name] = value }.trouble() == .tamperedKeyring)
    }

    @Test("A changed label, a retired generation and a changed slot method are tampering")
    func tamperedLists() throws {
        let fixture = try KeyringFixture()
        #expect(try fixture.forged(first: "slots") { $0["label"] = .string("other") }.trouble() == .tamperedKeyring)
        #expect(try fixture.forged(first: "slots") { $0["method"] = .string("command") }.trouble() == .tamperedKeyring)
        #expect(try fixture.forged(first: "generations") { $0["backups"] = .integer(9) }.trouble() == .tamperedKeyring)
        #expect(try fixture.forged(first: "generations") { $0["created"] = .integer(9) }.trouble() == .tamperedKeyring)
        #expect(try fixture.forged(first: "locators") { $0["number"] = .integer(2) }.trouble() == .tamperedKeyring)
    }

    @Test("Sealed keys that are exchanged between members of an authentic keyring do not open")
    func exchanged() throws {
        // The attacker has the root key here, so only the associated data protects the sealed keys.
        let fixture = try KeyringFixture()
        #expect(
            try fixture.rewritten { document, _ in document.tokenKey = document.receiptKey }.trouble()
                == .tamperedKeyring)
        #expect(
            try fixture.rewritten { document, _ in document.tokenKey = document.locators[0].key }.trouble()
                == .tamperedKeyring)
        #expect(
            try fixture.rewritten { document, _ in document.generations[0].key = document.locators[0].key }.trouble()
                == .tamperedKeyring)
        #expect(try fixture.rewritten { document, _ in document.locators[0].number = 2 }.trouble() == .tamperedKeyring)
    }

    @Test("A keyring with an exchanged slot or vault id opens with no key")
    func wrongSlot() throws {
        let fixture = try KeyringFixture()
        let other = try KeyringFixture().object
        let slot = try other.objects("slots")[0]
        #expect(try fixture.forged(first: "slots") { $0["rootKey"] = slot["rootKey"] }.trouble() == .wrongKey)
        #expect(try fixture.forged(first: "slots") { $0["number"] = .integer(2) }.trouble() == .wrongKey)
        #expect(try fixture.forged { $0["vaultID"] = other["vaultID"] }.trouble() == .wrongKey)
        #expect(try fixture.forged { $0["slots"] = .array([]) }.trouble() == .wrongKey)
    }

    @Test("The reader checks for damage, then limits, then the key, then tampering")
    func order() throws {
        let wrongKey = Array(repeating: UInt8(0), count: 32)
        let tampered = try KeyringFixture().forged { $0["revision"] = .integer(9) }
        #expect(tampered.trouble() == .tamperedKeyring)
        #expect(tampered.trouble(key: wrongKey) == .wrongKey)
        // A bit of the vault id, near the end of the file.
        let damaged = KeyringFixture(file: tampered.file.flipping(bit: (tampered.file.count - 10) * 8))
        #expect(damaged.trouble(key: wrongKey) == .damagedKeyring)
    }

    @Test(
        "Costs that are out of bounds are damage, with a key and with a passphrase",
        arguments: [
            ("opsLimit", .integer(0)), ("opsLimit", .integer(65)), ("opsLimit", .integer(1 << 40)),
            ("memLimit", .integer(0)),
            ("memLimit", .integer((8 << 20) - 1)), ("memLimit", .integer((4 << 30) + 1)),
            ("memLimit", .integer(JSONValue.largestInteger)),
            ("salt", .string("")), ("salt", .string("AAAAAAAAAAAAAAAAAAAA")),
            ("salt", .string("AAAAAAAAAAAAAAAAAAAAAAA=")),
            ("opsLimit", nil), ("memLimit", nil), ("salt", nil), ("opsLimit", .string("1")),
        ] as [(String, JSONValue?)])
    func limits(name: String, value: JSONValue?) throws {
        let fixture = try KeyringFixture(passphrase: Array("word".utf8)).forged(first: "slots") { $0[name] = value }
        #expect(fixture.trouble() == .damagedKeyring)
        let error = #expect(throws: VaultError.self) { try fixture.unlock(passphrase: Array("word".utf8)) }
        #expect(error?.code == .damagedKeyring)
    }

    @Test(
        "Costs at the bounds are allowed",
        arguments: [("opsLimit", 64), ("memLimit", 4 << 30), ("memLimit", 8 << 20)] as [(String, Int64)])
    func bounds(name: String, value: Int64) throws {
        let fixture = try KeyringFixture(passphrase: Array("word".utf8)).forged(first: "slots") {
            $0[name] = .integer(value)
        }
        // No passphrase slot opens with a key, so the cost is checked but the derivation does not run.
        #expect(fixture.trouble() == .wrongKey)
    }

    @Test(
        "A missing member, or one of the wrong type, is damage",
        arguments: [
            "format", "vaultID", "revision", "slots", "locators", "tokenKey", "tokenEpoch", "receiptKey",
            "receiptSequence", "generations",
            "current", "checksum",
        ])
    func missing(name: String) throws {
        let fixture = try KeyringFixture()
        var object = try fixture.object
        for value in [nil, .null, .bool(true), .array([.integer(1)]), .object([:])] as [JSONValue?] {
            object[name] = value
            if name != "checksum" { object["checksum"] = .string(KeyringDocument.checksum(of: object)) }
            let trouble = KeyringFixture(file: JSONValue.object(object.members).canonical).trouble()
            #expect(trouble == .damagedKeyring, "\(String(describing: value))")
        }
    }

    @Test("Impossible values are damage")
    func impossible() throws {
        let fixture = try KeyringFixture()
        let short = JSONValue.string(Base64.encode(Array(repeating: 0, count: 59)))
        func trouble(_ change: (inout JSONObject) -> Void) throws -> VaultError.Code? {
            try fixture.forged(change).trouble()
        }
        func trouble(_ list: String, _ change: (inout JSONObject) -> Void) throws -> VaultError.Code? {
            try fixture.forged(first: list, change).trouble()
        }
        #expect(try trouble { $0["format"] = .string("mediavault-keyring/2") } == .damagedKeyring)
        #expect(try trouble { $0["vaultID"] = .string("00") } == .damagedKeyring)
        #expect(try trouble { $0["tokenKey"] = short } == .damagedKeyring)
        #expect(try trouble { $0["current"] = .integer(2) } == .damagedKeyring)
        #expect(try trouble { $0["generations"] = .array([]) } == .damagedKeyring)
        #expect(try trouble { $0["locators"] = .array([]) } == .damagedKeyring)
        #expect(try trouble("slots") { $0["method"] = .string("guess") } == .damagedKeyring)
        for list in ["slots", "locators", "generations"] {
            for number in [0, 1 << 32, JSONValue.largestInteger] {
                #expect(try trouble(list) { $0["number"] = .integer(number) } == .damagedKeyring, "\(list) \(number)")
            }
            let twice = try fixture.forged { object in
                let one = try object.objects(list)[0]
                object[list] = .array([.object(one.members), .object(one.members)])
            }
            #expect(twice.trouble() == .damagedKeyring, "\(list) twice")
        }
        #expect(try trouble("generations") { $0["state"] = .string("retired") } == .damagedKeyring)
        #expect(try trouble("generations") { $0["key"] = nil } == .damagedKeyring)
        #expect(try trouble("generations") { $0["state"] = .string("other") } == .damagedKeyring)
    }

    @Test("No error message repeats contents of the keyring")
    func messages() throws {
        let fixture = try KeyringFixture()
        let secrets = try ["tokenKey", "receiptKey", "authenticator", "checksum"].map { try fixture.object.string($0) }
        for file in [fixture.file.flipping(bit: 300), [], try fixture.forged { $0["revision"] = .integer(9) }.file] {
            let error = #expect(throws: VaultError.self) { try KeyringFixture(file: file).unlock() }
            for secret in secrets { #expect(error?.message.contains(secret) == false) }
        }
    }
}
