import VaultCache
import VaultModel
import VaultStorage

/// Resumes the key operations that a previous owner left unfinished.
final class UnfinishedOperations: Sendable {
    private let environment: KeyOperationEnvironment
    private let schedule = Locked(ResumeSchedule())

    init(_ environment: KeyOperationEnvironment) { self.environment = environment }

    /// Resumes the key operations that a previous owner left unfinished: shreds first, then a reseal.
    ///
    /// The work begins a moment after the vault was opened, so a short-lived command leaves it to the next owner. A
    /// requested operation takes precedence over a resumed reseal.
    func resume(now: ContinuousClock.Instant) {
        guard schedule.withLock({ $0.begins(now: now) }) else { return }
        _ = environment.tasks.begin { [weak self] in
            guard let self else { return }
            do {
                try Task.checkCancellation()
                let (environment, store) = (environment, environment.store)
                // First check without taking the lock, so that other key operations are not delayed needlessly.
                if let act = try await environment.pool.run({ try Shreds(store).unfinishedOperation() }) {
                    try await environment.lock.exclusively(act) {
                        _ = try await ShredOperation(environment: environment).finish()
                    }
                }
                try await ResealOperation(environment: environment).resume()
                schedule.withLock { $0.finish() }
            } catch let error where error is CancellationError || (error as? VaultError)?.code == .busy {
                schedule.withLock { $0.giveWay() }
            } catch {
                // The next key operation that a caller requests will throw the error.
                schedule.withLock { $0.fail(now: .now) }
            }
        }
    }
}

/// Decides when to resume key operations that a previous owner left unfinished. A pure value.
struct ResumeSchedule {
    private enum State {
        /// The work is due at this time; nil means at once.
        case due(ContinuousClock.Instant?)
        case running
        /// A previous owner's operations are all finished. Callers resume the operations that they begin themselves.
        case done
    }

    private var state = State.due(nil)

    /// How long to wait after a failure before another attempt.
    private static let pause: Duration = .seconds(60)

    /// Returns whether to begin now. If so, the state changes to running.
    mutating func begins(now: ContinuousClock.Instant) -> Bool {
        guard case .due(let moment) = state, moment.map({ $0 <= now }) ?? true else { return false }
        state = .running
        return true
    }

    /// Ends the schedule, because no unfinished work is left.
    mutating func finish() { state = .done }

    /// Makes the work due again at once, after it gave way to a requested operation.
    mutating func giveWay() { state = .due(nil) }

    /// Schedules another attempt later, after a failure.
    mutating func fail(now: ContinuousClock.Instant) { state = .due(now + Self.pause) }
}
