import VaultModel

/// Limits how many large manifests are read, parsed and rewritten at a time.
///
/// Handling a 32 MiB manifest takes several times its size in memory for seconds, and a thread of the pool that all
/// readers share. Small manifests need no seat.
package final class ManifestSemaphore: Sendable {
    private struct Waiting {
        let id: Int
        let waiter: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var taken = 0
        var waiting: [Waiting] = []
        var last = 0
    }

    private let seats: Int
    private let state = Locked(State())

    /// The largest manifest that needs no seat.
    package static let smallBytes = 256 << 10

    /// - Parameter seats: the maximum number of large manifests at a time. The default is half the threads of the
    ///   smallest thread pool, so that the other half can open held bytes.
    init(seats: Int = 2) { self.seats = seats }

    /// Whether any manifest is waiting for a seat.
    fileprivate var isContested: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Waits for a seat, first come, first served.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; then no seat is taken.
    fileprivate func enter() async throws {
        let id = nextID()
        let isIn = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in wait(id, waiter) }
        } onCancel: {
            cancel(id)
        }
        guard isIn else { throw CancellationError() }
    }

    private func nextID() -> Int {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    private func wait(_ id: Int, _ waiter: CheckedContinuation<Bool, Never>) {
        let isIn = state.withLock { state -> Bool? in
            guard !Task.isCancelled else { return false }
            guard state.taken >= seats else {
                state.taken += 1
                return true
            }
            state.waiting.append(Waiting(id: id, waiter: waiter))
            return nil
        }
        if let isIn { waiter.resume(returning: isIn) }
    }

    private func cancel(_ id: Int) {
        let waiter = state.withLock { state in
            state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).waiter }
        }
        waiter?.resume(returning: false)
    }

    fileprivate func leave() {
        let next = state.withLock { state -> Waiting? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.taken -= 1
            return nil
        }
        next?.waiter.resume(returning: true)
    }
}

/// One manifest's seat, which is released when the last reference to this object is.
package final class ManifestSeat: Sendable {
    private let room: ManifestSemaphore
    private let since = Locked<ContinuousClock.Instant?>(nil)

    /// How long a manifest may take to arrive while other manifests wait for a seat.
    private static let patience: Duration = .seconds(30)

    package init(in room: ManifestSemaphore) { self.room = room }

    deinit { if start != nil { room.leave() } }

    /// Returns once `count` bytes of the manifest may be in memory. If that makes the manifest large and it has no seat
    /// yet, waits for one.
    ///
    /// - Returns: false if the manifest is arriving too slowly and others are waiting for a seat.
    /// - Throws: `CancellationError`.
    package func mayTake(_ count: Int) async throws -> Bool {
        guard count > ManifestSemaphore.smallBytes else { return true }
        guard let start else {
            try await room.enter()
            begin()
            return true
        }
        return .now - start < Self.patience || !room.isContested
    }

    private var start: ContinuousClock.Instant? { since.withLock { $0 } }

    private func begin() { since.withLock { $0 = .now } }
}
