import VaultModel
import VaultStorage

/// Detects when bytes begin to pass through unstored, and when that ends. It reports each once, regardless of the
/// number of readers and seeks.
struct BypassMonitor {
    /// The store's refusal; nil while the store accepts bytes.
    private(set) var refusal: VaultError?
    /// The bytes that had passed through at the beginning, and at the last check.
    private var before: Int64 = 0
    private var seen: Int64 = 0
    private var quietSince: ContinuousClock.Instant?
    /// The bytes that had been sealed when it became quiet.
    private var sealedBefore: Int64 = 0
    /// The streams of ``Vault/storeEvents()``.
    var listeners = NumberedSet<AsyncStream<StoreEvent>.Continuation>()

    /// How long no bytes must pass through before the bypass has ended: a seek does not end it.
    static let quiet: Duration = .seconds(5)

    /// Compares the current state with the last one.
    ///
    /// - Parameters:
    ///   - passed: the total number of bytes that have passed through.
    ///   - isPassing: whether bytes are passing through now.
    ///   - refusal: the error that a loader was refused with, if any.
    ///   - hasSpace: whether the store has space again after its last refusal.
    ///   - sealed: the total number of bytes sealed: bytes may fit even if there is too little room to count as space.
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
        // Between two titles nothing passes through, and yet the next one would not be stored.
        guard let since = quietSince, now - since >= Self.quiet, hasSpace || sealed > sealedBefore else { return nil }
        (self.refusal, quietSince) = (nil, nil)
        return .storing(passedThrough: passed - before)
    }
}

/// A change in how the store treats bytes from origins, or bytes that are held.
public enum StoreEvent: Hashable, Sendable {
    /// Some bytes are now delivered without being stored: the reason, and a message.
    case passingThrough(BypassReason, String)
    /// All bytes are stored again; this many bytes were delivered unstored in between.
    case storing(passedThrough: Int64)
    /// Something was evicted to free space or to keep a limit: titles removed completely, segment files, and their
    /// bytes.
    case evicted(titles: Int, segments: Int, bytes: Int64)
}

/// Reports evictions, once per run: evictions in quick succession, such as those of one title, are one run.
struct EvictionNotice {
    private var told = EvictionCounters()
    private var seen = EvictionCounters()
    private var begun: ContinuousClock.Instant?
    private var lastSeen: ContinuousClock.Instant?

    /// A run ends after this long without an eviction, and is reported after ``longest`` at the latest.
    static let quiet: Duration = .seconds(5)
    static let longest: Duration = .seconds(60)

    /// Compares the total of evictions with the last one.
    mutating func look(_ gone: EvictionCounters, now: ContinuousClock.Instant) -> StoreEvent? {
        if gone != seen {
            (seen, lastSeen) = (gone, now)
            begun = begun ?? now
        }
        guard let begun, let lastSeen, now - lastSeen >= Self.quiet || now - begun >= Self.longest else { return nil }
        return end(gone)
    }

    /// Reports what has not been reported yet.
    mutating func end(_ gone: EvictionCounters) -> StoreEvent? {
        defer { (told, seen, begun, lastSeen) = (gone, gone, nil, nil) }
        guard gone != told else { return nil }
        return .evicted(
            titles: gone.resources - told.resources, segments: gone.segments - told.segments,
            bytes: gone.bytes - told.bytes)
    }
}
