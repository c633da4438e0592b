import VaultModel

/// The recently requested pictures of feeds, in memory: at most 8 MiB of them.
///
/// A picture that many titles share is requested once, even if it could not be fetched.
final class FeedPictures: Sendable {
    private struct Entry {
        /// Held while the picture is requested.
        let asking = AsyncLock()
        let since: ContinuousClock.Instant
        /// Nil until it was requested; an inner nil if it could not be fetched.
        var found: Picture??
        /// Its place in the order of use.
        var used = 0
    }

    private struct State {
        var entries: [MediaReference: Entry] = [:]
        var bytes = 0
        var uses = 0
        var isEnded = false
        /// Hosts that took too long, and when.
        var slow: [String: ContinuousClock.Instant] = [:]

        /// Returns a picture's entry, or a new one if it is too old.
        mutating func entry(of reference: MediaReference, now: ContinuousClock.Instant) -> Entry {
            if let known = entries[reference], now - known.since >= lifetime { remove(reference) }
            uses += 1
            var entry = entries[reference] ?? Entry(since: now)
            entry.used = uses
            entries[reference] = entry
            trim()
            return entry
        }

        mutating func keep(_ picture: Picture?, of reference: MediaReference) {
            // The entry may have been dropped in the meantime, and a closed vault keeps none.
            guard !isEnded, entries[reference] != nil else { return }
            entries[reference]?.found = .some(picture)
            bytes += picture?.bytes.count ?? 0
            trim()
        }

        /// Drops the least recently used entries.
        private mutating func trim() {
            while bytes > maxBytes || entries.count > maxCount,
                let oldest = entries.min(by: { $0.value.used < $1.value.used })?.key
            {
                remove(oldest)
            }
        }

        private mutating func remove(_ reference: MediaReference) {
            guard case .some(.some(let picture)) = entries.removeValue(forKey: reference)?.found else { return }
            bytes -= picture.bytes.count
        }
    }

    private let state = Locked(State())

    private static let maxBytes = 8 << 20
    /// The maximum number of pictures, including those that could not be fetched.
    private static let maxCount = 256
    /// How long a picture is kept: long enough to download the titles of one feed check.
    private static let lifetime: Duration = .seconds(3600)

    /// Returns a picture; nil if it cannot be fetched.
    ///
    /// - Parameters:
    ///   - reference: where it is, and how to request it: requested differently, it counts as another picture.
    ///   - fetch: requests the picture; called unless that was already done.
    /// - Throws: the error of `fetch`; the next call then requests the picture again.
    func picture(
        at reference: MediaReference, now: ContinuousClock.Instant = .now, fetch: () async throws -> Picture?
    ) async throws -> Picture? {
        let asking = state.withLock { $0.entry(of: reference, now: now).asking }
        return try await asking.exclusively {
            if let known = state.withLock({ $0.entries[reference]?.found }) { return known }
            let picture = try await fetch()
            state.withLock { $0.keep(picture, of: reference) }
            return picture
        }
    }

    /// Returns whether a host recently took too long for a picture: a download must not wait for the next one.
    func isSlow(_ host: String, now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { $0.slow[host].map { now - $0 < Self.lifetime } ?? false }
    }

    /// Notes that a host has taken too long.
    func noteSlow(_ host: String, now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            // If there are very many, all get another chance.
            if state.slow.count >= Self.maxCount { state.slow = [:] }
            if !state.isEnded { state.slow[host] = now }
        }
    }

    /// Forgets everything, and stores nothing afterwards.
    func end() {
        state.withLock { state in
            state = State()
            state.isEnded = true
        }
    }
}
