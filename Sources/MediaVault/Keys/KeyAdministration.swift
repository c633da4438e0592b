import VaultCrypto
import VaultModel
import VaultStorage

// The life of generations: created, rewrapped to, destroyed.
extension Vault {
    /// Returns the state of the keys: which resources need which generation, and the progress of unfinished key
    /// operations.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    public func keyReport() async throws -> KeyReport {
        let (store, act) = (store, keyOperationLock.act)
        return try await pool.run { try KeyReport(store, act: act) }
    }

    /// Creates a new generation, which new resources use from now on. What is held stays under the older generations
    /// until it is rewrapped.
    ///
    /// - Returns: the new state of the keys, including what the older generations still open.
    /// - Throws: ``VaultError`` with code `busy` if another key operation is running, `owned` if this process is not
    ///   the owner, `storage` or `diskFull` if the keyring or the index cannot be written.
    public func rotateKeys() async throws -> KeyReport {
        try await withKeyOperation(.rotate) { store, log in
            _ = try store.addGeneration(noting: log)
            return try KeyReport(store, act: nil)
        }
    }

    /// Wraps every resource key again, under the current generation; see ``Rewrapping``.
    public func rewrapKeys() -> Rewrapping { Rewrapping(vault: self) }

    /// Destroys the key of a generation that nothing needs any more. Does nothing if it is already retired.
    ///
    /// - Returns: the new state of the keys, which proves that the generation is retired and not needed.
    /// - Throws: ``VaultError`` with code `inUse` if titles need the generation, naming some of them; `invalidArgument`
    ///   if there is no generation with this number; `storage` if the index's write-ahead log cannot be emptied, in
    ///   which case the key still exists; `busy`, `owned`.
    public func retireGeneration(_ number: Int) async throws -> KeyReport {
        try await withKeyOperation(.retire) { store, log in
            do {
                try store.retire(number, noting: log)
            } catch let error as VaultError where error.code == .inUse {
                throw GenerationUsers.naming(number, in: store, error)
            }
            return try KeyReport(store, act: nil)
        }
    }

    /// Runs a key operation while no other one is running. `body` may block: it changes the store and writes the
    /// receipt.
    func withKeyOperation<Result: Sendable>(
        _ act: Receipt.Act, _ body: @escaping @Sendable (VaultStore, AuditLog) throws -> Result
    ) async throws -> Result {
        try requireOwner(to: "changes its keys")
        let (store, log) = (store, auditLog)
        return try await keyOperationLock.exclusively(act) {
            try await pool.run { try body(store, log) }
        }
    }

    /// Wraps every resource key again, in small transactions, so that playback is not blocked.
    func rewrap(_ tell: (RewrapProgress) -> Void) async throws {
        try requireOwner(to: "changes its keys")
        let (store, log) = (store, auditLog)
        try await keyOperationLock.exclusively(.rewrap) {
            var rewrap = try await pool.run { try store.rewrap() }
            tell(RewrapProgress(keys: 0, total: rewrap.total, report: nil))
            var isUnfinished = true
            while isUnfinished {
                try Task.checkCancellation()
                let step = rewrap
                (rewrap, isUnfinished) = try await pool.run {
                    var step = step
                    let isUnfinished = try step.step()
                    return (step, isUnfinished)
                }
                tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: nil))
            }
            let (outcome, resources) = (rewrap.outcome, Int64(rewrap.resources))
            try await pool.run {
                try store.finishRewrap()
                try log.note(.rewrap, outcome: outcome, resources: resources)
            }
            let current = store.keyring.currentGeneration
            let report = RewrapReport(
                generation: current, keys: rewrap.done, unopened: rewrap.unopened,
                older: store.keyring.activeGenerations.filter { $0 != current })
            tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: report))
        }
    }
}

extension Vault {
    /// Creates a new root key, token key and generation, in one write of the keyring.
    ///
    /// The old root key no longer opens the keyring. All playback links and the admin token become void. What is stored
    /// stays under the older generations until it is rewrapped.
    ///
    /// - Parameters:
    ///   - unlocks: open the slots to keep: their secrets are needed to seal the new root key.
    ///   - droppingOtherSlots: whether slots that none of them opens are removed.
    /// - Returns: the new state of the keys.
    /// - Throws: ``VaultError`` with code `wrongKey` if one of them opens no slot, `invalidArgument` if a slot that
    ///   must not be dropped would be locked out, with its name; the errors of reading the secrets; `busy`, `owned`,
    ///   `storage`, `diskFull`.
    public func rotateRoot(unlockedBy unlocks: [Unlock], droppingOtherSlots: Bool = false) async throws -> KeyReport {
        try await withKeyOperation(.rotateRoot) { store, log in
            let secrets = try unlocks.map { SharedSecret(try $0.secret()) }
            _ = try store.renewRoot(openedBy: secrets, droppingOthers: droppingOtherSlots, noting: log)
            return try KeyReport(store, act: nil)
        }
    }
}

/// Allows one key operation at a time on a vault. A resumed operation gives way to a requested one.
package final class KeyOperationLock: Sendable {
    private struct State {
        var act: Receipt.Act?
        /// The task of the running operation, if the operation gives way to others; otherwise nil.
        var yielding: Task<Void, any Error>?
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// The running operation; nil if none is running.
    package var act: Receipt.Act? { state.withLock { $0.act } }

    /// Runs a key operation, unless another requested one is running.
    ///
    /// - Parameter act: the operation that is reported to others as running.
    /// - Throws: ``VaultError`` with code `busy` if another operation is running, `closed` after ``end()``; any error
    ///   of `body`.
    package func exclusively<Result>(_ act: Receipt.Act, _ body: () async throws -> Result) async throws -> Result {
        while try begin(act) == .after { await waitUntilFree() }
        defer { finish() }
        return try await body()
    }

    /// Runs a key operation that no caller waits for. It is cancelled when another one is requested, and should then
    /// end soon.
    ///
    /// - Throws: as ``exclusively(_:_:)``; `CancellationError` if it gave way.
    func yielding(_ act: Receipt.Act, _ body: @escaping @Sendable () async throws -> Void) async throws {
        guard case .now(let task?) = try begin(act, giving: body) else { throw CancellationError() }
        defer { finish() }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Prevents new operations and waits for the running one, so that nothing is written after the vault has closed.
    func end() async {
        state.withLock { state in
            state.isOver = true
            state.yielding?.cancel()
        }
        await waitUntilFree()
    }

    private enum Turn: Equatable {
        /// The operation may run; the task is set if it gives way to others.
        case now(Task<Void, any Error>?)
        /// Another operation is running, but gives way now.
        case after
    }

    private func begin(_ act: Receipt.Act, giving body: (@Sendable () async throws -> Void)? = nil) throws -> Turn {
        try state.withLock { state in
            if state.isOver { throw VaultError(.closed, "the vault was closed; open it again") }
            guard let other = state.act else {
                state.act = act
                state.yielding = body.map { body in Task { try await body() } }
                return .now(state.yielding)
            }
            guard let yielding = state.yielding, body == nil else {
                throw VaultError(.busy, "\(other.title) is running on the keys of this vault; wait until it is done")
            }
            yielding.cancel()
            return .after
        }
    }

    private func waitUntilFree() async {
        await withCheckedContinuation { waiter in
            let isFree = state.withLock { state in
                if state.act != nil { state.waiting.append(waiter) }
                return state.act == nil
            }
            if isFree { waiter.resume() }
        }
    }

    private func finish() {
        let waiting = state.withLock { state in
            (state.act, state.yielding) = (nil, nil)
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume() }
    }
}

extension Vault {
    /// Resumes the key operations that a previous owner left unfinished: shreds first, then a reseal.
    ///
    /// It begins a moment after the vault was opened, so a short-lived command leaves the work to the next owner. A
    /// requested operation takes precedence over a resumed reseal.
    func resumeKeyWork(now: ContinuousClock.Instant) {
        guard resumeSchedule.withLock({ $0.begins(now: now) }) else { return }
        _ = backgroundTasks.begin { [weak self] in
            guard let self else { return }
            do {
                try Task.checkCancellation()
                let store = store
                // Look first without taking the lock, so that other key operations are not delayed for nothing.
                if let act = try await pool.run({ try store.unfinishedOperation() }) {
                    try await keyOperationLock.exclusively(act) { _ = try await self.finishShreds() }
                }
                try await resumeReseal()
                resumeSchedule.withLock { $0.finish() }
            } catch let error where error is CancellationError || (error as? VaultError)?.code == .busy {
                resumeSchedule.withLock { $0.giveWay() }
            } catch {
                // The next key operation that a caller requests throws the error.
                resumeSchedule.withLock { $0.fail(now: .now) }
            }
        }
    }
}

/// Decides when unfinished key operations of a previous owner are resumed. A pure value.
struct ResumeSchedule {
    private enum State {
        /// Due at this time; nil for now.
        case due(ContinuousClock.Instant?)
        case running
        /// Nothing is left from a previous owner; operations begun from now on are resumed by their callers.
        case done
    }

    private var state = State.due(nil)

    /// The delay before another attempt after a failure.
    private static let pause: Duration = .seconds(60)

    /// Returns whether to begin now; if so, the state changes to running.
    mutating func begins(now: ContinuousClock.Instant) -> Bool {
        guard case .due(let moment) = state, moment.map({ $0 <= now }) ?? true else { return false }
        state = .running
        return true
    }

    /// Ends the schedule: nothing is left.
    mutating func finish() { state = .done }

    /// Makes the work due again after it gave way to a requested operation.
    mutating func giveWay() { state = .due(nil) }

    /// Schedules another attempt after a failure.
    mutating func fail(now: ContinuousClock.Instant) { state = .due(now + Self.pause) }
}

/// Wraps every resource key again, under the current generation.
///
/// It begins when it is iterated, and runs in parallel to all other use of the vault. No media is read or written. The
/// last element contains the report. Leaving the loop, or cancelling its task, ends it; keys that were rewrapped stay
/// so, and the next run continues with the others.
public struct Rewrapping: AsyncSequence, Sendable {
    /// The progress.
    public typealias Element = RewrapProgress

    let vault: Vault

    /// Begins the operation.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: RewrapProgress.self, bufferingPolicy: .bufferingNewest(1))
        let vault = vault
        let task = vault.backgroundTasks.begin {
            do {
                try await vault.rewrap { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return Iterator(steps: stream.makeAsyncIterator(), task: task)
    }

    /// Delivers the progress.
    public struct Iterator: AsyncIteratorProtocol {
        var steps: AsyncThrowingStream<RewrapProgress, any Error>.Iterator
        let task: Task<Void, Never>

        /// Returns the current progress; nil after the report.
        ///
        /// - Throws: ``VaultError`` with code `busy` if another key operation is running, `owned` if this process is
        ///   not the owner, `storage` if the index cannot be written; `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> RewrapProgress? {
            if let step = try await steps.next(isolation: #isolation) { return step }
            // After cancellation the stream ends before the work does; wait for it, so that nothing is changed after
            // returning.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}
