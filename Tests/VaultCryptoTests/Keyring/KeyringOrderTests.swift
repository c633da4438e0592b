import Foundation
import Testing
import VaultModel

@testable import VaultCrypto

/// Orders add, replace and remove slots: a holder of the root key creates them, and the vault's owner carries them out.
@Suite("Orders that change a keyring")
struct KeyringOrderTests {
    private let fixture: KeyringFixture
    private let keyring: Keyring

    init() throws {
        fixture = try KeyringFixture()
        keyring = try fixture.unlock()
    }

    private static let other = Array(repeating: UInt8(0xA5), count: 32)

    private func adding(_ key: [UInt8] = other, label: String = "second", to file: [UInt8]? = nil) throws
        -> KeyringOrder
    {
        try keyring.orderSlot(
            in: file ?? fixture.file, label: label, method: .keyFile, secret: .key(SecretKey(key)), cost: nil)
    }

    /// The file after an owner with the open keyring has carried out an order.
    private func carriedOut(_ order: KeyringOrder, on file: [UInt8]? = nil) throws -> KeyringFixture {
        let file = file ?? fixture.file
        var written: [UInt8] = []
        try KeyringFixture(file: file).unlock().change(
            reading: { file }, { try $0.carryOut(order) }, writing: { written = $0.bytes })
        return KeyringFixture(file: written)
    }

    private func refusal(of order: KeyringOrder, on file: [UInt8]? = nil) -> VaultError.Code? {
        let error = #expect(throws: VaultError.self) { try carriedOut(order, on: file) }
        return error?.code
    }

    @Test("An added slot opens the same keys as the existing one")
    func added() throws {
        let changed = try carriedOut(adding())
        let opened = try changed.unlock(key: Self.other)
        #expect(opened.unlockedSlot == 2 && opened.revision == 2 && opened.vaultID == keyring.vaultID)
        #expect(opened.token(.token, [1]) == keyring.token(.token, [1]))
        #expect(try changed.unlock().unlockedSlot == 1)
        #expect(fixture.trouble(key: Self.other) == .wrongKey)
    }

    @Test("A replaced slot opens with the new passphrase and no longer with the old key")
    func replaced() throws {
        let word = Array("new word".utf8)
        let order = try keyring.orderReplacement(
            of: 1, in: fixture.file, label: nil, method: .passphrase,
            secret: .passphrase(normalizing: SecretBytes(word)), cost: KeyringFixture.cheapCost())
        let changed = try carriedOut(order)
        #expect(try changed.unlock(passphrase: word).unlockedBy == .passphrase)
        #expect(changed.trouble() == .wrongKey)
        let slots = try KeyringReader.unauthenticated(changed.file).slots
        #expect(slots.map(\.number) == [1] && slots.map(\.label) == ["test"])
        #expect(try changed.object.objects("slots")[0].integer("memLimit") == 8 << 20)
    }

    @Test("A removed slot no longer opens, and the last slot cannot be removed")
    func removed() throws {
        let two = try carriedOut(adding())
        let removal = try two.unlock(key: Self.other).orderRemoval(of: 1, in: two.file)
        let one = try carriedOut(removal, on: two.file, openedBy: Self.other)
        #expect(one.trouble() == .wrongKey && one.trouble(key: Self.other) == nil)
        let error = #expect(throws: VaultError.self) {
            try one.unlock(key: Self.other).orderRemoval(of: 2, in: one.file)
        }
        #expect(error?.code == .invalidArgument && error?.message.contains("only way") == true)
        #expect(throws: VaultError.self) { try keyring.orderRemoval(of: 9, in: fixture.file) }
    }

    private func carriedOut(_ order: KeyringOrder, on file: [UInt8], openedBy key: [UInt8]) throws -> KeyringFixture {
        var written: [UInt8] = []
        try KeyringFixture(file: file).unlock(key: key).change(
            reading: { file }, { try $0.carryOut(order) }, writing: { written = $0.bytes })
        return KeyringFixture(file: written)
    }

    @Test("A slot that this process added or replaced is known to open, so it may be the last one")
    func proofs() throws {
        let two = try carriedOut(adding())
        #expect(try keyring.orderRemoval(of: 1, in: two.file).act == .remove)
        // A process that has not seen the second slot's secret cannot know that it opens.
        let another = try fixture.unlock()
        let refusal = #expect(throws: VaultError.self) { try another.orderRemoval(of: 1, in: two.file) }
        #expect(refusal?.code == .inUse)
        let order = try another.orderReplacement(
            of: 2, in: two.file, label: nil, method: .keyFile,
            secret: .key(SecretKey(Array(repeating: 0x5A, count: 32))), cost: nil)
        let changed = try carriedOut(order, on: two.file)
        #expect(try another.orderRemoval(of: 1, in: changed.file).act == .remove)
    }

    @Test("A keyring has at most 16 slots, and each of them opens")
    func most() throws {
        var file = fixture.file
        for number in 2...16 {
            file = try carriedOut(adding(Array(repeating: UInt8(number), count: 32), to: file), on: file).file
        }
        let error = #expect(throws: VaultError.self) { try adding(to: file) }
        #expect(error?.code == .inUse && error?.hint == .removeSlot)
        for number in 2...16 {
            let opened = try KeyringFixture(file: file).unlock(key: Array(repeating: UInt8(number), count: 32))
            #expect(opened.unlockedSlot == number)
        }
    }

    @Test("An added slot is numbered past the highest, even if lower numbers are free")
    func numbers() throws {
        let two = try carriedOut(adding())
        let three = try carriedOut(adding(Array(repeating: 3, count: 32), to: two.file), on: two.file)
        let without = try carriedOut(three.unlock().orderRemoval(of: 2, in: three.file), on: three.file)
        let four = try carriedOut(adding(Array(repeating: 4, count: 32), to: without.file), on: without.file)
        #expect(try KeyringReader.unauthenticated(four.file).slots.map(\.number) == [1, 3, 4])
    }

    @Test("An order for another revision or from another keyring changes nothing")
    func foreign() throws {
        let order = try adding()
        let newer = try carriedOut(order)
        #expect(refusal(of: order, on: newer.file) == .olderKeyring)
        let stranger = try KeyringFixture()
        let forged = try stranger.unlock().orderSlot(
            in: stranger.file, label: "", method: .keyFile, secret: .key(SecretKey(Self.other)), cost: nil)
        #expect(refusal(of: forged) == .wrongKey)
    }

    @Test("An order with a changed member fails authentication")
    func changed() throws {
        for order in [try adding(), try keyring.orderBackup(of: fixture.file)] {
            let text = try JSONEncoder().encode(order)
            let object = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
            let changes: [(inout [String: Any]) -> Void] = [
                { $0["revision"] = 2 }, { $0["number"] = 1 }, { $0["proof"] = "" }, { $0["proof"] = "AAAA" },
                { $0["act"] = $0["act"] as? String == "backup" ? "remove" : "backup" },
                { members in
                    var slot =
                        members["slot"] as? [String: Any] ?? ["number": 1, "rootKey": "", "method": "", "label": ""]
                    slot["label"] = "another"
                    members["slot"] = slot
                },
            ]
            for change in changes {
                var members = object
                change(&members)
                let read = try JSONDecoder().decode(
                    KeyringOrder.self, from: JSONSerialization.data(withJSONObject: members))
                #expect(refusal(of: read) == .wrongKey, "\(members)")
            }
            #expect(try JSONDecoder().decode(KeyringOrder.self, from: text) == order)
        }
    }

    @Test("An order contains neither the new secret nor the root key")
    func nothingSecret() throws {
        let text = String(decoding: try JSONEncoder().encode(adding()), as: UTF8.self)
        for secret in [try fixture.rootKey().exposed, Self.other, KeyringFixture.keyBytes] {
            #expect(!text.contains(Base64.encode(secret).dropLast(2)) && !text.contains(Hex.encode(secret)))
        }
    }

    @Test(
        "An authentic order that is impossible to carry out is refused",
        arguments: [
            (.add, nil), (.add, 1), (.replace, nil), (.remove, nil), (.backup, 1), (.remove, -1), (.remove, .max),
        ] as [(KeyringOrder.Act, Int64?)])
    func unusable(act: KeyringOrder.Act, number: Int64?) throws {
        let order = KeyringOrder(revision: 1, act: act, number: number, authenticatedWith: try fixture.rootKey())
        #expect(refusal(of: order) == (act == .remove && number != nil ? .notHeld : .invalidArgument))
    }

    @Test(
        "A label must be at most 128 bytes long, without control characters",
        arguments: ["a\nb", "\u{7}", String(repeating: "é", count: 65)])
    func labels(label: String) throws {
        let error = #expect(throws: VaultError.self) { try adding(label: label) }
        #expect(error?.code == .invalidArgument)
        #expect(try carriedOut(adding(label: String(repeating: "é", count: 64))).trouble() == nil)
    }

    @Test("The sensitive cost equals that of libsodium: 4 passes over 1 GiB")
    func sensitive() throws {
        let cost = try Argon2id.Cost.sensitive()
        #expect(cost.opsLimit == 4 && cost.memLimit == 1 << 30 && cost.isPossible)
    }

    // MARK: Backups

    @Test("Each active generation counts a backup, and the backup opens with its passphrase only")
    func backup() throws {
        let base = try fixture.rewritten { document, _ in
            document.generations.append(.init(number: 2, created: 0, key: nil, backups: 5))
        }
        let counted = try carriedOut(keyring.orderBackup(of: base.file), on: base.file)
        #expect(try counted.object.objects("generations").map { try $0.integer("backups") } == [1, 5])
        let word = Array("drawer".utf8)
        let backup = KeyringFixture(
            file: try keyring.backup(
                of: counted.file, label: "backup", secret: .passphrase(normalizing: SecretBytes(word)),
                cost: KeyringFixture.cheapCost()))
        let opened = try backup.unlock(passphrase: word)
        #expect(opened.revision == 2 && opened.activeGenerations == [1] && opened.vaultID == keyring.vaultID)
        #expect(backup.trouble() == .wrongKey)
        #expect(try backup.object.objects("generations").map { try $0.integer("backups") } == [1, 5])
        #expect(try backup.object.objects("slots").count == 1)
        #expect(throws: VaultError.self) {
            try keyring.backup(of: counted.file, label: "", secret: .key(SecretKey(Self.other)), cost: nil)
        }
    }

    @Test("A restored backup has a newer revision than any the vault has seen, and revoked links stay revoked")
    func restored() throws {
        let two = try fixture.rewritten { document, root in
            let data = try KeyringDocument.associatedData(.generation, vaultID: document.vaultID, number: 2)
            let key = try SealedValue.seal(SecureRandom.key("generation"), key: root, associatedData: data)
            document.generations.append(.init(number: 2, created: 0, key: key, backups: 0))
        }
        let newer = try two.rewritten { document, _ in
            document.revision = 5
            document.tokenEpoch = 4
            document.receiptSequence = 7
        }
        let restored = KeyringFixture(
            file: try keyring.restored(two.file, after: 5, without: [1], current: 2, replacing: newer.file))
        let opened = try restored.unlock()
        #expect(opened.revision == 6 && opened.tokenEpoch == 5)
        #expect(opened.activeGenerations == [2] && opened.currentGeneration == 2)
        #expect(try restored.object.integer("receiptSequence") == 7)
        // A file under another root key is not trusted, and a vault that has seen nothing newer keeps its token epoch.
        let plain = KeyringFixture(
            file: try keyring.restored(
                two.file, after: 1, without: [], current: 1, replacing: KeyringFixture().file))
        let kept = try plain.unlock()
        #expect(kept.tokenEpoch == 1 && kept.revision == 2)
        #expect(keyring.revision(of: newer.file) == 5)
        #expect(try keyring.revision(of: KeyringFixture().file) == nil)
    }
}
