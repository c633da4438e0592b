import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// The slots of the keyring. Each change is one durable write of the keyring file, so after an interruption either the
/// old slots open it or the new ones do.
///
/// The key or passphrase of a removed slot still opens a copy of the keyring from before the removal.
extension KeyAdministration {
    /// Returns the vault id, revision and slots that the keyring file states.
    ///
    /// - Throws: ``VaultError`` with code `storage`, `noVault`, `damagedKeyring` or `tamperedKeyring`.
    public func summary() async throws -> KeyringSummary { try await orders.summary() }

    /// Adds a slot to the keyring.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner, `invalidArgument` if the slot is
    ///   not possible, `inUse` if the keyring already has 16 slots, or `busy` if another key operation is running; any
    ///   error from reading the secret.
    public func addSlot(_ way: NewSlot) async throws {
        try await carryOut(orders.adding(way))
    }

    /// Replaces a slot with one that has a new passphrase or another method.
    ///
    /// - Parameters:
    ///   - number: the slot to replace; nil for the one that opened the keyring.
    ///   - way: the slot that replaces it.
    /// - Throws: the errors of ``addSlot(_:)``.
    public func replaceSlot(_ number: Int? = nil, with way: NewSlot) async throws {
        try await carryOut(orders.replacing(number, with: way))
    }

    /// Removes a slot from the keyring.
    ///
    /// The last slot cannot be removed. Without `force`, neither can the only slot known to open: a slot that opened
    /// this vault, or that this process added or changed, must remain.
    ///
    /// - Parameters:
    ///   - number: the slot's number, as in ``KeyringSlot/number``.
    ///   - force: whether to remove the slot even if no other slot is known to open.
    /// - Throws: the errors of ``addSlot(_:)``; ``VaultError`` with code `inUse` if removing the slot needs `force`.
    public func removeSlot(_ number: Int, force: Bool = false) async throws {
        try await carryOut(orders.removing(number, isForced: force))
    }

    /// Writes a copy of the keyring that only one passphrase opens. The backup count of each generation in the copy
    /// grows by one.
    ///
    /// - Parameters:
    ///   - file: the copy's absolute path. The file has mode 0600, and is written completely or not at all.
    ///   - way: the slot for the passphrase.
    /// - Throws: the errors of ``addSlot(_:)``; ``VaultError`` with code `invalidArgument` if the file already exists,
    ///   or if the slot is not for a passphrase.
    public func backUp(to file: String, for way: NewSlot) async throws {
        try Self.requirePassphrase(way)
        try await orders.backUp(to: file, for: way) { try await carryOut($0) }
    }

    /// Carries out an order created by a process that has unlocked the keyring.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner, `busy` if another key operation is
    ///   running, `wrongKey` if the order was created without the keyring, `olderKeyring` if the keyring has changed
    ///   since the order was created, or `invalidArgument` if the order is not possible.
    package func carryOut(_ order: KeyringOrder) async throws {
        try await perform(order.act.receipt) { _, log in
            try log.change(order.act.receipt) { try $0.carryOut(order) }
        }
    }

    /// Requires a passphrase, because a backup may be needed years later, when a key file or command no longer exists.
    package static func requirePassphrase(_ way: NewSlot) throws {
        guard way.unlock.method == .passphrase else {
            throw VaultError(.invalidArgument, "a backup of the keyring needs a passphrase; give one")
        }
    }

    var orders: KeyringOrderIssuer {
        KeyringOrderIssuer(keyring: store.keyring, path: log.place.path, fileSystem: store.fileSystem, pool: pool)
    }
}

/// A new slot for a keyring.
public struct NewSlot: Sendable {
    /// The method that will open the slot. A missing key file is created.
    public var unlock: Unlock
    /// The slot's name as people see it; nil to use the method's name, or to keep the label of the slot that this one
    /// replaces.
    public var label: String?
    /// The cost of deriving a key from the passphrase, if the slot is for one.
    public var strength: PassphraseStrength

    /// Creates a slot with a label of at most 128 bytes.
    public init(_ unlock: Unlock, label: String? = nil, strength: PassphraseStrength = .moderate) {
        self.unlock = unlock
        self.label = label
        self.strength = strength
    }

    /// Whether the slot is for a key file that has yet to be created.
    package var needsKeyFile: Bool {
        guard case .keyFile(let path, _) = unlock else { return false }
        return !PosixFileSystem().exists(path)
    }

    /// Reads the secret. If the key file has yet to be created, a random key stands in for it. Blocks.
    func plannedSecret() throws -> UnlockSecret {
        needsKeyFile ? .key(try SecureRandom.key("key file")) : try unlock.secret()
    }

    /// Reads the secret, after creating the key file if it is missing. Blocks.
    func newSecret() throws -> UnlockSecret {
        try unlock.createKeyFile()
        return try unlock.secret()
    }
}

/// A slot, as described by the keyring file. It contains no secret.
public struct KeyringSlot: Hashable, Codable, Sendable {
    /// The slot's number, counted from 1.
    public let number: Int
    /// The slot's name as people see it.
    public let label: String
    /// The slot's unlock method: `key-file`, `passphrase`, `command` or `credential`.
    public let method: String
    /// The number of Argon2id passes; nil unless the slot is for a passphrase.
    @OrNull public internal(set) var opsLimit: Int64?
    /// The memory that Argon2id needs, in bytes; nil unless the slot is for a passphrase.
    @OrNull public internal(set) var memLimit: Int64?

    init(_ slot: KeyringDocument.Slot) {
        number = Int(slot.number)
        label = slot.label
        method = slot.method.rawValue
        opsLimit = slot.passphrase?.opsLimit
        memLimit = slot.passphrase?.memLimit
    }
}

/// What a keyring file states about itself.
public struct KeyringSummary: Hashable, Codable, Sendable {
    /// The id of the vault that the keyring belongs to, as 32 hex digits.
    public let vaultID: String
    /// The keyring's revision, which grows by one with each change.
    public let revision: Int64
    /// The slots, in the order in which the keyring file lists them.
    public let slots: [KeyringSlot]

    private enum CodingKeys: String, CodingKey {
        case revision, slots
        case vaultID = "vault"
    }

    init(_ document: KeyringDocument) {
        vaultID = document.vaultID.hex
        revision = document.revision
        slots = document.slots.map(KeyringSlot.init)
    }

    /// Reads a keyring file without unlocking it, so that tampering is not detected.
    ///
    /// - Throws: ``VaultError`` with code `noVault`, `damagedKeyring` or `storage`.
    public static func read(_ keyring: String) async throws -> KeyringSummary {
        try await BlockingPool.shared.run {
            KeyringSummary(try KeyringReader.unauthenticated(KeyringFile.read(keyring)))
        }
    }
}

/// The cost of deriving a key from a passphrase, for owners and for attackers who guess it.
public struct PassphraseStrength: Hashable, Sendable {
    private enum Level {
        case least, moderate, sensitive
    }

    private let level: Level

    /// 3 passes over 256 MiB of memory, which take most of a second.
    public static let moderate = Self(level: .moderate)
    /// 4 passes over 1 GiB of memory, which take several seconds.
    public static let sensitive = Self(level: .sensitive)
    /// 1 pass over 8 MiB of memory, the lowest cost that a keyring may state. It is meant for tests, which derive many
    /// keys.
    package static let least = Self(level: .least)

    /// Returns this cost with a new salt.
    func cost() throws -> Argon2id.Cost {
        switch level {
        case .least: try .least()
        case .moderate: try .moderate()
        case .sensitive: try .sensitive()
        }
    }
}
