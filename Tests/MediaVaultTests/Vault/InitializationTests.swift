import Foundation
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

@Suite("Creating a vault", .timeLimit(.minutes(5)))
struct InitializationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func passphrase(_ number: Int) throws -> Unlock {
        .passphrase(try Passphrase(copying: Array("pass \(number)".utf8)))
    }

    @Test("Of several concurrent callers one creates the keyring, which its passphrase opens; others are refused")
    func together() async throws {
        let place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keyring.json")
        let made = try await withThrowingTaskGroup(of: (Int, VaultError.Code?).self) { group in
            for number in 0..<4 {
                let unlock = try passphrase(number)
                group.addTask {
                    do {
                        let report = try await Vault.initialize(place, unlock: unlock)
                        #expect(report.isKeyringCreated)
                        return (number, nil)
                    } catch let error as VaultError {
                        return (number, error.code)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let winners = made.filter { $0.1 == nil }.map(\.0)
        try #require(winners.count == 1, "\(made)")
        // A later caller finds a keyring that its passphrase does not open.
        #expect(made.allSatisfy { $0.1 == nil || $0.1 == .busy || $0.1 == .wrongKey })
        let vault = try await Vault.open(place, unlock: passphrase(winners[0]))
        await vault.close()
        #expect(try PosixFileSystem().names(in: folder.path).sorted() == ["keyring.json", "vault"])
    }

    @Test("A second vault with the keyring of another is refused before anything is created, unless the other is gone")
    func sharedKeyring() async throws {
        let first = VaultPlace(folder: folder.path + "/a", keyring: folder.path + "/keyring.json")
        let unlock = Unlock.keyFile(path: folder.path + "/key")
        _ = try await Vault.initialize(first, unlock: unlock)
        let second = VaultPlace(folder: folder.path + "/b", keyring: first.keyring)
        let error = await #expect(throws: VaultError.self) { try await Vault.initialize(second, unlock: unlock) }
        #expect(error?.code == .invalidArgument && error?.hint == .ownKeyring)
        #expect(error?.message.contains(first.keyring) == true)
        #expect(try PosixFileSystem().names(in: folder.path).sorted() == ["a", "key", "keyring.json"])
        let report = try await Vault.initialize(second, unlock: unlock, reusesKeyring: true)
        #expect(report.isVaultCreated && !report.isKeyringCreated)
    }

    @Test("An init that was cut between keyring and vault is finished by the next one; only its own vault takes it up")
    func resumed() async throws {
        let place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keyring.json")
        let unlock = Unlock.keyFile(path: folder.path + "/key")
        // Something in the way of the new index makes the first one fail after it has written the keyring.
        let files = FileManager.default
        try files.createDirectory(atPath: place.folder + "/index.sqlite.new/x", withIntermediateDirectories: true)
        await #expect(throws: VaultError.self) { try await Vault.initialize(place, unlock: unlock) }
        try #require(files.fileExists(atPath: place.keyring))
        try files.removeItem(atPath: place.folder + "/index.sqlite.new")
        let other = VaultPlace(folder: folder.path + "/other", keyring: place.keyring)
        let error = await #expect(throws: VaultError.self) { try await Vault.initialize(other, unlock: unlock) }
        #expect(error?.hint == .ownKeyring)
        let report = try await Vault.initialize(place, unlock: unlock)
        #expect(report.isVaultCreated && !report.isKeyringCreated)
        let names = try PosixFileSystem().names(in: place.folder)
        #expect(!names.contains { $0.hasPrefix("unfinished.") }, "\(names)")
        await (try Vault.open(place, unlock: unlock)).close()
    }

    @Test("A vault whose keyring is not at its path asks for that path, and does not offer to create a vault")
    func lostKeyring() async throws {
        let place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keyring.json")
        let unlock = Unlock.keyFile(path: folder.path + "/key")
        _ = try await Vault.initialize(place, unlock: unlock)
        try FileManager.default.removeItem(atPath: place.keyring)
        let opening = await #expect(throws: VaultError.self) { try await Vault.open(place, unlock: unlock) }
        let creation = await #expect(throws: VaultError.self) { try await Vault.initialize(place, unlock: unlock) }
        #expect(opening?.hint == .findKeyring && creation?.hint == .findKeyring)
        #expect(opening?.code == .noVault && opening?.message == creation?.message)
    }

    @Test("Folders created above the keyring survive a power loss")
    func folders() throws {
        let (disk, copies) = (SimulatedFileSystem(root: folder.path), try TemporaryFolder())
        try disk.createFolders(above: folder.path + "/a/b/c/keyring.json")
        for seed in UInt64(0)..<16 {
            let copy = copies.path + "/\(seed)"
            try disk.loseEverythingUnsynced(tearing: seed, into: copy)
            #expect(PosixFileSystem().exists(copy + "/a/b/c"), "seed \(seed)")
        }
    }
}
