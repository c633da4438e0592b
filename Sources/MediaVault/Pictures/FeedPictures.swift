import VaultCache
import VaultModel

/// The recently requested pictures of feeds, of which at most 8 MiB are kept in memory.
///
/// A picture that several titles share is requested only once, even if it could not be fetched.
final class FeedPictures: Sendable {
    private struct Entry {
        /// The lock that is held while the picture is being requested.
        let asking = AsyncLock()
        let since: ContinuousClock.Instant
        /// The result of the request; nil until there is one, and an inner nil if the picture could not be fetched.
        var found: Picture??
        /// The position in the order of use; the highest was used last.
        var used = 0
    }

    private struct State {
        var entries: [MediaReference: Entry] = [:]
        var bytes = 0
        var uses = 0
        var isEnded = false
        /// The hosts that took too long, each with the time when this was noted.
        var slow: [String: ContinuousClock.Instant] = [:]

        /// Returns a picture's entry, or a new one if there is none or it is too old.
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
            // The entry may have been dropped since, and a closed vault must not keep any.
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
    /// The maximum number of entries, including those for pictures that could not be fetched.
    private static let maxCount = 256
    /// How long an entry is kept: long enough to download the titles found by one check of a feed.
    private static let lifetime: Duration = .seconds(3600)

    /// Returns a picture; nil if it cannot be fetched.
    ///
    /// - Parameters:
    ///   - reference: where the picture is, and how to request it. The same URL requested differently counts as another
    ///     picture.
    ///   - now: the current time.
    ///   - fetch: requests the picture. It is not called if that was already done.
    /// - Throws: the error of `fetch`; in that case, the next call requests the picture again.
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

    /// Returns whether a host recently took too long to send a picture, so that a download must not wait for its next
    /// one.
    func isSlow(_ host: String, now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { $0.slow[host].map { now - $0 < Self.lifetime } ?? false }
    }

    /// Records that a host took too long to send a picture.
    func noteSlow(_ host: String, now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            // If there are very many slow hosts, all of them get another chance.
            if state.slow.count >= Self.maxCount { state.slow = [:] }
            if !state.isEnded { state.slow[host] = now }
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
