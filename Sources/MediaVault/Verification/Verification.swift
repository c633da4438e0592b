import VaultModel
import VaultStorage

/// The options of ``VaultChecks/verify(_:of:)``.
public struct VerifyOptions: Hashable, Codable, Sendable {
    /// Whether to fetch damaged ranges again, and to adopt files that are not in the index or move them to quarantine.
    /// Only an owner can repair.
    public var repairs: Bool
    /// The percentage of segments to open, chosen at random; nil to open all.
    public var sample: Double?
    /// The maximum number of bytes to open per second; nil for no limit.
    public var bytesPerSecond: Int64?

    /// Whether a repair also removes titles and records that only a retired generation could open. Otherwise they are
    /// kept, because the keyring of their time still opens them.
    public var forgetsRetired: Bool

    /// Creates options. By default a check opens everything, changes nothing, and has no rate limit.
    public init(
        repairs: Bool = false, sample: Double? = nil, bytesPerSecond: Int64? = nil, forgetsRetired: Bool = false
    ) {
        self.repairs = repairs
        self.forgetsRetired = forgetsRetired
        self.sample = sample
        self.bytesPerSecond = bytesPerSecond
    }

    /// Whether every segment is to be opened.
    var opensAll: Bool { sample ?? 100 >= 100 }

    /// Checks that the options are valid.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if an option is invalid.
    public func check(isOwner: Bool) throws {
        guard isOwner || !repairs else {
            throw VaultError(.invalidArgument, "a reader cannot repair; open the vault as its owner")
        }
        guard repairs || !forgetsRetired else {
            throw VaultError(.invalidArgument, "only a repair forgets what was retired; ask for a repair, too")
        }
        if let sample, !(sample > 0 && sample <= 100) {
            throw VaultError(.invalidArgument, "a sample must be more than 0 and at most 100 percent")
        }
        if let bytesPerSecond, bytesPerSecond <= 0 {
            throw VaultError(.invalidArgument, "a rate must be at least one byte per second")
        }
    }
}

/// The progress of a check.
public struct VerifyProgress: Hashable, Codable, Sendable {
    /// The number of plaintext bytes that have been opened.
    public let bytesOpened: Int64
    /// The number of plaintext bytes to open, as counted at the beginning.
    public let bytesTotal: Int64
    /// The number of segments that have been checked.
    public let segments: Int
    /// The number of segments to check, as counted at the beginning.
    public let segmentsTotal: Int
    /// The number of damaged items found so far.
    public let damage: Int
    /// The final report; nil except in the last element. It is not part of the JSON.
    public internal(set) var report: VerifyReport?

    private enum CodingKeys: CodingKey { case bytesOpened, bytesTotal, segments, segmentsTotal, damage }
}

/// The findings and repairs of ``VaultChecks/verify(_:of:)``. The report contains no secrets; its URLs have no queries.
public struct VerifyReport: Hashable, Sendable {
    /// The files that are not in the index, by kind. They do not count as damage.
    public struct Orphans: Hashable, Codable, Sendable {
        /// The number of complete segments whose bytes are not held elsewhere. A repair adopts them.
        public internal(set) var good = 0
        /// The number of all other files. A repair moves them to `quarantine/`.
        public internal(set) var strange = 0
        /// The number of good orphans that were adopted.
        public internal(set) var adopted = 0
        /// The number of strange orphans that were moved to `quarantine/`.
        public internal(set) var quarantined = 0
    }

    /// The number of plaintext bytes that were opened.
    public internal(set) var bytesOpened: Int64 = 0
    /// The number of segments that were checked.
    public internal(set) var segments = 0
    /// The number of damaged items by class. A class that was not found is absent.
    public internal(set) var damage: [DamageClass: Int] = [:]
    /// The number of damaged items that were not repaired.
    public internal(set) var remaining = 0
    /// The number of files that the operating system failed to read. Nothing is known about their bytes.
    public internal(set) var unreadable = 0
    /// The files that are not in the index.
    public internal(set) var orphans = Orphans()
    /// The number of bytes that were fetched again to replace damaged ones.
    public internal(set) var bytesRefetched: Int64 = 0
    /// The damaged resources; at most ``maxNamed`` are listed.
    public internal(set) var resources: [DamagedResource] = []
    /// The number of damaged resources.
    public internal(set) var damagedResources = 0
    /// The number of resources that a repair brought back from `catalog.backup`.
    public internal(set) var restored = 0
    /// The kinds of records of which some do not open.
    public internal(set) var records: [DamagedRecords] = []

    /// The maximum number of damaged resources that a report lists.
    public static let maxNamed = 1000

    /// The number of damaged items found.
    public var found: Int { damage.values.reduce(0, +) }
    /// Whether everything could be read, and no damage remains.
    public var isSound: Bool { remaining == 0 && unreadable == 0 }

    mutating func note(_ damageClass: DamageClass, _ count: Int = 1, isMended: Bool) {
        guard count > 0 else { return }
        damage[damageClass, default: 0] += count
        if !isMended { remaining += count }
    }

    mutating func name(_ resource: DamagedResource) {
        damagedResources += 1
        if resources.count < Self.maxNamed { resources.append(resource) }
    }
}

// The report as the API and the command write it, with its verdict and with a count for every class of damage.
extension VerifyReport: Codable {
    private enum CodingKeys: CodingKey {
        case sound, bytesOpened, segments, damage, remaining, unreadable, orphans, bytesRefetched, resources
        case damagedResources, restored, records
    }

    /// Reads a report.
    ///
    /// - Throws: `DecodingError` if the decoder's content is not a report.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        bytesOpened = try members.decode(Int64.self, forKey: .bytesOpened)
        segments = try members.decode(Int.self, forKey: .segments)
        damage = try members.decode([DamageClass: Int].self, forKey: .damage).filter { $0.value > 0 }
        remaining = try members.decode(Int.self, forKey: .remaining)
        unreadable = try members.decode(Int.self, forKey: .unreadable)
        orphans = try members.decode(Orphans.self, forKey: .orphans)
        bytesRefetched = try members.decode(Int64.self, forKey: .bytesRefetched)
        resources = try members.decode([DamagedResource].self, forKey: .resources)
        damagedResources = try members.decode(Int.self, forKey: .damagedResources)
        restored = try members.decode(Int.self, forKey: .restored)
        records = try members.decode([DamagedRecords].self, forKey: .records)
    }

    /// Writes the report.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        let counts = Dictionary(uniqueKeysWithValues: DamageClass.allCases.map { ($0, damage[$0] ?? 0) })
        try members.encode(isSound, forKey: .sound)
        try members.encode(bytesOpened, forKey: .bytesOpened)
        try members.encode(segments, forKey: .segments)
        try members.encode(counts, forKey: .damage)
        try members.encode(remaining, forKey: .remaining)
        try members.encode(unreadable, forKey: .unreadable)
        try members.encode(orphans, forKey: .orphans)
        try members.encode(bytesRefetched, forKey: .bytesRefetched)
        try members.encode(resources, forKey: .resources)
        try members.encode(damagedResources, forKey: .damagedResources)
        try members.encode(restored, forKey: .restored)
        try members.encode(records, forKey: .records)
    }
}

/// The classes of damage that ``VaultChecks/verify(_:of:)`` distinguishes.
public enum DamageClass: String, Hashable, CaseIterable, Codable, CodingKeyRepresentable, Sendable {
    /// A segment's file is missing.
    case missing
    /// A segment's file is longer or shorter than its row states.
    case size
    /// A file's header is damaged, or belongs to another segment.
    case header
    /// A file's header is that of its segment, but is sealed under another key than the row states.
    case key
    /// A block fails authentication or is cut short, or it failed earlier and has not been fetched again.
    case block
    /// A segment's row is invalid, or names bytes that another segment holds.
    case row
    /// A resource's rows fail authentication, so none of the resource can be opened.
    case resource
    /// The vault's settings fail authentication.
    case settings
    /// Another record of the index fails authentication, or was lost.
    case record
}

/// The records of one kind that do not open.
public struct DamagedRecords: Hashable, Codable, Sendable {
    /// What the records are, in the plural: `viewers`, `shares of titles`.
    public let kind: String
    /// The number of these records.
    public let count: Int
    /// Whether a repair deleted the records, because nothing could open them.
    public let isRepaired: Bool
    /// Why the records were not repaired, and what to do; nil if they were repaired.
    @OrNull public internal(set) var problem: String?

    private enum CodingKeys: String, CodingKey {
        case kind, count, problem
        case isRepaired = "repaired"
    }
}

/// A resource in which damage was found.
public struct DamagedResource: Hashable, Codable, Sendable {
    /// The resource's id in the vault, as 64 hex digits.
    public let id: String
    /// The resource's URL without its query; nil if the rows that contain it do not open.
    @OrNull public internal(set) var url: String?
    /// The number of damaged items by class.
    public let damage: [DamageClass: Int]
    /// The ranges that could not be opened, in ascending order.
    public let ranges: [ByteRange]
    /// Whether all of the resource's damage was repaired.
    public let isRepaired: Bool
    /// Why the damage was not repaired, and what to do; nil if it was repaired, or if no repair was tried.
    @OrNull public internal(set) var problem: String?

    private enum CodingKeys: String, CodingKey {
        case id, url, damage, ranges, problem
        case isRepaired = "repaired"
    }

    /// The number of bytes that could not be opened.
    public var bytes: Int64 { ranges.reduce(0) { $0 + $1.length } }
}
