import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultTestSupport

@Suite("Unlock methods", .timeLimit(.minutes(5)))
struct SlotTests {
    private let fixture: VaultFixture
    private let folder: TemporaryFolder

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 90_000))
        folder = try TemporaryFolder()
    }

    private func passphrase(_ text: String) throws -> Unlock { .passphrase(try Passphrase(copying: Array(text.utf8))) }

    private func keyFile(_ name: String) -> Unlock { .keyFile(path: folder.path + "/" + name) }

    /// Returns the error code of opening the vault as a reader; nil if it opens and holds the expected bytes.
    private func trouble(_ unlock: Unlock) async throws -> VaultError.Code? {
        do {
            let vault = try await Vault.open(fixture.place, unlock: unlock, options: VaultOptions(access: .reader))
            #expect(try await fixture.held(vault) == [0..<90_000])
            await vault.close()
            return nil
        } catch let error as VaultError {
            return error.code
        }
    }

    private func filled() async throws -> Vault {
        let vault = try await fixture.open()
        _ = try await fixture.read(vault)
        return vault
    }

    @Test("Slots are added, changed and removed while the vault is open and in use")
    func life() async throws {
        let vault = try await filled()
        try await vault.keys.addSlot(NewSlot(keyFile("second"), label: "anna"))
        try await vault.keys.addSlot(NewSlot(.keyCommand("printf %064d 1")))
        let summary = try await vault.keys.summary()
        #expect(summary.slots.map(\.label) == ["first", "anna", "command"])
        #expect(summary.slots.map(\.method) == ["key-file", "key-file", "command"] && summary.revision == 3)
        try await vault.keys.replaceSlot(with: NewSlot(passphrase("pass")))
        try await vault.keys.removeSlot(2)
        #expect(try await fixture.read(vault) == 0..<90_000)
        await vault.close()
        #expect(try await trouble(fixture.unlock) == .wrongKey)
        #expect(try await trouble(keyFile("second")) == .wrongKey)
        #expect(try await trouble(passphrase("pass")) == nil)
        #expect(try await trouble(.keyCommand("printf %064d 1")) == nil)
        #expect(try await KeyringSummary.read(fixture.place.keyring).slots.map(\.number) == [1, 3])
    }

    @Test("A credential opens the vault that it was added to")
    func credential() async throws {
        let vault = try await filled()
        _ = FileManager.default.createFile(
            atPath: folder.path + "/cred", contents: Data(repeating: 9, count: 32),
            attributes: [.posixPermissions: 0o440])
        let credential = Unlock.credential(path: folder.path + "/cred")
        try await vault.keys.addSlot(NewSlot(credential))
        await vault.close()
        #expect(try await trouble(credential) == nil)
        #expect(try await trouble(.credential(path: folder.path + "/none")) == .wrongKey)
    }

    @Test("An erased passphrase opens nothing any more; a vault that it opened stays open")
    func forgotten() async throws {
        let vault = try await filled()
        let typed = try passphrase("pass")
        try await vault.keys.addSlot(NewSlot(typed, strength: .least))
        await vault.close()
        let opened = try await Vault.open(fixture.place, unlock: typed, options: VaultOptions(access: .reader))
        typed.forget()
        #expect(try await fixture.held(opened) == [0..<90_000])
        await opened.close()
        #expect(try await trouble(typed) == .wrongKey)
        #expect(try await trouble(passphrase("pass")) == nil)
    }

    @Test("A keyring created with a sensitive passphrase records its cost parameters")
    func sensitive() async throws {
        let place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keyring.json")
        _ = try await Vault.initialize(place, unlock: passphrase("pass"), strength: .sensitive)
        let slot = try #require(try await KeyringSummary.read(place.keyring).slots.first)
        #expect(slot.opsLimit == 4 && slot.memLimit == 1 << 30)
    }

    @Test("The last slot cannot be removed, and a reader cannot change slots")
    func refused() async throws {
        let vault = try await fixture.open()
        let last = await #expect(throws: VaultError.self) { try await vault.keys.removeSlot(1) }
        #expect(last?.code == .invalidArgument)
        let reader = try await fixture.open(.reader)
        let owned = await #expect(throws: VaultError.self) { try await reader.keys.addSlot(NewSlot(keyFile("other"))) }
        #expect(owned?.code == .owned)
        await reader.close()
        await vault.close()
        #expect(try await KeyringSummary.read(fixture.place.keyring).revision == 1)
    }

    @Test("The only slot that is known to open is removed by force only, unless another was proved")
    func proof() async throws {
        var vault = try await filled()
        try await vault.keys.addSlot(NewSlot(keyFile("second")))
        await vault.close()
        vault = try await fixture.open()
        let before = try Data(contentsOf: URL(filePath: fixture.place.keyring))
        let refused = await #expect(throws: VaultError.self) { try await vault.keys.removeSlot(1) }
        #expect(refused?.code == .inUse && refused?.message.contains("slot 1") == true)
        #expect(try Data(contentsOf: URL(filePath: fixture.place.keyring)) == before)
        // A root rotation needs a key that opens each slot, which proves the slots.
        _ = try await vault.keys.rotateRoot(unlockedBy: [fixture.unlock, keyFile("second")])
        try await vault.keys.removeSlot(1)
        #expect(try await trouble(fixture.unlock) == .wrongKey)
        #expect(try await trouble(keyFile("second")) == nil)
        try await vault.keys.addSlot(NewSlot(keyFile("third")))
        await vault.close()
        vault = try await Vault.open(fixture.place, unlock: keyFile("second"))
        try await vault.keys.removeSlot(2, force: true)
        await vault.close()
        #expect(try await trouble(keyFile("second")) == .wrongKey)
        #expect(try await trouble(keyFile("third")) == nil)
    }

    @Test("Each of several concurrent changes is complete, or is refused because another came first")
    func together() async throws {
        let vault = try await fixture.open()
        let outcomes = await withTaskGroup(of: VaultError.Code?.self) { group in
            for number in 1...6 {
                group.addTask {
                    do {
                        try await vault.keys.addSlot(NewSlot(.keyCommand("printf %064d \(number)")))
                        return nil
                    } catch { return (error as? VaultError)?.code ?? .closed }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let made = outcomes.count { $0 == nil }
        #expect(made >= 1 && outcomes.allSatisfy { $0 == nil || $0 == .busy || $0 == .olderKeyring })
        let summary = try await vault.keys.summary()
        #expect(summary.slots.count == 1 + made && summary.revision == Int64(1 + made))
        await vault.close()
    }

    @Test("A keyring file that was changed behind the owner's back is not overwritten")
    func changedBehind() async throws {
        let vault = try await fixture.open()
        let old = try Data(contentsOf: URL(filePath: fixture.place.keyring))
        try await vault.keys.addSlot(NewSlot(keyFile("second")))
        try old.write(to: URL(filePath: fixture.place.keyring))
        let error = await #expect(throws: VaultError.self) { try await vault.keys.addSlot(NewSlot(keyFile("third"))) }
        #expect(error?.code == .olderKeyring)
        #expect(try Data(contentsOf: URL(filePath: fixture.place.keyring)) == old)
        await vault.close()
    }
}
