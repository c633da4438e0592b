/// A record of one key operation of a vault: the content of one line of its audit log.
public struct Receipt: Hashable, Codable, Sendable {
    /// The kind of key operation. A log may contain kinds from newer versions.
    public struct Act: RawRepresentable, Hashable, Codable, Sendable {
        /// The name in the log.
        public let rawValue: String

        /// Creates a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A new generation became current.
        public static let rotate = Act(rawValue: "rotate")
        /// The root key, the token key and the generation were replaced.
        public static let rotateRoot = Act(rawValue: "rotate-root")
        /// Every resource got a new id; with ``Outcome/partly``, only the resources that open.
        public static let changeLocator = Act(rawValue: "change-locator")
        /// Every resource key was wrapped under the current generation; with ``Outcome/partly``, only those of the
        /// resources that open.
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

    /// How far a key operation went.
    public struct Outcome: RawRepresentable, Hashable, Codable, Sendable {
        /// The name in the log.
        public let rawValue: String

        /// Creates an outcome from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The operation is complete.
        public static let done = Outcome(rawValue: "done")
        /// The operation is complete, except for resources that do not open; they stay as they were.
        public static let partly = Outcome(rawValue: "partly")
        /// The keys are deleted; an earlier copy of the disk's blocks and of the keyring could still yield them.
        public static let removed = Outcome(rawValue: "removed")
        /// The keys are deleted, and so is the key that wrapped them.
        public static let destroyed = Outcome(rawValue: "destroyed")
    }

    /// The number of the receipt within its vault, from 1.
    public let sequence: Int64
    /// When the operation was done, in seconds since 1970; in JSON a time in UTC, except in the log itself.
    @AsTimestamp public private(set) var time: Int64
    /// The kind of key operation.
    public let act: Act
    /// How far the operation went.
    public let outcome: Outcome
    /// The generation that the operation changed, or else the one that was current.
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
        /// The line was changed: its signature does not match its content.
        case signature
        /// The line belongs to another vault, or was signed with another key.
        case stranger
        /// Lines before it are missing, or the line is in the wrong place.
        case sequence
        /// The line before it is not the one that preceded it when it was written.
        case chain
        /// The keyring counts receipts after the last line: they were cut off.
        case cut
    }

    /// The number of the line, from 1; for ``Kind/cut`` the first missing line.
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
    /// The receipts that can be read, including those with faults, in the log's order.
    public package(set) var receipts: [Receipt] = []
    /// The faults, in the order of lines.
    public package(set) var faults: [AuditFault] = []
    /// The vault's id in hex from the first line; nil if there is none.
    public package(set) var vaultID: String?
    /// The public key in hex from the first line; nil if there is none.
    public package(set) var publicKey: String?
    /// Whether the key and the number of receipts were compared with the keyring.
    ///
    /// Without that comparison, a log that was cut at its end or forged from scratch looks sound.
    public package(set) var isAnchored = false

    /// Creates an empty report.
    package init() {}

    /// Whether there are no faults.
    public var isSound: Bool { faults.isEmpty }

    private enum CodingKeys: String, CodingKey {
        case receipts, faults
        case vaultID = "vault"
        case publicKey = "key"
        case isAnchored = "anchored"
    }

    private enum DerivedKeys: String, CodingKey { case isSound = "sound" }

    /// Writes the report as the API and the command do, with its verdict and with nulls.
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
