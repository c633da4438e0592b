import VaultCache
import VaultModel

/// Runs subscriptions when they are due, once a service has started the clock.
final class SubscriptionClock: Sendable {
    private struct State {
        var loop: Task<Void, Never>?
        var isEnded = false
        var waiting: Set<SubscriptionID> = []
        var isWoken = false
        var pause: Task<Void, Never>?
    }

    private let state = Locked(State())
    private let counted = Locked<(changes: Int, states: [SubscriptionState]?)>((0, nil))
    /// A lock held while a subscription runs or is changed.
    let changing = AsyncLock()

    /// How often to check which subscriptions are due, unless the clock is woken earlier.
    private let pace: Duration

    init(pace: Duration = .seconds(20)) { self.pace = pace }

    /// The subscriptions that keep titles although their lists no longer name them, until the replacements are held.
    /// After a restart, each subscription's next run decides this again.
    var waiting: Set<SubscriptionID> { state.withLock(\.waiting) }

    /// The number of changes, and what the counts need to know of all subscriptions; nil if that must be read again.
    var known: (changes: Int, states: [SubscriptionState]?) { counted.withLock { $0 } }

    /// Keeps what was read of the subscriptions, unless it may be out of date.
    func keep(_ states: [SubscriptionState], unlessChangedSince changes: Int) {
        counted.withLock { if $0.changes == changes { $0.states = states } }
    }

    /// Notes that a subscription was written or removed.
    func noteChange() { counted.withLock { $0 = ($0.changes + 1, nil) } }

    /// Records whether a subscription keeps titles that wait for their replacements.
    func note(_ id: SubscriptionID, isWaiting: Bool) {
        state.withLock { state in
            if isWaiting { state.waiting.insert(id) } else { state.waiting.remove(id) }
        }
    }

    /// Starts to run subscriptions when they are due. A second call does nothing.
    ///
    /// - Parameter run: runs all subscriptions that are due now.
    func start(_ run: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            guard state.loop == nil, !state.isEnded else { return }
            state.loop = Task {
                while !Task.isCancelled {
                    await run()
                    await self.pause()
                }
            }
        }
    }

    /// Whether a service has started the clock and it has not ended.
    var isRunning: Bool { state.withLock { $0.loop != nil && !$0.isEnded } }

    /// Makes the clock check at once which subscriptions are due, because something has changed.
    func wake() {
        let pause = state.withLock { state in
            state.isWoken = state.pause == nil
            return state.pause
        }
        pause?.cancel()
    }

    private func pause() async {
        let pause = state.withLock { state -> Task<Void, Never>? in
            defer { state.isWoken = false }
            guard !state.isWoken else { return nil }
            let pause = Task<Void, Never> { [pace] in _ = try? await Task.sleep(for: pace) }
            state.pause = pause
            return pause
        }
        await withTaskCancellationHandler {
            await pause?.value
        } onCancel: {
            pause?.cancel()
        }
        state.withLock { state in state.pause = nil }
    }

    /// Stops the clock, and waits until its loop has ended.
    func end() async {
        let loop = state.withLock { state in
            state.isEnded = true
            return state.loop
        }
        loop?.cancel()
        await loop?.value
    }
}
