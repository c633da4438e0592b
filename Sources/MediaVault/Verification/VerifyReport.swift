/// What ``Vault/verify(_:)`` found, and what became of it. It holds no secret: URLs stand in it without their queries.
public struct VerifyReport: Hashable, Codable, Sendable {
    /// Files that no row of the index names. They are no damage.
    public struct Orphans: Hashable, Codable, Sendable {
        /// Whole segments of bytes that are held nowhere else: repairing adopts them.
        public internal(set) var good = 0
        /// Everything else: repairing moves it to `quarantine/`.
        public internal(set) var strange = 0
        /// Those of the good that were adopted.
        public internal(set) var adopted = 0
        /// Those of the strange that were moved to `quarantine/`.
        public internal(set) var quarantined = 0
    }

    /// Plaintext bytes that were opened.
    public internal(set) var bytesOpened: Int64 = 0
    /// Segments that were looked at.
    public internal(set) var segments = 0
    /// How much damage of each kind there was; a kind that was not found is absent.
    public internal(set) var damage: [DamageClass: Int] = [:]
    /// Pieces of damage that are still there.
    public internal(set) var remaining = 0
    /// Files that the system would not read: nothing is known about their bytes.
    public internal(set) var unreadable = 0
    /// Files that no row names.
    public internal(set) var orphans = Orphans()
    /// Bytes fetched anew in place of damaged ones.
    public internal(set) var bytesRefetched: Int64 = 0
    /// The resources that were damaged: the first ``mostNamed`` of them.
    public internal(set) var resources: [DamagedResource] = []
    /// How many resources were damaged.
    public internal(set) var damagedResources = 0

    /// How many damaged resources a report names.
    public static let mostNamed = 1000

    /// Pieces of damage that were found.
    public var found: Int { damage.values.reduce(0, +) }
    /// Whether nothing is damaged, or nothing any more, and everything could be read.
    public var isSound: Bool { remaining == 0 && unreadable == 0 }

    mutating func note(_ damageClass: DamageClass, _ count: Int = 1, isMended: Bool) {
        damage[damageClass, default: 0] += count
        if !isMended { remaining += count }
    }

    mutating func name(_ resource: DamagedResource) {
        damagedResources += 1
        if resources.count < Self.mostNamed { resources.append(resource) }
    }
}
