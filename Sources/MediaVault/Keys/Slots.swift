import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

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

    /// Requires a passphrase, because a backup may be needed years later, when a key file or command no longer exists.
    package func requirePassphrase() throws {
        guard unlock.method == .passphrase else {
            throw VaultError(.invalidArgument, "a backup of the keyring needs a passphrase; give one")
        }
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
