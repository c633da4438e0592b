import VaultModel

/// The pictures found in recently used media, of which at most 8 MiB are kept in memory.
final class PictureCache: Sendable {
    private struct Entry {
        let resource: ResourceID
        /// The picture; nil if the media have none.
        let picture: Picture?
        /// The position in the order of use; the highest was used last.
        var used: Int
    }

    private struct State {
        var entries: [RepresentationID: Entry] = [:]
        var bytes = 0
        var uses = 0
        var isEnded = false

        mutating func remove(_ id: RepresentationID) {
            bytes -= entries.removeValue(forKey: id)?.picture?.bytes.count ?? 0
        }
    }

    private let state = Locked(State())

    private static let maxBytes = 8 << 20
    /// The maximum number of representations whose result is kept, with or without a picture.
    private static let maxCount = 1024

    /// Returns the picture of a representation. The result is an inner nil if the representation has no picture, and an
    /// outer nil if the cache does not know.
    func picture(of id: RepresentationID) -> Picture?? {
        state.withLock { state in
            guard let entry = state.entries[id] else { return nil }
            state.uses += 1
            state.entries[id]?.used = state.uses
            return .some(entry.picture)
        }
    }

    /// Keeps the result for a representation, and drops the least recently used entries to stay within the limits.
    func keep(_ picture: Picture?, of id: RepresentationID, _ resource: ResourceID) {
        state.withLock { state in
            guard !state.isEnded else { return }
            state.remove(id)
            state.uses += 1
            state.entries[id] = Entry(resource: resource, picture: picture, used: state.uses)
            state.bytes += picture?.bytes.count ?? 0
            while state.bytes > Self.maxBytes || state.entries.count > Self.maxCount,
                let oldest = state.entries.min(by: { $0.value.used < $1.value.used })?.key
            {
                state.remove(oldest)
            }
        }
    }

    /// Forgets the results for the representations of some resources.
    func forget(_ resources: Set<ResourceID>) {
        state.withLock { state in
            for (id, entry) in state.entries where resources.contains(entry.resource) { state.remove(id) }
        }
    }

    /// Forgets everything, and keeps nothing from then on.
    func end() {
        state.withLock { state in
            state = State()
            state.isEnded = true
        }
    }
}
