package import VaultModel

/// The resources that were read, each with the hour of its last access. Each access time is written to the index at
/// most once an hour, so that not every read causes a write.
package final class AccessTimes: Sendable {
    private struct Noted {
        var hours: [ResourceID: Int64] = [:]
        var news: Set<ResourceID> = []
    }

    private static let most = 10_000
    private let noted = Locked(Noted())

    package init() {}

    package func note(_ id: ResourceID, hour: Int64) {
        noted.withLock { noted in
            guard noted.hours.updateValue(hour, forKey: id) != hour else { return }
            noted.news.insert(id)
            // Forget earlier hours, so that memory is bounded by the number of resources read in one hour.
            if noted.hours.count > Self.most { noted.hours = noted.hours.filter { $0.value == hour } }
        }
    }

    /// Puts back ids whose access could not be written to the index.
    package func putBack(_ ids: [ResourceID]) { noted.withLock { $0.news.formUnion(ids) } }

    /// Returns the ids whose access has not been written to the index, and clears them.
    package func take() -> [ResourceID] {
        noted.withLock { noted in
            defer { noted.news = [] }
            return Array(noted.news)
        }
    }
}
