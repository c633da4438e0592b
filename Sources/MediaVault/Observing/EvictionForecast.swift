public import VaultModel

/// A forecast of what the limits would evict next, and of how close the vault is to them.
public struct EvictionForecast: Sendable {
    /// A title, or a resource that belongs to no title, that may be evicted.
    public struct Candidate: Sendable {
        /// What the vault holds of it.
        public let summary: ResourceSummary
        /// The disk space that the candidate's files use, in bytes.
        public let bytes: Int64
    }

    /// The disk space that all segment files use, in bytes.
    public let used: Int64
    /// The same, split into pinned titles, downloads, and titles that were only played.
    public let classes: (pinned: Int64, download: Int64, cache: Int64)
    /// The free space of the disk, in bytes; nil if the system does not report it.
    public let free: Int64?
    /// The limits in force.
    public let limits: StorageLimits
    /// The candidates in the order of eviction: those that were only played before those that were downloaded, and the
    /// least recently played first.
    public let next: [Candidate]

    /// The maximum number of candidates that a forecast lists.
    public static let most = 100
}
