import SeededRandom
import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Damaged and changed keyrings")
struct KeyringDamageTests {
    @Test("Every bit flipped is damage, or tampering where it lies in the authenticator, and never opens")
    func everyBit() throws {
        let fixture = try KeyringFixture()
        let value = try #require(try fixture.object["authenticator"])
        let text = Array(String(decoding: value.canonical, as: UTF8.self).utf8)
        let place = try #require(fixture.file.indices.first { fixture.file[$0...].starts(with: text) })
        let authenticator = (place + 1)..<(place + text.count - 1)
        for bit in 0..<(fixture.file.count * 8) {
            let trouble = KeyringFixture(file: fixture.file.flipping(bit: bit)).trouble()
            // A flip there may also leave no string, or none in UTF-8.
            let isExpected =
                trouble == .damagedKeyring || (authenticator.contains(bit / 8) && trouble == .tamperedKeyring)
            #expect(isExpected, "bit \(bit): \(trouble.map(\.description) ?? "opened")")
        }
    }

    @Test("Every cut is damage, but for the line end alone")
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

    @Test("Random bytes changed never open, and never trap")
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
            // White space between members is no change of the document.
            if let value = try? JSONParser.parse(file), value == original { continue }
            let trouble = KeyringFixture(file: file).trouble()
            #expect(
                trouble == .damagedKeyring || trouble == .tamperedKeyring, "\(String(decoding: file, as: UTF8.self))")
        }
    }

    @Test(
        "A changed member with a right checksum is tampering, whatever it is",
        arguments: [
            ("revision", .integer(2)), ("tokenEpoch", .integer(7)), ("receiptSequence", .integer(1)), ("added", .null),
            ("authenticator", nil), ("authenticator", .null), ("authenticator", .string("")),
            ("authenticator", .integer(1)),
        ] as [(String, JSONValue?)])
    func tampered(name: String, value: JSONValue?) throws {
        #expect(try KeyringFixture().forged { $0[name] = value }.trouble() == .tamperedKeyring)
    }

    @Test("A changed label, a generation retired, a slot's method changed: tampering")
    func tamperedLists() throws {
        let fixture = try KeyringFixture()
        #expect(try fixture.forged(first: "slots") { $0["label"] = .string("other") }.trouble() == .tamperedKeyring)
        #expect(try fixture.forged(first: "slots") { $0["method"] = .string("command") }.trouble() == .tamperedKeyring)
        #expect(try fixture.forged(first: "generations") { $0["backups"] = .integer(9) }.trouble() == .tamperedKeyring)
        #expect(try fixture.forged(first: "generations") { $0["created"] = .integer(9) }.trouble() == .tamperedKeyring)
        #expect(try fixture.forged(first: "locators") { $0["number"] = .integer(2) }.trouble() == .tamperedKeyring)
    }

    @Test("Keys exchanged between members of an authentic keyring open nothing")
    func exchanged() throws {
        // Written by somebody with the root key, so that nothing but the associated data stands against it.
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

    @Test("A slot or vault id exchanged opens with no key")
    func wrongSlot() throws {
        let fixture = try KeyringFixture()
        let other = try KeyringFixture().object
        let slot = try other.objects("slots")[0]
        #expect(try fixture.forged(first: "slots") { $0["rootKey"] = slot["rootKey"] }.trouble() == .wrongKey)
        #expect(try fixture.forged(first: "slots") { $0["number"] = .integer(2) }.trouble() == .wrongKey)
        #expect(try fixture.forged { $0["vaultID"] = other["vaultID"] }.trouble() == .wrongKey)
        #expect(try fixture.forged { $0["slots"] = .array([]) }.trouble() == .wrongKey)
    }

    @Test("The order of reading: damage before limits before the key before tampering")
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
        "Costs out of bounds are damage, whoever asks",
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
        "The bounds themselves are within them",
        arguments: [("opsLimit", 64), ("memLimit", 4 << 30), ("memLimit", 8 << 20)] as [(String, Int64)])
    func bounds(name: String, value: Int64) throws {
        let fixture = try KeyringFixture(passphrase: Array("word".utf8)).forged(first: "slots") {
            $0[name] = .integer(value)
        }
        // Read with a key, which no passphrase slot takes: the cost is judged and not paid.
        #expect(fixture.trouble() == .wrongKey)
    }

    @Test(
        "A member that is missing or of another kind is damage",
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

    @Test("Values that cannot be are damage")
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

    @Test("No message of an error repeats what the keyring holds")
    func messages() throws {
        let fixture = try KeyringFixture()
        let secrets = try ["tokenKey", "receiptKey", "authenticator", "checksum"].map { try fixture.object.string($0) }
        for file in [fixture.file.flipping(bit: 300), [], try fixture.forged { $0["revision"] = .integer(9) }.file] {
            let error = #expect(throws: VaultError.self) { try KeyringFixture(file: file).unlock() }
            for secret in secrets { #expect(error?.message.contains(secret) == false) }
        }
    }
}
