package import VaultModel

/// What the limits would evict next, and how far the vault is from them.
package struct EvictionForecast: Sendable {
    /// A title, or a resource by itself, that may be evicted.
    package struct Candidate: Sendable {
        package let summary: ResourceSummary
        /// The space of its files, in bytes.
        package let bytes: Int64
    }

    /// The space of all segment files, in bytes.
    package let used: Int64
    /// The same for pinned titles, for downloads, and for what was only played.
    package let classes: (pinned: Int64, download: Int64, cache: Int64)
    /// The free space of the disk, in bytes; nil if the system does not report it.
    package let free: Int64?
    /// The limits in force.
    package let limits: StorageLimits
    /// In the order of eviction: what was only played before what was downloaded, then the least recently played.
    package let next: [Candidate]

    /// The maximum number of candidates.
    package static let most = 100
}
