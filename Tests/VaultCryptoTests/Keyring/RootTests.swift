import Testing
import VaultModel

@testable import VaultCrypto

@Suite("A new root key")
struct RootTests {
    private final class Box { var bytes: [UInt8] = [] }

    private func secret(_ bytes: [UInt8] = KeyringFixture.keyBytes) throws -> SharedSecret {
        SharedSecret(.key(try SecretKey(bytes)))
    }

    private func renewed(
        _ fixture: KeyringFixture, _ secrets: [SharedSecret], droppingOthers: Bool = false,
        avoiding taken: Set<Int> = []
    ) throws -> (Keyring, KeyringFixture) {
        let (keyring, written) = (try fixture.unlock(), Box())
        _ = try keyring.change(reading: { fixture.file }) {
            try $0.renewRoot(openedBy: secrets, droppingOthers: droppingOthers, now: 1, avoiding: taken)
        } writing: {
            written.bytes = $0.bytes
        }
        return (keyring, KeyringFixture(file: written.bytes))
    }

    /// The fixture with a second slot, which opens with a key of nines.
    private func twoSlots() throws -> KeyringFixture {
        try KeyringFixture().rewritten { document, root in
            var slot = document.slots[0]
            (slot.number, slot.label) = (2, "second")
            slot.rootKey = try SealedValue.seal(
                root, key: SecretKey(nines),
                associatedData: try KeyringDocument.associatedData(.slot, vaultID: document.vaultID, number: 2))
            document.slots.append(slot)
        }
    }

    private let nines = Array(repeating: UInt8(9), count: 32)

    @Test("A new root key keeps all keys, changes the tokens, and adds a generation")
    func kept() throws {
        let fixture = try KeyringFixture()
        let before = try fixture.unlock()
        let (keyring, file) = try renewed(fixture, [secret()])
        for after in [keyring, try file.unlock()] {
            #expect(after.currentGeneration == 2 && after.activeGenerations == [1, 2] && after.revision == 2)
            #expect(after.resourceID(cacheKey: [1], locator: 1) == before.resourceID(cacheKey: [1], locator: 1))
            #expect(after.token(.token, [1]) != before.token(.token, [1]))
        }
        #expect(try file.unlock().token(.token, [1]) == keyring.token(.token, [1]))
    }

    @Test("The old root key opens no part of the new file")
    func oldRoot() throws {
        let fixture = try KeyringFixture()
        let (_, file) = try renewed(fixture, [secret()])
        let old = try fixture.rootKey()
        let document = try KeyringDocument(reading: file.object)
        #expect(throws: VaultError.self) { try KeyringReader.document(in: file.file, authenticatedBy: old) }
        let sealed: [([UInt8], KeyringDocument.Role, Int64)] =
            [(document.tokenKey, .token, 0), (document.receiptKey, .receipt, 0)]
            + document.locators.map { ($0.key, .locator, $0.number) }
            + document.generations.compactMap { one in one.key.map { ($0, .generation, one.number) } }
        #expect(sealed.count == 5)
        for (bytes, role, number) in sealed {
            let data = try KeyringDocument.associatedData(role, vaultID: document.vaultID, number: number)
            #expect(try SealedValue.openKey(bytes, key: old, associatedData: data) == nil)
        }
    }

    @Test("Slots with a given key stay, and another is named in an error unless it may be dropped")
    func slots() throws {
        let fixture = try twoSlots()
        let refused = #expect(throws: VaultError.self) { try renewed(fixture, [secret()]) }
        #expect(refused?.code == .invalidArgument && refused?.message.contains("2 (second, key-file)") == true)
        let (_, both) = try renewed(fixture, [secret(), secret(nines)])
        #expect(both.trouble() == nil && both.trouble(key: nines) == nil)
        let (_, one) = try renewed(fixture, [secret()], droppingOthers: true)
        #expect(one.trouble() == nil && one.trouble(key: nines) == .wrongKey)
        #expect(try KeyringDocument(reading: one.object).slots.map(\.number) == [1])
    }

    @Test("A key that opens no slot is refused, and so is an empty list of keys")
    func strangers() throws {
        let fixture = try KeyringFixture()
        for secrets in [[], [try secret(nines)], [try secret(), try secret(nines)]] {
            let error = #expect(throws: VaultError.self) {
                try renewed(fixture, secrets, droppingOthers: true)
            }
            #expect(error?.code == .wrongKey)
        }
    }

    @Test("A key that is given twice opens its slot once and is not refused")
    func twice() throws {
        let fixture = try twoSlots()
        let (_, file) = try renewed(fixture, [secret(), secret(nines), secret(), secret(nines)])
        #expect(file.trouble() == nil && file.trouble(key: nines) == nil)
        #expect(try KeyringDocument(reading: file.object).slots.map(\.number) == [1, 2])
    }

    @Test(
        "The advance check before an order reports what the root renewal after it would refuse",
        arguments: [false, true])
    func tried(dropsOthers: Bool) throws {
        let fixture = try twoSlots()
        let keyring = try fixture.unlock()
        let order = try keyring.orderRemoval(of: 2, in: fixture.file)
        let after = KeyringFixture(file: try keyring.carryingOut(order, in: fixture.file))
        let add = try keyring.orderSlot(
            in: fixture.file, label: "third", method: .keyFile, secret: .key(SecretKey(threes)), cost: nil)
        let three = KeyringFixture(file: try keyring.carryingOut(add, in: fixture.file))
        let given: [[SharedSecret]] = [
            [], [try secret()], [try secret(nines)], [try secret(), try secret(nines)],
            [try secret(), try secret(nines), try secret(threes)],
        ]
        var codes: [VaultError.Code?] = []
        for secrets in given {
            for (order, changed) in [(order, after), (add, three)] {
                let tried = code {
                    try keyring.checkRootRenewal(
                        after: order, in: fixture.file, openedBy: secrets, droppingOthers: dropsOthers,
                        ownerHasOtherKeys: false)
                }
                #expect(tried == code { _ = try renewed(changed, secrets, droppingOthers: dropsOthers) })
                codes.append(tried)
            }
        }
        let lost: VaultError.Code? = dropsOthers ? nil : .invalidArgument
        #expect(codes == [.wrongKey, .wrongKey, nil, lost, .wrongKey, lost, .wrongKey, lost, .wrongKey, nil])
    }

    @Test("If the owner has other keys, the advance check refuses only a passphrase slot")
    func otherKeys() throws {
        let fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        let key = try keyring.orderSlot(
            in: fixture.file, label: "", method: .credential, secret: .key(SecretKey(nines)), cost: nil)
        let phrase = try keyring.orderSlot(
            in: fixture.file, label: "", method: .passphrase,
            secret: .passphrase(normalizing: SecretBytes(Array("word".utf8))), cost: KeyringFixture.cheapCost())
        for (order, refusal) in [(key, nil), (phrase, .invalidArgument)] as [(KeyringOrder, VaultError.Code?)] {
            let tried = code {
                try keyring.checkRootRenewal(
                    after: order, in: fixture.file, openedBy: [try secret()], droppingOthers: false,
                    ownerHasOtherKeys: true)
            }
            #expect(tried == refusal)
        }
    }

    /// The code of the thrown error; nil if nothing is thrown.
    private func code(_ body: () throws -> Void) -> VaultError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? VaultError)?.code
        }
    }

    private let threes = Array(repeating: UInt8(3), count: 32)

    @Test("The generation of a new root key avoids given numbers that the keyring does not know")
    func taken() throws {
        let (keyring, _) = try renewed(try KeyringFixture(), [secret()], avoiding: [2, 3, 7, .max, .min])
        #expect(keyring.currentGeneration == 4 && keyring.activeGenerations == [1, 4])
    }
}
