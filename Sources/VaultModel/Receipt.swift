/// What was done to the keys of a vault, and when: the content of one line of its audit log.
public struct Receipt: Hashable, Codable, Sendable {
    /// What was done. A log may hold acts of newer versions.
    public struct Act: RawRepresentable, Hashable, Codable, Sendable {
        /// The name as the log has it.
        public let rawValue: String

        /// An act of that name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A new generation became current.
        public static let rotate = Act(rawValue: "rotate")
        /// Root key, token key and generation became others.
        public static let rotateRoot = Act(rawValue: "rotate-root")
        /// Every resource has another id; with ``Outcome/partly`` those that open.
        public static let changeLocator = Act(rawValue: "change-locator")
        /// Every resource key was wrapped under the current generation; with ``Outcome/partly`` those that open.
        public static let rewrap = Act(rawValue: "rewrap")
        /// Resources have new keys, and their segments were sealed anew.
        public static let reseal = Act(rawValue: "reseal")
        /// A generation is gone.
        public static let retire = Act(rawValue: "retire")
        /// A resource's keys are gone.
        public static let shred = Act(rawValue: "shred")
        /// All keys are gone.
        public static let destroy = Act(rawValue: "destroy")
        /// Playback addresses and the admin token became others.
        public static let revokeLinks = Act(rawValue: "revoke-links")
        /// There is another way in.
        public static let addSlot = Act(rawValue: "slot-add")
        /// A way in is gone.
        public static let removeSlot = Act(rawValue: "slot-remove")
        /// A way in is another.
        public static let changeSlot = Act(rawValue: "slot-change")
        /// A copy of the keyring was made.
        public static let backup = Act(rawValue: "backup")
        /// A copy of the keyring was put back.
        public static let restore = Act(rawValue: "restore")
    }

    /// How far an act went.
    public struct Outcome: RawRepresentable, Hashable, Codable, Sendable {
        /// The name as the log has it.
        public let rawValue: String

        /// An outcome of that name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It is done.
        public static let done = Outcome(rawValue: "done")
        /// It is done but for resources that do not open, and stay as they were.
        public static let partly = Outcome(rawValue: "partly")
        /// The keys are deleted; a copy of the disk's blocks and of the keyring made before could still give them.
        public static let removed = Outcome(rawValue: "removed")
        /// The keys are deleted, and what wrapped them is, too.
        public static let destroyed = Outcome(rawValue: "destroyed")
    }

    /// Counts the receipts of a vault from 1.
    public let sequence: Int64
    /// When it was done, in seconds since 1970.
    public let time: Int64
    /// What was done.
    public let act: Act
    /// How far it went.
    public let outcome: Outcome
    /// The generation that it was about; else the one that was current.
    public let generation: Int
    /// What it was done to, where that was one resource: a hash that only the vault's keyring can make.
    public let subject: String?
    /// How many resources it was done to, where they were several.
    public let resources: Int64?

    /// A receipt with all its members.
    package init(
        sequence: Int64, time: Int64, act: Act, outcome: Outcome, generation: Int, subject: String?, resources: Int64?
    ) {
        self.sequence = sequence
        self.time = time
        self.act = act
        self.outcome = outcome
        self.generation = generation
        self.subject = subject
        self.resources = resources
    }
}

/// Something that is wrong with an audit log.
public struct AuditFault: Hashable, Codable, Sendable {
    /// What is wrong.
    public enum Kind: String, Codable, CaseIterable, Sendable {
        /// The line is no receipt.
        case unreadable
        /// The line was changed: its signature is not of its content.
        case signature
        /// The line is another vault's, or was signed with another key.
        case stranger
        /// Lines before it are missing, or it stands in another's place.
        case sequence
        /// The line before it is not the one that it was written after.
        case chain
        /// The keyring knows of receipts behind the last line: they were cut off.
        case cut
    }

    /// The line, from 1; for ``Kind/cut`` the first one that is missing.
    public let line: Int
    /// What is wrong.
    public let kind: Kind

    /// A fault of a line.
    package init(line: Int, kind: Kind) {
        self.line = line
        self.kind = kind
    }
}

/// An audit log, read and checked.
public struct AuditReport: Hashable, Codable, Sendable {
    /// The receipts whose lines can be read, in the log's order. One with a fault is among them.
    public package(set) var receipts: [Receipt] = []
    /// What is wrong, in the order of lines.
    public package(set) var faults: [AuditFault] = []
    /// The vault's id in hex, as the first line has it; nil where there is none.
    public package(set) var vaultID: String?
    /// The public key in hex, as the first line has it; nil where there is none.
    public package(set) var publicKey: String?
    /// Whether key and number of receipts were compared with the keyring: without it, a log that was cut at its end, or
    /// made from nothing, looks sound.
    public package(set) var isAnchored = false

    /// Nothing yet.
    package init() {}

    /// Whether nothing is wrong.
    public var isSound: Bool { faults.isEmpty }
}
