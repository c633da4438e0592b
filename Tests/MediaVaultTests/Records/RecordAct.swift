import Testing
import VaultCrypto
import VaultModel

@testable import MediaVault
@testable import VaultStorage

/// An act that is performed on a damaged vault.
struct RecordAct: Sendable {
    let name: String
    /// Whether the act removes this on purpose.
    let removes: @Sendable (RecordContents.Item, RecordVault) -> Bool
    /// Whether the act takes what it can from the backup, even if the index has something newer.
    var isRebuild: Bool { name == Self.rebuild }
    private let body: @Sendable (RecordVault) async throws -> Void

    private static let rebuild = "rebuild --force"

    private init(
        _ name: String,
        removing removes: @escaping @Sendable (RecordContents.Item, RecordVault) -> Bool = { _, _ in
            false
        }, _ body: @escaping @Sendable (RecordVault) async throws -> Void
    ) {
        (self.name, self.removes, self.body) = (name, removes, body)
    }

    /// Creates an act of an owner, who opens and closes the vault.
    private init(
        owner name: String,
        removing removes: @escaping @Sendable (RecordContents.Item, RecordVault) -> Bool = {
            _, _ in false
        }, _ body: @escaping @Sendable (Vault, RecordVault) async throws -> Void
    ) {
        self.init(name, removing: removes) { copy in
            let vault = try await copy.open()
            do {
                try await body(vault, copy)
            } catch {
                await vault.close()
                throw error
            }
            await vault.close()
        }
    }

    static let all: [RecordAct] = [
        RecordAct(owner: "rename of another") { vault, _ in
            try await vault.titles.setName("renamed", of: RecordVault.reference(RecordVault.other))
            try vault.store.catalogBackup.write()
        },
        RecordAct(owner: "ten minutes") { vault, _ in
            try await vault.titles.setMode(.offline, for: RecordVault.reference(RecordVault.other))
            try vault.store.catalogBackup.writeIfDue(now: .now + .seconds(601))
        },
        RecordAct(owner: "verify") { vault, _ in for try await _ in vault.checks.verify() {} },
        RecordAct(owner: "verify --repair") { vault, _ in
            for try await _ in vault.checks.verify(VerifyOptions(repairs: true)) {}
        },
        RecordAct(rebuild) { copy in
            _ = try await Vault.rebuildIndex(copy.place, unlock: copy.unlock, evenIfSound: true)
        },
        RecordAct(owner: "retire") { vault, _ in
            let former = vault.store.keyring.activeGenerations
            _ = try await vault.keys.rotate()
            for try await _ in vault.keys.rewrap() {}
            for number in former { _ = try await vault.keys.retire(number) }
        },
        RecordAct(owner: "shred of another", removing: { $0.id.starts(with: $1.spared[1].bytes) }) { vault, _ in
            _ = try await vault.keys.shred([RecordVault.reference(RecordVault.shredded)])
        },
        // The token key is then a different one.
        RecordAct(owner: "revoke-root", removing: { item, _ in item.kind == "accessGrant" }) { vault, copy in
            for try await _ in vault.keys.revokeRoot(unlockedBy: [copy.unlock]) {}
        },
        RecordAct(owner: "restart") { _, _ in },
    ]

    /// Performs the act. It may be refused, but must not fail in any other way.
    func perform(on copy: RecordVault) async throws -> VaultError? {
        do {
            try await body(copy)
            return nil
        } catch let error as VaultError {
            return error
        }
    }
}
