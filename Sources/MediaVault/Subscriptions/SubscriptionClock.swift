import VaultModel

/// Runs due subscriptions while a service has started it.
final class SubscriptionClock: Sendable {
    private struct State {
        var loop: Task<Void, Never>?
        var isEnded = false
        var waiting: Set<SubscriptionID> = []
        var isWoken = false
        var pause: Task<Void, Never>?
    }

    private let state = Locked(State())
    /// Held while a subscription runs or is changed.
    let changing = AsyncLock()

    /// How often to check what is due, unless it is woken.
    private let pace: Duration

    init(pace: Duration = .seconds(20)) { self.pace = pace }

    /// The subscriptions with titles that their lists no longer name, but that stay until their replacements are held.
    /// After a restart, the next run of each subscription decides anew.
    var waiting: Set<SubscriptionID> { state.withLock(\.waiting) }

    /// Notes whether a subscription has such titles.
    func note(_ id: SubscriptionID, isWaiting: Bool) {
        state.withLock { state in
            if isWaiting { state.waiting.insert(id) } else { state.waiting.remove(id) }
        }
    }

    /// Begins to run what is due. A second call does nothing.
    ///
    /// - Parameter run: runs everything that is due now.
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

    /// Whether a service has started it.
    var isRunning: Bool { state.withLock { $0.loop != nil && !$0.isEnded } }

    /// Makes it check at once what is due, because something has changed.
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

    /// Stops the loop, and waits until it has ended.
    func end() async {
        let loop = state.withLock { state in
            state.isEnded = true
            return state.loop
        }
        loop?.cancel()
        await loop?.value
    }
}
