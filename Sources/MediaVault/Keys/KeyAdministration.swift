import VaultCrypto
import VaultModel
import VaultStorage

// The life of generations: made, moved to, destroyed.
extension Vault {
    /// How the keys stand: what needs which generation, and how far an act is that was not finished.
    ///
    /// - Throws: ``VaultError`` where the index cannot be read.
    public func keyReport() async throws -> KeyReport {
        let (store, act) = (store, keyWork.act)
        return try await pool.run { try KeyReport(store, act: act) }
    }

    /// Makes a new generation, which new resources use from now on. What is held stays under the older ones until it is
    /// rewrapped.
    ///
    /// - Returns: how the keys stand now: what the older ones still open.
    /// - Throws: ``VaultError`` with code `busy` where another act works on the keys, `owned` where this is not the
    ///   owner, `storage` or `diskFull` where keyring or index cannot be written.
    public func rotateKeys() async throws -> KeyReport {
        try await changingKeys(.rotate) { store, log in
            _ = try store.addGeneration(noting: log)
            return try KeyReport(store, act: nil)
        }
    }

    /// Wraps every resource key anew under the current generation; see ``Rewrapping``.
    public func rewrapKeys() -> Rewrapping { Rewrapping(vault: self) }

    /// Destroys the key of a generation that nothing needs any more. One that is gone already stays gone.
    ///
    /// - Returns: how the keys stand now: the proof that it is gone, and nothing needs it.
    /// - Throws: ``VaultError`` with code `inUse` where something needs it, with what; `invalidArgument` where there is
    ///   none of this number; `storage` where the index's log cannot be emptied, and the key is still there; `busy`,
    ///   `owned`.
    public func retireGeneration(_ number: Int) async throws -> KeyReport {
        try await changingKeys(.retire) { store, log in
            do {
                try store.retire(number, noting: log)
            } catch let error as VaultError where error.code == .inUse {
                throw GenerationNeeds.naming(number, in: store, error)
            }
            return try KeyReport(store, act: nil)
        }
    }

    /// Does an act on the keys, while no other does. What it does to the store, and the receipt for it, are written where
    /// that may block.
    func changingKeys<Result: Sendable>(
        _ act: Receipt.Act, _ body: @escaping @Sendable (VaultStore, AuditLog) throws -> Result
    ) async throws -> Result {
        try requireOwner(to: "changes its keys")
        let (store, log) = (store, auditLog)
        return try await keyWork.exclusively(act) {
            try await pool.run { try body(store, log) }
        }
    }

    /// Wraps every resource key anew, a transaction at a time, so that whoever plays has their turn between.
    func rewrap(_ tell: (RewrapProgress) -> Void) async throws {
        try requireOwner(to: "changes its keys")
        let (store, log) = (store, auditLog)
        try await keyWork.exclusively(.rewrap) {
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
    /// Makes a new root key, a new token key and a new generation, in one write of the keyring: who knows the old root key
    /// does not open the keyring any more. All playback addresses and the admin token are void. What is stored stays under
    /// the older generations until it is rewrapped.
    ///
    /// - Parameters:
    ///   - unlocks: what opens the slots that stay: their secrets are needed to seal the new root key.
    ///   - droppingOtherSlots: whether the slots that none of them opens go.
    /// - Returns: how the keys stand now.
    /// - Throws: ``VaultError`` with code `wrongKey` where one opens no slot, `invalidArgument` where a slot would be locked
    ///   out that may not, with its name; those of reading the secrets; `busy`, `owned`, `storage`, `diskFull`.
    public func rotateRoot(unlockedBy unlocks: [Unlock], droppingOtherSlots: Bool = false) async throws -> KeyReport {
        try await changingKeys(.rotateRoot) { store, log in
            let secrets = try unlocks.map { SharedSecret(try $0.secret()) }
            _ = try store.renewRoot(openedBy: secrets, droppingOthers: droppingOtherSlots, noting: log)
            return try KeyReport(store, act: nil)
        }
    }
}

/// Lets one act at a time work on the keys of a vault. What goes on with an act that was broken off gives way to one that
/// is asked for.
package final class KeyOperationLock: Sendable {
    private struct State {
        var act: Receipt.Act?
        /// What has the act that works give way; nil where it does not.
        var yielding: Task<Void, any Error>?
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// The act that works now; nil where none does.
    package var act: Receipt.Act? { state.withLock { $0.act } }

    /// Runs an act, unless another one works that was asked for.
    ///
    /// - Parameter act: what others are told that runs.
    /// - Throws: ``VaultError`` with code `busy` where another act works, `closed` after ``end()``; what `body` throws.
    package func exclusively<Result>(_ act: Receipt.Act, _ body: () async throws -> Result) async throws -> Result {
        while try begin(act) == .after { await waitUntilFree() }
        defer { finish() }
        return try await body()
    }

    /// Runs an act that nobody waits for: it is cancelled when another is asked for, and should end soon then.
    ///
    /// - Throws: as ``exclusively(_:_:)``; `CancellationError` where it gave way.
    func yielding(_ act: Receipt.Act, _ body: @escaping @Sendable () async throws -> Void) async throws {
        guard case .now(let task?) = try begin(act, giving: body) else { throw CancellationError() }
        defer { finish() }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Lets no act begin any more, and returns when none runs: what it writes must not come after the vault has closed.
    func end() async {
        state.withLock { state in
            state.isOver = true
            state.yielding?.cancel()
        }
        await waitUntilFree()
    }

    private enum Turn: Equatable {
        /// With the task of an act that gives way.
        case now(Task<Void, any Error>?)
        /// Another one works, and gives way now.
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
                throw VaultError(.busy, "\(other.command) works on the keys of this vault; wait until it is done")
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
    /// Goes on with what an owner before this one left undone of acts on the keys: shreds first, then a reseal. Begins a
    /// moment after the vault was opened: a command that is done before leaves it to the next. An act that is asked for
    /// comes before a reseal that is gone on with.
    func resumeKeyWork(now: ContinuousClock.Instant) {
        guard resumption.withLock({ $0.begins(now: now) }) else { return }
        _ = chores.begin { [weak self] in
            guard let self else { return }
            do {
                try Task.checkCancellation()
                let store = store
                // Nobody is kept from the keys for a look.
                if let act = try await pool.run({ try store.unfinishedAct() }) {
                    try await keyWork.exclusively(act) { _ = try await self.finishShreds() }
                }
                try await resumeReseal()
                resumption.withLock { $0.finish() }
            } catch let error where error is CancellationError || (error as? VaultError)?.code == .busy {
                resumption.withLock { $0.giveWay() }
            } catch {
                // Whoever acts on the keys next is told why.
                resumption.withLock { $0.fail(now: .now) }
            }
        }
    }
}

/// When what an owner before this one left undone of acts on the keys is gone on with. A pure value.
struct ResumeSchedule {
    private enum State {
        /// Due from a moment on.
        case due(ContinuousClock.Instant?)
        case running
        /// Nothing is left: whoever begins an act from now on goes on with it.
        case done
    }

    private var state = State.due(nil)

    /// How long after a failure it is tried again.
    private static let pause: Duration = .seconds(60)

    /// Whether it is to be begun now; it counts as begun then.
    mutating func begins(now: ContinuousClock.Instant) -> Bool {
        guard case .due(let moment) = state, moment.map({ $0 <= now }) ?? true else { return false }
        state = .running
        return true
    }

    /// Nothing is left.
    mutating func finish() { state = .done }

    /// It gave way to an act that was asked for: it goes on after that.
    mutating func giveWay() { state = .due(nil) }

    /// It failed, and is tried again in a while.
    mutating func fail(now: ContinuousClock.Instant) { state = .due(now + Self.pause) }
}

/// Every resource key is wrapped anew under the current generation: begins when it is iterated, and goes on beside
/// everything else that the vault does. No media is read or written. The last element carries the report.
///
/// Leaving the loop, or cancelling its task, ends it; what is done stays done, and the next goes on with the rest.
public struct Rewrapping: AsyncSequence, Sendable {
    /// How far it is.
    public typealias Element = RewrapProgress

    let vault: Vault

    /// Begins it.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: RewrapProgress.self, bufferingPolicy: .bufferingNewest(1))
        let vault = vault
        let task = vault.chores.begin {
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

    /// Tells how far it is.
    public struct Iterator: AsyncIteratorProtocol {
        var steps: AsyncThrowingStream<RewrapProgress, any Error>.Iterator
        let task: Task<Void, Never>

        /// How far it is now; nil after the report.
        ///
        /// - Throws: ``VaultError`` with code `busy` where another act works on the keys, `owned` where this is not the
        ///   owner, `storage` where the index refuses; `CancellationError` where the task was cancelled.
        public mutating func next() async throws -> RewrapProgress? {
            if let step = try await steps.next(isolation: #isolation) { return step }
            // Cancelled, the stream ends before the work does; nothing is touched any more when this returns.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}
