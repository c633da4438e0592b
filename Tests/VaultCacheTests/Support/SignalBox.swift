import Synchronization

@testable import VaultCache

/// A signal protected by a lock, as in a loader.
final class SignalBox: Sendable {
    private struct State {
        var signal = WakeFlag()
        var waiting = 0
    }

    private let state = Mutex(State())

    func wait() async {
        await withCheckedContinuation { waiter in
            let isWaiting = state.withLock { state in
                state.waiting += 1
                return state.signal.wait(waiter)
            }
            if !isWaiting { waiter.resume() }
        }
    }

    func raise() { for waiter in state.withLock({ $0.signal.raise() }) { waiter.resume() } }

    func untilWaiting(_ count: Int) async throws {
        while state.withLock({ $0.waiting }) < count { try await Task.sleep(for: .milliseconds(1)) }
    }
}
