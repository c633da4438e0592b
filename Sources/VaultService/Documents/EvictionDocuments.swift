package import MediaVault

/// The titles that the storage limits would evict next, as `/api/v1/evictions` reports them.
package struct EvictionsDocument: Codable, Sendable {
    /// A title that would be evicted.
    package struct Candidate: Codable, Sendable {
        @OrNull package var id: TitleID?
        package let url: String
        @OrNull package var name: String?
        package let `class`: String
        /// When the title was last played, to the hour.
        package let accessed: Timestamp
        /// When the age limit evicts the title, however much space is free; null if it never does.
        @OrNull package var expires: Timestamp?
        /// The disk space that the title's files use, in bytes.
        package let bytes: Int64
    }

    /// The disk space that segment files use, by the class of their titles.
    package struct Classes: Codable, Sendable {
        package let pinned: Int64
        package let download: Int64
        package let cache: Int64
    }

    package let classes: Classes
    /// The disk space that all segment files use.
    package let used: Int64
    /// The free disk space; null if the system does not report it.
    @OrNull package var free: Int64?
    /// The upper limit of `used` in force; null if there is none.
    @OrNull package var maxSize: Int64?
    /// The lower limit of `free` in force; 0 if there is none.
    package let minFree: Int64
    /// The candidates in the order of eviction.
    package let next: [Candidate]

    package init(_ forecast: EvictionForecast) {
        let sums = forecast.classes
        classes = Classes(pinned: sums.pinned, download: sums.download, cache: sums.cache)
        (used, minFree) = (forecast.used, forecast.limits.free)
        (free, maxSize) = (forecast.free, forecast.limits.size)
        next = forecast.next.map { candidate in
            let summary = candidate.summary
            return Candidate(
                id: summary.id, url: summary.url, name: summary.name, class: summary.resourceClass,
                accessed: summary.accessed, expires: summary.expires, bytes: candidate.bytes)
        }
    }
}
