import VaultModel

/// Limits how many large manifests are read, parsed and rewritten at a time.
///
/// A 32 MiB manifest takes several times its size in memory for seconds, and a thread of the pool that all readers
/// share. Small manifests need no seat.
final class ManifestSemaphore: Sendable {
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
    static let smallBytes = 256 << 10

    /// - Parameter seats: the maximum number of large manifests at a time. The default is half of the smallest thread
    ///   pool, so that the other half can open held bytes.
    init(seats: Int = 2) { self.seats = seats }

    /// Whether a manifest waits for a seat.
    fileprivate var isContested: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Waits for a seat, in turn.
    ///
    /// - Throws: `CancellationError`, without taking a seat.
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

/// One manifest's seat, released with its last reference.
final class ManifestSeat: Sendable {
    private let room: ManifestSemaphore
    private let since = Locked<ContinuousClock.Instant?>(nil)

    /// How long a manifest may take to arrive while others wait for its seat.
    private static let patience: Duration = .seconds(30)

    init(in room: ManifestSemaphore) { self.room = room }

    deinit { if start != nil { room.leave() } }

    /// Returns once so many bytes may be in memory, waiting for a seat if a large manifest has none yet.
    ///
    /// - Returns: false if the manifest arrives too slowly while others wait.
    /// - Throws: `CancellationError`.
    func mayTake(_ count: Int) async throws -> Bool {
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
