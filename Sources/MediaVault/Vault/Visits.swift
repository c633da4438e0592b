import VaultModel

/// Which resources were read and in which hour: told to the index once an hour each, so that reading does not write.
struct Visits {
    private var hours: [ResourceID: Int64] = [:]
    private var news: Set<ResourceID> = []

    mutating func note(_ id: ResourceID, hour: Int64) {
        guard hours.updateValue(hour, forKey: id) != hour else { return }
        news.insert(id)
    }

    /// What the index has not been told.
    mutating func take() -> [ResourceID] {
        defer { news = [] }
        return Array(news)
    }
}
