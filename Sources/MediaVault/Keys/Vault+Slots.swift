import VaultCrypto
import VaultModel
import VaultStorage

/// The ways to unlock the keyring. Each change is one durable write of its file: whatever interrupts it, either the old
/// ways open it or the new ones do.
///
/// Who knew a way that is gone, and copied the keyring while it was there, opens that copy still.
extension Vault {
    /// What the keyring's file tells: its slots.
    ///
    /// - Throws: ``VaultError`` with code `storage`, `noVault`, `damagedKeyring` or `tamperedKeyring`.
    public func keyringSummary() async throws -> KeyringSummary { try await keyringOrders.summary() }

    /// Adds a way to unlock the keyring, beside those it has.
    ///
    /// - Throws: ``VaultError`` with code `owned` where this is not the owner, `invalidArgument` where there can be no
    ///   such slot, `inUse` where there are 16, `busy` where another act works on the keys; what the way's secret throws.
    public func addSlot(_ way: SlotWay) async throws {
        try await carryOut(keyringOrders.adding(way))
    }

    /// Puts another way in the place of one: a new passphrase, or another method.
    ///
    /// - Parameter number: nil for the slot that opened the keyring.
    /// - Throws: as ``addSlot(_:)``.
    public func replaceSlot(_ number: Int? = nil, with way: SlotWay) async throws {
        try await carryOut(keyringOrders.replacing(number, with: way))
    }

    /// Removes a way to unlock the keyring. The last one cannot be removed, nor the only one that is known to open: one
    /// that opened this vault, or was added or changed here, has to stay.
    ///
    /// - Parameter force: removes it though nothing shows that another one opens.
    /// - Throws: as ``addSlot(_:)``; ``VaultError`` with code `inUse` where only force removes it.
    public func removeSlot(_ number: Int, force: Bool = false) async throws {
        try await carryOut(keyringOrders.removing(number, isForced: force))
    }

    /// Writes a copy of the keyring that one passphrase opens, and nothing else does. Each generation in it counts one
    /// more backup from then on.
    ///
    /// - Parameters:
    ///   - file: its absolute path; 0600, whole or not there.
    ///   - way: a passphrase.
    /// - Throws: as ``addSlot(_:)``; ``VaultError`` with code `invalidArgument` where there is such a file, or the way is
    ///   no passphrase.
    public func backUpKeyring(to file: String, for way: SlotWay) async throws {
        try Self.checkBackup(way)
        try await keyringOrders.backUp(to: file, for: way) { try await carryOut($0) }
    }

    /// Does what an order says that somebody made who has unlocked the keyring.
    ///
    /// - Throws: ``VaultError`` with code `owned` where this is not the owner, `busy` where another act works on the
    ///   keys, `wrongKey` where the order was made without the keyring, `olderKeyring` where the keyring has changed
    ///   since, `invalidArgument` where it cannot be.
    package func carryOut(_ order: KeyringOrder) async throws {
        try await changingKeys(order.act.receipt) { _, log in
            try log.change(order.act.receipt) { try $0.carryOut(order) }
        }
    }

    /// A backup is found in a drawer years later: what opens it must be in somebody's head or on paper.
    package static func checkBackup(_ way: SlotWay) throws {
        guard way.unlock.method == .passphrase else {
            throw VaultError(.invalidArgument, "a backup of the keyring is opened by a passphrase; give one")
        }
    }

    var keyringOrders: KeyringOrders {
        KeyringOrders(keyring: store.keyring, path: auditLog.place.path, fileSystem: store.fileSystem, pool: pool)
    }
}
