import VaultModel
import VaultStorage

/// When bytes begin to pass through unstored, and when that is over: told once each, however many readers and seeks
/// there are.
struct BypassMonitor {
    /// What the store refuses with, in a sentence; nil while it takes what comes.
    private(set) var failure: String?
    private var reason: StoreRefusal?
    /// How many bytes had passed when it began, and when it was looked at last.
    private var before: Int64 = 0
    private var seen: Int64 = 0
    private var quietSince: ContinuousClock.Instant?
    private var listeners: [Int: AsyncStream<StoreEvent>.Continuation] = [:]
    private var lastListener = 0

    /// It is over only after so long without such a byte: a seek is no end.
    static let quiet: Duration = .seconds(5)

    /// Looks at how things stand.
    ///
    /// - Parameters:
    ///   - passed: the bytes that ever passed through.
    ///   - isPassing: whether bytes are passing through now.
    ///   - refusal: what a loader was refused with, where there is one.
    ///   - hasDiskRoom: whether a disk that was full has room again.
    mutating func look(
        passed: Int64, isPassing: Bool, refusal: VaultError?, hasDiskRoom: Bool, now: ContinuousClock.Instant
    ) -> StoreEvent? {
        defer { seen = passed }
        if passed > seen || isPassing {
            quietSince = nil
            guard failure == nil else { return nil }
            let error = refusal ?? VaultError(.storage, "the store refused")
            (failure, reason, before) = (error.message, StoreRefusal(error), seen)
            return .passingThrough(StoreRefusal(error), error.message)
        }
        guard failure != nil else { return nil }
        quietSince = quietSince ?? now
        guard let since = quietSince, now - since >= Self.quiet, hasDiskRoom || reason != .diskFull else { return nil }
        (failure, reason, quietSince) = (nil, nil, nil)
        return .storing(passedThrough: passed - before)
    }

    /// Whether it matters if the disk has room.
    var isDiskFull: Bool { reason == .diskFull }

    // MARK: Telling

    /// Adds somebody who is told.
    mutating func add(_ listener: AsyncStream<StoreEvent>.Continuation) -> Int {
        lastListener += 1
        listeners[lastListener] = listener
        return lastListener
    }

    mutating func remove(_ listener: Int) { listeners[listener] = nil }

    /// Those who are told.
    var told: [AsyncStream<StoreEvent>.Continuation] { Array(listeners.values) }
}

/// What becomes of bytes that come from origins, and of those that are held.
public enum StoreEvent: Hashable, Sendable {
    /// From now on some are handed on without being stored: why, and in a sentence.
    case passingThrough(StoreRefusal, String)
    /// All are stored again; so many bytes went by meanwhile.
    case storing(passedThrough: Int64)
    /// Room was made, or a limit kept to: titles that went whole, segment files, and their bytes.
    case evicted(titles: Int, segments: Int, bytes: Int64)
}

/// Tells what made room, once for each run: evictions that follow one another closely, as those of one film do, are one.
struct EvictionNotice {
    private var told = EvictionCounters()
    private var seen = EvictionCounters()
    private var begun: ContinuousClock.Instant?
    private var lastSeen: ContinuousClock.Instant?

    /// A run is over after so long without an eviction, and is told after so long at the latest.
    static let quiet: Duration = .seconds(5)
    static let longest: Duration = .seconds(60)

    /// Looks at how much was evicted so far.
    mutating func look(_ gone: EvictionCounters, now: ContinuousClock.Instant) -> StoreEvent? {
        if gone != seen {
            (seen, lastSeen) = (gone, now)
            begun = begun ?? now
        }
        guard let begun, let lastSeen, now - lastSeen >= Self.quiet || now - begun >= Self.longest else { return nil }
        return end(gone)
    }

    /// Tells what was not told yet.
    mutating func end(_ gone: EvictionCounters) -> StoreEvent? {
        defer { (told, seen, begun, lastSeen) = (gone, gone, nil, nil) }
        guard gone != told else { return nil }
        return .evicted(
            titles: gone.resources - told.resources, segments: gone.segments - told.segments,
            bytes: gone.bytes - told.bytes)
    }
}
