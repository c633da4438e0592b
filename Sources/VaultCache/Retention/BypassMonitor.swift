import VaultModel
import VaultStorage

/// Detects when bytes begin to pass through unstored, and when this ends. Each of the two is reported once, regardless
/// of the number of readers and seeks.
struct BypassMonitor {
    /// The store's refusal; nil while the store accepts bytes.
    private(set) var refusal: VaultError?
    /// The total number of bytes that had passed through when the bypass began, and at the last check.
    private var before: Int64 = 0
    private var seen: Int64 = 0
    private var quietSince: ContinuousClock.Instant?
    /// The total number of bytes that had been sealed when bytes stopped passing through.
    private var sealedBefore: Int64 = 0
    /// The listeners that ``StorageSpace/events()`` added.
    var listeners = NumberedSet<AsyncStream<StoreEvent>.Continuation>()

    /// How long no bytes may pass through before the bypass counts as ended. A seek is shorter, so it does not end it.
    static let quiet: Duration = .seconds(5)

    /// Compares the current state with that of the last check, and returns the event to report, if any.
    ///
    /// - Parameters:
    ///   - passed: the total number of bytes that have passed through.
    ///   - isPassing: whether bytes are passing through now.
    ///   - refusal: the error with which the store refused a loader; nil if it refused none.
    ///   - hasSpace: whether the store has space again after its last refusal.
    ///   - sealed: the total number of bytes sealed. If it grows, bytes fit, even if too little room is left to count
    ///     as space.
    mutating func look(
        passed: Int64, isPassing: Bool, refusal: VaultError?, hasSpace: Bool, sealed: Int64,
        now: ContinuousClock.Instant
    ) -> StoreEvent? {
        defer { seen = passed }
        if passed > seen || isPassing {
            quietSince = nil
            guard self.refusal == nil else { return nil }
            let error = refusal ?? VaultError(.storage, "the store refused")
            (self.refusal, before) = (error, seen)
            return .passingThrough(BypassReason(error), error.message)
        }
        guard self.refusal != nil else { return nil }
        if quietSince == nil { (quietSince, sealedBefore) = (now, sealed) }
        // Between two titles nothing passes through, but the next title would still not be stored.
        guard let since = quietSince, now - since >= Self.quiet, hasSpace || sealed > sealedBefore else { return nil }
        (self.refusal, quietSince) = (nil, nil)
        return .storing(passedThrough: passed - before)
    }
}

/// A change in whether the store keeps the bytes from origins, or an eviction of held bytes.
public enum StoreEvent: Hashable, Sendable {
    /// Some bytes are now delivered without being stored. The values are the reason and a message.
    case passingThrough(BypassReason, String)
    /// All bytes are stored again. The value is the number of bytes that were delivered unstored in between.
    case storing(passedThrough: Int64)
    /// The vault evicted something to free space or to keep a limit. The values count the titles that were removed
    /// completely, the segment files, and the bytes of those files.
    case evicted(titles: Int, segments: Int, bytes: Int64)
}

/// Reports evictions, once per run. Evictions in quick succession, such as those of one title, form one run.
struct EvictionNotice {
    private var told = EvictionCounters()
    private var seen = EvictionCounters()
    private var begun: ContinuousClock.Instant?
    private var lastSeen: ContinuousClock.Instant?

    /// How long after its last eviction a run ends, and how long after its first eviction it is reported at the latest.
    static let quiet: Duration = .seconds(5)
    static let longest: Duration = .seconds(60)

    /// Compares the eviction totals with those of the last check, and returns the event to report, if any.
    mutating func look(_ gone: EvictionCounters, now: ContinuousClock.Instant) -> StoreEvent? {
        if gone != seen {
            (seen, lastSeen) = (gone, now)
            begun = begun ?? now
        }
        guard let begun, let lastSeen, now - lastSeen >= Self.quiet || now - begun >= Self.longest else { return nil }
        return end(gone)
    }

    /// Ends the run, and returns an event for the evictions that have not been reported yet; nil if there are none.
    mutating func end(_ gone: EvictionCounters) -> StoreEvent? {
        defer { (told, seen, begun, lastSeen) = (gone, gone, nil, nil) }
        guard gone != told else { return nil }
        return .evicted(
            titles: gone.resources - told.resources, segments: gone.segments - told.segments,
            bytes: gone.bytes - told.bytes)
    }
}
