package import VaultCrypto
import VaultModel
import VaultStorage

/// An order as the owner of a vault takes it.
package typealias KeyringOrder = VaultCrypto.KeyringOrder

/// Makes orders for the owner of a vault, out of a keyring that this process has unlocked by itself. So a secret stays in
/// the process that was given it.
package struct KeyringOrders: Sendable {
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

    /// Unlocks the file of a keyring.
    ///
    /// - Throws: ``VaultError`` as ``Vault/open(_:unlock:options:)``.
    package static func open(keyring path: String, unlock: Unlock) async throws -> KeyringOrders {
        let keyring = try await BlockingPool.shared.run {
            try KeyringReader.unlock(KeyringFile.read(path), with: try unlock.secret())
        }
        return KeyringOrders(keyring: keyring, path: path, fileSystem: PosixFileSystem(), pool: .shared)
    }

    /// The number of the slot that opened the keyring.
    package var unlockedSlot: Int { Int(keyring.unlockedSlot) }

    /// Orders another slot.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where there can be none; what the way's secret throws.
    package func adding(_ way: NewSlot) async throws -> KeyringOrder {
        try await pool.run { try Self.adding(way, to: file(), of: keyring) }
    }

    /// Orders another slot of a keyring, whose file has these bytes. Its key file is made last, once nothing speaks
    /// against the order. Blocks.
    static func adding(_ way: NewSlot, to file: [UInt8], of keyring: Keyring) throws -> KeyringOrder {
        let isToBeMade = way.isToBeMade
        let order = try adding(way, to: file, of: keyring, openedBy: way.plannedSecret())
        return isToBeMade ? try adding(way, to: file, of: keyring, openedBy: way.newSecret()) : order
    }

    private static func adding(
        _ way: NewSlot, to file: [UInt8], of keyring: Keyring, openedBy secret: borrowing UnlockSecret
    ) throws -> KeyringOrder {
        try keyring.orderSlot(
            in: file, label: way.label ?? way.unlock.method.rawValue, method: way.unlock.method, secret: secret,
            cost: way.strength.cost())
    }

    /// Orders another way for a slot. Its key file is made last, once nothing speaks against the order.
    ///
    /// - Parameters:
    ///   - number: nil for the slot that opened the keyring.
    ///   - root: the new root key that is to follow.
    /// - Throws: as ``adding(_:)``; ``VaultError`` where that root key could not be made: `wrongKey` where a secret opens
    ///   no slot, `invalidArgument` where a slot would be locked out.
    package func replacing(_ number: Int?, with way: NewSlot, then root: RootRotation? = nil) async throws -> KeyringOrder {
        try await pool.run {
            let (file, number, isToBeMade) = (try file(), Int64(number ?? unlockedSlot), way.isToBeMade)
            let planned = try way.plannedSecret()
            let order = try replacing(number, in: file, with: way, openedBy: planned)
            try root?.check(after: order, in: file, of: keyring, new: SharedSecret(planned))
            return isToBeMade ? try replacing(number, in: file, with: way, openedBy: way.newSecret()) : order
        }
    }

    private func replacing(
        _ number: Int64, in file: [UInt8], with way: NewSlot, openedBy secret: borrowing UnlockSecret
    ) throws -> KeyringOrder {
        try keyring.orderReplacement(
            of: number, in: file, label: way.label, method: way.unlock.method, secret: secret, cost: way.strength.cost()
        )
    }

    /// Orders that a slot goes.
    ///
    /// - Parameters:
    ///   - root: the new root key that is to follow.
    ///   - isForced: removes it though no slot that stays is known to open.
    /// - Throws: ``VaultError`` with code `invalidArgument` where there is none, or no other, or a slot would be locked
    ///   out of that root key, `wrongKey` where a secret for it opens no slot, `inUse` where it is the only one that is known
    ///   to open.
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

    /// Has a backup counted, then writes it: the keyring as it was counted, opened by one passphrase alone. The file is
    /// 0600, whole or not there.
    ///
    /// Counted first: a count too many is harmless, a backup that nobody knows of is not.
    ///
    /// - Parameter count: has the vault's owner carry out an order; called again where the keyring was changed behind it.
    /// - Throws: ``VaultError`` with code `invalidArgument` where the way is no passphrase, or there is such a file; what
    ///   `count` throws.
    package func backUp(
        to file: String, for way: NewSlot, counting count: (KeyringOrder) async throws -> Void
    ) async throws {
        var isWritten = false
        while !isWritten {
            let order = try await countingBackup(to: file)
            try await count(order)
            isWritten = try await writeBackup(to: file, for: way, countedBy: order)
        }
    }

    private func countingBackup(to file: String) async throws -> KeyringOrder {
        try await pool.run {
            guard !fileSystem.exists(file) else { throw KeyringFile.taken(file) }
            let folder = PosixFileSystem.folder(of: file)
            guard fileSystem.exists(folder) else {
                throw VaultError(.storage, "there is no folder \(folder) for the backup; make it, or name another")
            }
            return try keyring.orderBackup(of: self.file())
        }
    }

    /// - Returns: false where the keyring is not the one that was counted: a generation that is new in it counts no backup.
    private func writeBackup(
        to file: String, for way: NewSlot, countedBy order: KeyringOrder
    ) async throws -> Bool {
        try await pool.run {
            let current = try self.file()
            guard try keyring.document(of: current).revision == order.revision + 1 else { return false }
            let secret = try way.unlock.secret()
            let bytes = try keyring.backup(
                of: current, label: way.label ?? "backup", secret: secret, cost: way.strength.cost())
            try KeyringFile.writeNew(bytes, to: file, fileSystem: fileSystem)
            return true
        }
    }

    /// What the keyring's file says, authenticated.
    package func summary() async throws -> KeyringSummary {
        try await pool.run { KeyringSummary(try keyring.document(of: file())) }
    }

    private func file() throws -> [UInt8] { try KeyringFile.read(path, fileSystem: fileSystem) }
}

/// A new root key that is to follow an order: what tells beforehand whether it can be made.
package struct RootRotation: Sendable {
    private let unlocks: [Unlock]
    private let hasOtherKeys: Bool
    private let dropsOtherSlots: Bool

    /// - Parameters:
    ///   - unlocks: what opens slots that stay, read in this process.
    ///   - hasOtherKeys: whether the owner has keys of 32 bytes, too, that this process cannot read.
    ///   - dropsOtherSlots: whether slots that nothing opens are to go.
    package init(
        openedBy unlocks: [Unlock], besideOtherKeys hasOtherKeys: Bool, droppingOtherSlots dropsOtherSlots: Bool
    ) {
        self.unlocks = unlocks
        self.hasOtherKeys = hasOtherKeys
        self.dropsOtherSlots = dropsOtherSlots
    }

    /// Tries whether it can be made once an order is carried out. Blocks.
    ///
    /// - Parameter new: what opens the slot that the order brings.
    /// - Throws: ``VaultError`` with code `wrongKey` where a secret opens no slot, `invalidArgument` where a slot would be
    ///   locked out that may not; those of reading the secrets.
    func check(after order: KeyringOrder, in file: [UInt8], of keyring: Keyring, new: SharedSecret? = nil) throws {
        let secrets = try unlocks.map { SharedSecret(try $0.secret()) }
        try keyring.tryNewRoot(
            after: order, in: file, openedBy: secrets + [new].compactMap(\.self), droppingOthers: dropsOtherSlots,
            besideOtherKeys: hasOtherKeys)
    }
}
