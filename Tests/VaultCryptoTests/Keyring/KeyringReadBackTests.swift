import Testing
import VaultModel

@testable import VaultCrypto

@Suite("A keyring that no reader could open is never written")
struct KeyringReadBackTests {
    private static let beyond = JSONValue.largestInteger + 1

    /// Edits that make the file unreadable: one for each bound that a reader enforces.
    private static let edits: [(String, @Sendable (inout KeyringDocument) -> Void)] = [
        ("revision", { $0.revision = beyond - 1 }), ("tokenEpoch", { $0.tokenEpoch = beyond }),
        ("negative epoch", { $0.tokenEpoch = -1 }), ("receiptSequence", { $0.receiptSequence = beyond }),
        ("created", { $0.generations[0].created = .max }), ("backups", { $0.generations[0].backups = beyond }),
        ("generation", { $0.generations[0].number = 1 << 32 }), ("no current", { $0.current = 2 }),
        ("two of a number", { $0.generations.append($0.generations[0]) }),
        ("locator", { $0.locators[0].number = 1 << 32 }), ("no locator", { $0.locators = [] }),
        ("slot", { $0.slots[0].number = 1 << 32 }), ("two slots of a number", { $0.slots.append($0.slots[0]) }),
        ("token key", { $0.tokenKey.removeLast() }), ("a key that does not open", { $0.tokenKey[20] ^= 1 }),
        ("1 MiB", { $0.slots[0].label = String(repeating: "x", count: 1 << 20) }),
        (
            "17 slots",
            { document in
                for number in 2...17 {
                    var slot = document.slots[0]
                    slot.number = Int64(number)
                    document.slots.append(slot)
                }
            }
        ),
    ]

    @Test("A change that readers would refuse leaves file and memory unchanged", arguments: edits.map(\.0))
    func changed(_ name: String) throws {
        let edit = try #require(Self.edits.first { $0.0 == name }).1
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        #expect(throws: VaultError.self) {
            try keyring.change(reading: { fixture.file }) {
                edit(&$0.document)
            } writing: { _ in
                Issue.record("it wrote the keyring")
            }
        }
        #expect(keyring.revision == 1 && keyring.tokenEpoch == 1 && keyring.activeGenerations == [1])
        // The keyring still works.
        var written: [UInt8] = []
        try keyring.change(reading: { fixture.file }) {
            $0.revokeTokens()
        } writing: {
            written = $0.bytes
        }
        #expect(KeyringFixture(file: written).trouble() == nil)
    }

    @Test("An unreadable restored keyring, counted receipt or new keyring is refused")
    func otherWriters() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        for last in [JSONValue.largestInteger, JSONValue.largestInteger - 1] {
            let file = { try keyring.restored(fixture.file, after: last, without: [], current: 1, replacing: nil) }
            if last == JSONValue.largestInteger {
                #expect(throws: VaultError.self) { try file() }
            } else {
                #expect(try KeyringFixture(file: file()).trouble() == nil)
            }
        }
        let receipt = Receipt(
            sequence: Self.beyond, time: 1, act: .rotate, outcome: .done, generation: 1, subject: nil, resources: nil)
        #expect(throws: VaultError.self) { try KeyringReceipts(keyring).counting(receipt, in: fixture.file) }
        #expect(throws: VaultError.self) {
            try NewKeyring.make(
                with: .key(SecretKey(KeyringFixture.keyBytes)), method: .keyFile, label: "", now: .max)
        }
    }

    @Test("A backup, a carried-out order or kept slots are refused if the file would be too large")
    func largeFiles() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        let base = try fixture.rewritten { document, _ in document.rest["later"] = .string("") }
        // Ten bytes are left, and a slot needs more.
        let text = String(repeating: "x", count: KeyringDocument.maxBytes - base.file.count - 10)
        let large = try fixture.rewritten { document, _ in document.rest["later"] = .string(text) }
        #expect(large.trouble() == nil)
        let own = Array(repeating: UInt8(9), count: 32)
        let added = try keyring.orderSlot(
            in: fixture.file, label: "", method: .keyFile, secret: .key(SecretKey(own)), cost: nil)
        let replaced = try keyring.orderReplacement(
            of: 1, in: fixture.file, label: nil, method: .keyFile, secret: .key(SecretKey(own)), cost: nil)
        let other = try keyring.carryingOut(replaced, in: fixture.file)
        let writers: [(String, ([UInt8]) throws -> [UInt8])] = [
            (
                "backup",
                {
                    try keyring.backup(
                        of: $0, label: "", secret: .passphrase(normalizing: SecretBytes(Array("word".utf8))),
                        cost: KeyringFixture.cheapCost())
                }
            ),
            ("order", { try keyring.carryingOut(added, in: $0) }),
            (
                "slots",
                {
                    try keyring.keepingSlots(
                        of: other, in: $0, openedBy: .key(SecretKey(KeyringFixture.keyBytes)))
                }
            ),
        ]
        for (name, write) in writers {
            #expect(try !write(base.file).isEmpty, "\(name)")
            let refusal = #expect(throws: VaultError.self, "\(name)") { try write(large.file) }
            #expect(refusal?.code == .storage, "\(name)")
        }
    }

    @Test(
        "A number that does not fit the associated data is refused, not truncated",
        arguments: [-1, 1 << 32, (1 << 32) + 1, .max] as [Int64])
    func numbers(_ number: Int64) throws {
        let fixture = try KeyringFixture()
        let vaultID = try KeyringReader.vaultID(of: fixture.file)
        #expect(throws: VaultError.self) {
            try KeyringDocument.associatedData(.generation, vaultID: vaultID, number: number)
        }
        let keyring = try fixture.unlock()
        let resource = try #require(ResourceID(bytes: Array(repeating: 7, count: 32)))
        let key = try SecretKey(KeyringFixture.keyBytes)
        let cut = Int(UInt32(truncatingIfNeeded: number))
        let wrapped = try #require(try keyring.wrap(key, resource: resource, number: cut, generation: 1))
        #expect(try keyring.unwrap(wrapped, resource: resource, number: cut, generation: 1) != nil)
        #expect(try keyring.wrap(key, resource: resource, number: Int(number), generation: 1) == nil)
        #expect(try keyring.unwrap(wrapped, resource: resource, number: Int(number), generation: 1) == nil)
    }

    @Test("A file over 4 MiB is refused")
    func size() throws {
        let fixture = try KeyringFixture()
        let space = Array(repeating: UInt8(ascii: " "), count: (4 << 20) - fixture.file.count)
        #expect(KeyringFixture(file: fixture.file + space).trouble() == nil)
        #expect(KeyringFixture(file: fixture.file + space + [0x20]).trouble() == .damagedKeyring)
    }

    @Test("Passphrase slots that cost more in total than 16 sensitive ones are damage, even if none is tried")
    func work() throws {
        let fixture = try KeyringFixture(passphrase: Array("word".utf8))
        func stated(_ costs: [(Int64, Int64)]) throws -> VaultError.Code? {
            let forged = try fixture.forged { object in
                let slot = try object.objects("slots")[0]
                object["slots"] = .array(
                    costs.enumerated().map { index, cost in
                        var slot = slot
                        slot["number"] = .integer(Int64(index + 1))
                        (slot["opsLimit"], slot["memLimit"]) = (.integer(cost.0), .integer(cost.1))
                        return .object(slot.members)
                    })
            }
            return forged.trouble()
        }
        #expect(try stated(Array(repeating: (4, 1 << 30), count: 16)) == .wrongKey)
        #expect(try stated(Array(repeating: (4, 1 << 30), count: 15) + [(5, 1 << 30)]) == .damagedKeyring)
        #expect(try stated([(64, 4 << 30)]) == .damagedKeyring)
    }
}
