import VaultModel

/// The resources that were read, each with the hour of its last access. Each access time is written to the index at
/// most once an hour, so that not every read causes a write.
struct AccessTimes {
    private static let most = 10_000
    private var hours: [ResourceID: Int64] = [:]
    private var news: Set<ResourceID> = []

    mutating func note(_ id: ResourceID, hour: Int64) {
        guard hours.updateValue(hour, forKey: id) != hour else { return }
        news.insert(id)
        // Forget earlier hours, so that memory is bounded by the number of resources read in one hour.
        if hours.count > Self.most { hours = hours.filter { $0.value == hour } }
    }

    /// Puts back ids whose access could not be written to the index.
    mutating func putBack(_ ids: [ResourceID]) { news.formUnion(ids) }

    /// Returns the ids whose access has not been written to the index, and clears them.
    mutating func take() -> [ResourceID] {
        defer { news = [] }
        return Array(news)
    }
}
