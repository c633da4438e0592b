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
