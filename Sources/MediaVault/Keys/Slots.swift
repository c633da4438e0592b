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
    public func addSlot(_ way: NewSlot) async throws {
        try await carryOut(keyringOrders.adding(way))
    }

    /// Puts another way in the place of one: a new passphrase, or another method.
    ///
    /// - Parameter number: nil for the slot that opened the keyring.
    /// - Throws: as ``addSlot(_:)``.
    public func replaceSlot(_ number: Int? = nil, with way: NewSlot) async throws {
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
    public func backUpKeyring(to file: String, for way: NewSlot) async throws {
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
    package static func checkBackup(_ way: NewSlot) throws {
        guard way.unlock.method == .passphrase else {
            throw VaultError(.invalidArgument, "a backup of the keyring is opened by a passphrase; give one")
        }
    }

    var keyringOrders: KeyringOrders {
        KeyringOrders(keyring: store.keyring, path: auditLog.place.path, fileSystem: store.fileSystem, pool: pool)
    }
}

/// A new way to unlock a keyring.
public struct NewSlot: Sendable {
    /// What will open it. A key file that is not there is made.
    public var unlock: Unlock
    /// What people call it; nil for the name of its method, or the label that the slot has.
    public var label: String?
    /// What its passphrase costs, where it is one.
    public var strength: PassphraseStrength

    /// A way with a label of at most 128 bytes.
    public init(_ unlock: Unlock, label: String? = nil, strength: PassphraseStrength = .moderate) {
        self.unlock = unlock
        self.label = label
        self.strength = strength
    }

    /// Whether its key file is yet to be made.
    var isToBeMade: Bool {
        guard case .keyFile(let path, _) = unlock else { return false }
        return !PosixFileSystem().exists(path)
    }

    /// Reads what will open it; a random key stands in for a key file that is yet to be made. Blocks.
    func plannedSecret() throws -> UnlockSecret { isToBeMade ? .key(try SecureRandom.key("key file")) : try unlock.secret() }

    /// Reads what will open it, after making the key file that is not there. Blocks.
    func newSecret() throws -> UnlockSecret {
        try Vault.makeKeyFile(unlock, PosixFileSystem())
        return try unlock.secret()
    }
}

/// A way to unlock the keyring, as its file tells it. It holds no secret.
public struct KeyringSlot: Hashable, Sendable {
    /// What it is called by, from 1.
    public let number: Int
    /// What people call it.
    public let label: String
    /// `key-file`, `passphrase`, `command` or `credential`.
    public let method: String
    /// Passes of Argon2id, where it is a passphrase.
    public let opsLimit: Int64?
    /// Memory of Argon2id in bytes, where it is a passphrase.
    public let memLimit: Int64?

    init(_ slot: KeyringDocument.Slot) {
        number = Int(slot.number)
        label = slot.label
        method = slot.method.rawValue
        opsLimit = slot.passphrase?.opsLimit
        memLimit = slot.passphrase?.memLimit
    }
}

/// What a keyring's file tells of itself.
public struct KeyringSummary: Hashable, Sendable {
    /// The name of the vault it belongs to, 32 hex digits.
    public let vaultID: String
    /// Grows by one with each change.
    public let revision: Int64
    /// The ways to unlock it, in their order.
    public let slots: [KeyringSlot]

    init(_ document: KeyringDocument) {
        vaultID = document.vaultID.hex
        revision = document.revision
        slots = document.slots.map(KeyringSlot.init)
    }

    /// Reads a keyring's file without unlocking it: whether somebody without its keys has changed it shows only when it
    /// is unlocked.
    ///
    /// - Throws: ``VaultError`` with code `noVault`, `damagedKeyring` or `storage`.
    public static func read(_ keyring: String) async throws -> KeyringSummary {
        try await BlockingPool.shared.run {
            KeyringSummary(try KeyringReader.unauthenticated(KeyringFile.read(keyring)))
        }
    }
}

/// What it costs to make a key out of a passphrase: for whoever opens the vault, and for whoever guesses.
public enum PassphraseStrength: Hashable, Sendable {
    /// 3 passes over 256 MiB of memory: most of a second.
    case moderate
    /// 4 passes over 1 GiB of memory: some seconds.
    case sensitive

    /// A fresh salt at this cost.
    func cost() throws -> Argon2id.Cost {
        switch self {
        case .moderate: try .moderate()
        case .sensitive: try .sensitive()
        }
    }
}
