import VaultModel
import VaultStorage

/// The state of the background work that joins one resource's small segments.
struct Joining {
    /// Whether segments are being joined, which keeps the resource in use.
    private(set) var isRunning = false
    /// Segments that could not be opened, and are not tried again while the loader exists.
    var excluded: Set<SegmentID> = []
    /// When joining was last tried; nil if never. The loader whose last try was longest ago goes first.
    private(set) var lastTry: ContinuousClock.Instant?
    /// Whether the last attempt joined nothing.
    var joinedNothing = false
    /// The tasks that are waiting for joining to end.
    private(set) var waiting: [CheckedContinuation<Void, Never>] = []

    /// The number of adjacent segments that are joined even while the resource is in use. Fewer are joined only after
    /// ``rest`` without readers and fetches, because more may follow.
    static let crowd = 16
    static let rest: Duration = .seconds(10)
    /// How long to wait after an attempt that joined nothing.
    static let patience: Duration = .seconds(30)

    func mayBegin(now: ContinuousClock.Instant) -> Bool {
        !isRunning && (!joinedNothing || lastTry.map { now - $0 >= Self.patience } ?? true)
    }

    mutating func begin(now: ContinuousClock.Instant) { (isRunning, lastTry, joinedNothing) = (true, now, true) }

    /// Records that joining has ended.
    ///
    /// - Returns: the tasks that were waiting for this.
    mutating func end() -> [CheckedContinuation<Void, Never>] {
        defer { (isRunning, waiting) = (false, []) }
        return waiting
    }

    /// Registers a task to resume when joining ends.
    ///
    /// - Returns: false if nothing is being joined, so there is nothing to wait for.
    mutating func wait(_ waiter: CheckedContinuation<Void, Never>) -> Bool {
        if isRunning { waiting.append(waiter) }
        return isRunning
    }
}

extension Locked where Value == Joining {
    /// Waits until no segments are being joined.
    func settle() async {
        await withCheckedContinuation { waiter in
            let isWaiting = withLock { $0.wait(waiter) }
            if !isWaiting { waiter.resume() }
        }
    }
}
