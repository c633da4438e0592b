import VaultCache
package import VaultCrypto
import VaultModel
import VaultStorage

/// A keyring change that the vault's owner is asked to carry out.
package typealias KeyringOrder = VaultCrypto.KeyringOrder

extension KeyringOrder {
    /// The number of the slot that the order adds or replaces; nil if it does neither.
    package var slotNumber: Int64? { slot?.number }
}

/// Creates orders for the vault's owner from a keyring that this process unlocked, so that no secret leaves the process
/// that received it.
package struct KeyringOrderIssuer: Sendable {
    private let keyring: Keyring
    private let path: String
    private let fileSystem: any FileSystem
    private let pool: BlockingPool

    init(keyring: Keyring, path: String, fileSystem: any FileSystem, pool: BlockingPool) {
        self.keyring = keyring
        self.path = path
        self.fileSystem = fileSystem
        self.pool = pool
    }

    /// Unlocks a keyring file.
    ///
    /// - Throws: ``VaultError`` as thrown by ``Vault/open(_:unlock:options:)``.
    package static func open(keyring path: String, unlock: Unlock) async throws -> KeyringOrderIssuer {
        let keyring = try await BlockingPool.shared.run {
            try KeyringReader.unlock(KeyringFile.read(path), with: try unlock.secret())
        }
        return KeyringOrderIssuer(keyring: keyring, path: path, fileSystem: PosixFileSystem(), pool: .shared)
    }

    /// The number of the slot that opened the keyring.
    package var unlockedSlot: Int { Int(keyring.unlockedSlot) }

    /// Creates an order to add a slot.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the slot is not possible; any error from reading the
    ///   secret.
    package func adding(_ newSlot: NewSlot) async throws -> KeyringOrder {
        try await pool.run { try Self.adding(newSlot, to: file(), of: keyring, refusesUsedKey: true) }
    }

    /// Creates an order to add a slot to a keyring, given the bytes of the keyring's file. A missing key file is
    /// created last, once the order is known to be valid. Blocks.
    ///
    /// - Parameter refusesUsedKey: whether to refuse a key that already opens a slot. A restored keyring may keep such
    ///   a key, so a restore does not refuse it.
    static func adding(
        _ newSlot: NewSlot, to file: [UInt8], of keyring: Keyring, refusesUsedKey: Bool = false
    ) throws -> KeyringOrder {
        let needsKeyFile = newSlot.needsKeyFile
        let planned = try newSlot.plannedSecret()
        if refusesUsedKey { try keyring.requireUnused(planned, in: file) }
        let order = try adding(newSlot, to: file, of: keyring, openedBy: planned)
        return needsKeyFile ? try adding(newSlot, to: file, of: keyring, openedBy: newSlot.newSecret()) : order
    }

    private static func adding(
        _ newSlot: NewSlot, to file: [UInt8], of keyring: Keyring, openedBy secret: borrowing UnlockSecret
    ) throws -> KeyringOrder {
        try keyring.orderSlot(
            in: file, label: newSlot.label ?? newSlot.unlock.method.rawValue, method: newSlot.unlock.method,
            secret: secret, cost: newSlot.strength.cost())
    }

    /// Creates an order to replace a slot. A missing key file is created last, once the order is known to be valid.
    ///
    /// - Parameters:
    ///   - number: the slot to replace; nil for the slot that opened the keyring.
    ///   - newSlot: the slot that replaces it.
    ///   - root: the rotation of the root key that is to follow; nil if none is.
    /// - Throws: the errors of ``adding(_:)``; ``VaultError`` if the rotation of the root key could not follow:
    ///   `wrongKey` if a secret opens no slot, or `invalidArgument` if a slot would be locked out.
    package func replacing(
        _ number: Int?, with newSlot: NewSlot, then root: RootRotation? = nil
    ) async throws -> KeyringOrder {
        try await pool.run {
            let (file, number, needsKeyFile) = (try file(), Int64(number ?? unlockedSlot), newSlot.needsKeyFile)
            let planned = try newSlot.plannedSecret()
            let order = try replacing(number, in: file, with: newSlot, openedBy: planned)
            try root?.check(after: order, in: file, of: keyring, new: SharedSecret(planned))
            return needsKeyFile ? try replacing(number, in: file, with: newSlot, openedBy: newSlot.newSecret()) : order
        }
    }

    private func replacing(
        _ number: Int64, in file: [UInt8], with newSlot: NewSlot, openedBy secret: borrowing UnlockSecret
    ) throws -> KeyringOrder {
        try keyring.orderReplacement(
            of: number, in: file, label: newSlot.label, method: newSlot.unlock.method, secret: secret,
            cost: newSlot.strength.cost())
    }

    /// Creates an order to remove a slot.
    ///
    /// - Parameters:
    ///   - number: the slot to remove.
    ///   - root: the rotation of the root key that is to follow; nil if none is.
    ///   - isForced: whether to remove the slot even if no remaining slot is known to open.
    /// - Throws: ``VaultError`` with code `notHeld` if the slot does not exist, `invalidArgument` if it is the last one, or if the
    ///   rotation of the root key would lock out a slot; `wrongKey` if a secret for that rotation opens no slot;
    ///   `inUse` if the slot is the only one known to open.
    package func removing(
        _ number: Int, then root: RootRotation? = nil, isForced: Bool = false
    ) async throws -> KeyringOrder {
        try await pool.run {
            let file = try file()
            let order = try keyring.orderRemoval(of: Int64(number), in: file, isForced: isForced)
            try root?.check(after: order, in: file, of: keyring)
            return order
        }
    }

    /// Writes a backup of the keyring that only one passphrase opens, after the vault's owner has counted the backup.
    /// The file has mode 0600, and is written completely or not at all.
    ///
    /// The backup is counted first because a count that is too high is harmless, whereas an uncounted backup is not.
    ///
    /// - Parameters:
    ///   - file: the path of the backup.
    ///   - newSlot: the slot for the passphrase that opens the backup.
    ///   - count: makes the vault's owner carry out an order. It is called again if the keyring changed in the
    ///     meantime.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the slot is not for a passphrase, or if the file already
    ///   exists; any error of `count`.
    package func backUp(
        to file: String, for newSlot: NewSlot, counting count: (KeyringOrder) async throws -> Void
    ) async throws {
        var isWritten = false
        while !isWritten {
            let order = try await countingBackup(to: file)
            try await count(order)
            isWritten = try await writeBackup(to: file, for: newSlot, countedBy: order)
        }
    }

    private func countingBackup(to file: String) async throws -> KeyringOrder {
        try await pool.run {
            guard !fileSystem.exists(file) else { throw KeyringFile.taken(file) }
            let folder = PosixFileSystem.folder(of: file)
            guard fileSystem.exists(folder) else {
                throw VaultError(
                    .storage, "the folder \(folder) for the backup does not exist; create it, or choose another")
            }
            return try keyring.orderBackup(of: self.file())
        }
    }

    /// Writes the backup that an order has counted.
    ///
    /// - Returns: false if the keyring has changed since the count, because a generation added since then has not
    ///   counted this backup.
    private func writeBackup(
        to file: String, for newSlot: NewSlot, countedBy order: KeyringOrder
    ) async throws -> Bool {
        try await pool.run {
            let current = try self.file()
            guard try keyring.document(of: current).revision == order.revision + 1 else { return false }
            let secret = try newSlot.unlock.secret()
            let bytes = try keyring.backup(
                of: current, label: newSlot.label ?? "backup", secret: secret, cost: newSlot.strength.cost())
            try KeyringFile.writeNew(bytes, to: file, fileSystem: fileSystem)
            return true
        }
    }

    /// Reads and authenticates the keyring file, and returns its summary.
    package func summary() async throws -> KeyringSummary {
        try await pool.run { KeyringSummary(try keyring.document(of: file())) }
    }

    private func file() throws -> [UInt8] { try KeyringFile.read(path, fileSystem: fileSystem) }
}

/// A rotation of the root key that is to follow an order. It is checked before the order is carried out.
package struct RootRotation: Sendable {
    private let unlocks: [Unlock]
    private let hasOtherKeys: Bool
    private let dropsOtherSlots: Bool

    /// Describes the rotation.
    ///
    /// - Parameters:
    ///   - unlocks: the unlock methods of the slots to keep, whose secrets this process reads.
    ///   - hasOtherKeys: whether the owner also has 32-byte keys that this process cannot read.
    ///   - dropsOtherSlots: whether to remove the slots that no secret opens.
    package init(
        openedBy unlocks: [Unlock], ownerHasOtherKeys hasOtherKeys: Bool, droppingOtherSlots dropsOtherSlots: Bool
    ) {
        self.unlocks = unlocks
        self.hasOtherKeys = hasOtherKeys
        self.dropsOtherSlots = dropsOtherSlots
    }

    /// Checks that the root key can be rotated after an order has been carried out. Blocks.
    ///
    /// - Parameters:
    ///   - order: the order that precedes the rotation.
    ///   - file: the bytes of the keyring file.
    ///   - keyring: the unlocked keyring.
    ///   - new: the secret that opens the slot that the order adds, if it adds one.
    /// - Throws: ``VaultError`` with code `wrongKey` if a secret opens no slot, or `invalidArgument` if a slot that
    ///   must not be dropped would be locked out; any error from reading the secrets.
    func check(after order: KeyringOrder, in file: [UInt8], of keyring: Keyring, new: SharedSecret? = nil) throws {
        let secrets = try unlocks.map { SharedSecret(try $0.secret()) }
        try keyring.checkRootRenewal(
            after: order, in: file, openedBy: secrets + [new].compactMap(\.self), droppingOthers: dropsOtherSlots,
            ownerHasOtherKeys: hasOtherKeys)
    }
}
