package import MediaVault

/// What the limits would evict next, as `/api/v1/evictions` reports it.
package struct EvictionsDocument: Codable, Sendable {
    /// A title that would be evicted.
    package struct Candidate: Codable, Sendable {
        @OrNull package var id: TitleID?
        package let url: String
        @OrNull package var name: String?
        package let `class`: String
        /// When it was last played, to the hour.
        package let accessed: Timestamp
        /// From when on the age limit removes it, whatever the space; null if it does not.
        @OrNull package var expires: Timestamp?
        /// The space of its files.
        package let bytes: Int64
    }

    /// The space of segment files, by the class of their titles.
    package struct Classes: Codable, Sendable {
        package let pinned: Int64
        package let download: Int64
        package let cache: Int64
    }

    package let classes: Classes
    /// The space of all segment files.
    package let used: Int64
    /// The free space of the disk; null if the system does not tell.
    @OrNull package var free: Int64?
    /// The limit of `used` in force; null if there is none.
    @OrNull package var maxSize: Int64?
    /// The limit of `free` in force; 0 for none.
    package let minFree: Int64
    /// What goes first comes first.
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
