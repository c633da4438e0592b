import Foundation
import MediaVault
import OriginTestSupport
import Testing

@Suite("Ways to unlock", .timeLimit(.minutes(5)))
struct SlotTests {
    private let fixture: VaultFixture
    private let folder: TemporaryFolder

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 90_000))
        folder = try TemporaryFolder()
    }

    private func passphrase(_ text: String) throws -> Unlock { .passphrase(try Passphrase(copying: Array(text.utf8))) }

    private func keyFile(_ name: String) -> Unlock { .keyFile(path: folder.path + "/" + name) }

    /// What opening the vault for reading comes to; nil where it opens, and what was held is right.
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

    @Test("Ways are added, changed and removed while the vault is open and read")
    func life() async throws {
        let vault = try await filled()
        try await vault.addSlot(NewSlot(keyFile("second"), label: "anna"))
        try await vault.addSlot(NewSlot(.keyCommand("printf %064d 1")))
        let summary = try await vault.keyringSummary()
        #expect(summary.slots.map(\.label) == ["first", "anna", "command"])
        #expect(summary.slots.map(\.method) == ["key-file", "key-file", "command"] && summary.revision == 3)
        try await vault.replaceSlot(with: NewSlot(passphrase("pass")))
        try await vault.removeSlot(2)
        #expect(try await fixture.read(vault) == 0..<90_000)
        await vault.close()
        #expect(try await trouble(fixture.unlock) == .wrongKey)
        #expect(try await trouble(keyFile("second")) == .wrongKey)
        #expect(try await trouble(passphrase("pass")) == nil)
        #expect(try await trouble(.keyCommand("printf %064d 1")) == nil)
        #expect(try await KeyringSummary.read(fixture.place.keyring).slots.map(\.number) == [1, 3])
    }

    @Test("A credential opens what it was added for")
    func credential() async throws {
        let vault = try await filled()
        _ = FileManager.default.createFile(
            atPath: folder.path + "/cred", contents: Data(repeating: 9, count: 32),
            attributes: [.posixPermissions: 0o440])
        let credential = Unlock.credential(path: folder.path + "/cred")
        try await vault.addSlot(NewSlot(credential))
        await vault.close()
        #expect(try await trouble(credential) == nil)
        #expect(try await trouble(.credential(path: folder.path + "/none")) == .wrongKey)
    }

    @Test("A passphrase that is forgotten opens nothing any more; what it has opened stays open")
    func forgotten() async throws {
        let vault = try await filled()
        let typed = try passphrase("pass")
        try await vault.addSlot(NewSlot(typed))
        await vault.close()
        let opened = try await Vault.open(fixture.place, unlock: typed, options: VaultOptions(access: .reader))
        typed.forget()
        #expect(try await fixture.held(opened) == [0..<90_000])
        await opened.close()
        #expect(try await trouble(typed) == .wrongKey)
        #expect(try await trouble(passphrase("pass")) == nil)
    }

    @Test("A vault made with a sensitive passphrase says so")
    func sensitive() async throws {
        let place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keyring.json")
        _ = try await Vault.initialize(place, unlock: passphrase("pass"), strength: .sensitive)
        let slot = try #require(try await KeyringSummary.read(place.keyring).slots.first)
        #expect(slot.opsLimit == 4 && slot.memLimit == 1 << 30)
    }

    @Test("The last way stays, and a reader changes none")
    func refused() async throws {
        let vault = try await fixture.open()
        let last = await #expect(throws: VaultError.self) { try await vault.removeSlot(1) }
        #expect(last?.code == .invalidArgument)
        let reader = try await fixture.open(.reader)
        let owned = await #expect(throws: VaultError.self) { try await reader.addSlot(NewSlot(keyFile("other"))) }
        #expect(owned?.code == .owned)
        await reader.close()
        await vault.close()
        #expect(try await KeyringSummary.read(fixture.place.keyring).revision == 1)
    }

    @Test("The only way that is known to open goes by force alone; one that was proved may stay in its place")
    func proof() async throws {
        var vault = try await filled()
        try await vault.addSlot(NewSlot(keyFile("second")))
        await vault.close()
        vault = try await fixture.open()
        let before = try Data(contentsOf: URL(filePath: fixture.place.keyring))
        let refused = await #expect(throws: VaultError.self) { try await vault.removeSlot(1) }
        #expect(refused?.code == .inUse && refused?.message.contains("slot 1") == true)
        #expect(try Data(contentsOf: URL(filePath: fixture.place.keyring)) == before)
        // A new root key is sealed for what opens its slot: that proves it.
        _ = try await vault.rotateRoot(unlockedBy: [fixture.unlock, keyFile("second")])
        try await vault.removeSlot(1)
        #expect(try await trouble(fixture.unlock) == .wrongKey)
        #expect(try await trouble(keyFile("second")) == nil)
        try await vault.addSlot(NewSlot(keyFile("third")))
        await vault.close()
        vault = try await Vault.open(fixture.place, unlock: keyFile("second"))
        try await vault.removeSlot(2, force: true)
        await vault.close()
        #expect(try await trouble(keyFile("second")) == .wrongKey)
        #expect(try await trouble(keyFile("third")) == nil)
    }

    @Test("Of changes at the same time each is made whole, or told that another came before")
    func together() async throws {
        let vault = try await fixture.open()
        let outcomes = await withTaskGroup(of: VaultError.Code?.self) { group in
            for number in 1...6 {
                group.addTask {
                    do {
                        try await vault.addSlot(NewSlot(.keyCommand("printf %064d \(number)")))
                        return nil
                    } catch { return (error as? VaultError)?.code ?? .closed }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let made = outcomes.count { $0 == nil }
        #expect(made >= 1 && outcomes.allSatisfy { $0 == nil || $0 == .busy || $0 == .olderKeyring })
        let summary = try await vault.keyringSummary()
        #expect(summary.slots.count == 1 + made && summary.revision == Int64(1 + made))
        await vault.close()
    }

    @Test("A keyring's file that was changed behind the owner's back is not written over")
    func changedBehind() async throws {
        let vault = try await fixture.open()
        let old = try Data(contentsOf: URL(filePath: fixture.place.keyring))
        try await vault.addSlot(NewSlot(keyFile("second")))
        try old.write(to: URL(filePath: fixture.place.keyring))
        let error = await #expect(throws: VaultError.self) { try await vault.addSlot(NewSlot(keyFile("third"))) }
        #expect(error?.code == .olderKeyring)
        #expect(try Data(contentsOf: URL(filePath: fixture.place.keyring)) == old)
        await vault.close()
    }
}
