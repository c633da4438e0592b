/// A record of one key operation on a vault: the content of one line in the vault's audit log.
public struct Receipt: Hashable, Codable, Sendable {
    /// The kind of key operation. A log may contain kinds from newer versions.
    public struct Act: RawRepresentable, Hashable, Codable, Sendable {
        /// The name that the log uses.
        public let rawValue: String

        /// Creates a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A new generation became current.
        public static let rotate = Act(rawValue: "rotate")
        /// The root key, the token key and the generation were replaced.
        public static let rotateRoot = Act(rawValue: "rotate-root")
        /// Every resource got a new id; with ``Outcome/partly``, only the resources that can be opened did.
        public static let changeLocator = Act(rawValue: "change-locator")
        /// Every resource key was wrapped under the current generation; with ``Outcome/partly``, only the keys of
        /// resources that can be opened were.
        public static let rewrap = Act(rawValue: "rewrap")
        /// Resources got new keys, and their segments were sealed again.
        public static let reseal = Act(rawValue: "reseal")
        /// A generation was retired.
        public static let retire = Act(rawValue: "retire")
        /// A resource's keys were deleted.
        public static let shred = Act(rawValue: "shred")
        /// All keys were deleted.
        public static let destroy = Act(rawValue: "destroy")
        /// The playback links and tokens were revoked.
        public static let revokeLinks = Act(rawValue: "revoke-links")
        /// A slot was added.
        public static let addSlot = Act(rawValue: "slot-add")
        /// A slot was removed.
        public static let removeSlot = Act(rawValue: "slot-remove")
        /// A slot was changed.
        public static let changeSlot = Act(rawValue: "slot-change")
        /// The keyring was backed up.
        public static let backup = Act(rawValue: "backup")
        /// The keyring was restored from a backup.
        public static let restore = Act(rawValue: "restore")
    }

    /// How much of a key operation was done.
    public struct Outcome: RawRepresentable, Hashable, Codable, Sendable {
        /// The name that the log uses.
        public let rawValue: String

        /// Creates an outcome from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The operation is complete.
        public static let done = Outcome(rawValue: "done")
        /// The operation is complete, except for resources that could not be opened, which it left unchanged.
        public static let partly = Outcome(rawValue: "partly")
        /// The keys are deleted, but earlier copies of the disk's blocks and of the keyring could still yield them.
        public static let removed = Outcome(rawValue: "removed")
        /// The keys are deleted, and so is the key that wrapped them.
        public static let destroyed = Outcome(rawValue: "destroyed")
    }

    /// The receipt's number within its vault, counted from 1.
    public let sequence: Int64
    /// When the operation was performed, in seconds since 1970. JSON states it as a time in UTC, but the log does not.
    @AsTimestamp public private(set) var time: Int64
    /// The kind of key operation.
    public let act: Act
    /// How much of the operation was done.
    public let outcome: Outcome
    /// The generation that the operation changed, or the current one if it changed none.
    public let generation: Int
    /// The resource that the operation changed, if only one: a hash that only the vault's keyring can compute.
    public let subject: String?
    /// The number of resources that the operation changed, if several.
    public let resources: Int64?

    package init(
        sequence: Int64, time: Int64, act: Act, outcome: Outcome, generation: Int, subject: String?, resources: Int64?
    ) {
        self.sequence = sequence
        _time = AsTimestamp(wrappedValue: time)
        self.act = act
        self.outcome = outcome
        self.generation = generation
        self.subject = subject
        self.resources = resources
    }
}

/// A fault in an audit log.
public struct AuditFault: Hashable, Codable, Sendable {
    /// The kind of fault.
    public enum Kind: String, Codable, CaseIterable, Sendable {
        /// The line is not a receipt.
        case unreadable
        /// The line was changed, so its signature does not match its content.
        case signature
        /// The line belongs to another vault, or was signed with another key.
        case stranger
        /// Lines before this one are missing, or this line is in the wrong place.
        case sequence
        /// The preceding line is not the one that preceded this line when it was written.
        case chain
        /// The log was cut off: according to the keyring, there were receipts after the last line.
        case cut
    }

    /// The line's number, counted from 1; for ``Kind/cut``, the number of the first missing line.
    public let line: Int
    /// The kind of fault.
    public let kind: Kind

    package init(line: Int, kind: Kind) {
        self.line = line
        self.kind = kind
    }
}

/// The result of reading and checking an audit log.
public struct AuditReport: Hashable, Codable, Sendable {
    /// The readable receipts, including those with faults, in the log's order.
    public package(set) var receipts: [Receipt] = []
    /// The faults, in the order of their lines.
    public package(set) var faults: [AuditFault] = []
    /// The vault's id in hex, as the first line states it; nil if the first line does not have one.
    public package(set) var vaultID: String?
    /// The public key in hex, as the first line states it; nil if the first line does not have one.
    public package(set) var publicKey: String?
    /// Whether the key and the number of receipts were compared with the keyring.
    ///
    /// Without that comparison, a log that was cut off at its end or forged from scratch looks sound.
    public package(set) var isAnchored = false

    /// Creates an empty report.
    package init() {}

    /// Whether the log has no faults.
    public var isSound: Bool { faults.isEmpty }

    private enum CodingKeys: String, CodingKey {
        case receipts, faults
        case vaultID = "vault"
        case publicKey = "key"
        case isAnchored = "anchored"
    }

    private enum DerivedKeys: String, CodingKey { case isSound = "sound" }

    /// Encodes the report as the API and the command write it, with its verdict and with `null` for absent values.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(receipts, forKey: .receipts)
        try members.encode(faults, forKey: .faults)
        try members.encode(vaultID, forKey: .vaultID)
        try members.encode(publicKey, forKey: .publicKey)
        try members.encode(isAnchored, forKey: .isAnchored)
        var derived = encoder.container(keyedBy: DerivedKeys.self)
        try derived.encode(isSound, forKey: .isSound)
    }
}
