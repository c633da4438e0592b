import VaultModel

/// Which resources were read and in which hour: told to the index once an hour each, so that reading does not write.
struct Visits {
    private static let most = 10_000
    private var hours: [ResourceID: Int64] = [:]
    private var news: Set<ResourceID> = []

    mutating func note(_ id: ResourceID, hour: Int64) {
        guard hours.updateValue(hour, forKey: id) != hour else { return }
        news.insert(id)
        // Hours that are over are forgotten, so that what is kept is bounded by what one hour brings.
        if hours.count > Self.most { hours = hours.filter { $0.value == hour } }
    }

    /// Takes back what the index could not be told.
    mutating func putBack(_ ids: [ResourceID]) { news.formUnion(ids) }

    /// What the index has not been told.
    mutating func take() -> [ResourceID] {
        defer { news = [] }
        return Array(news)
    }
}
