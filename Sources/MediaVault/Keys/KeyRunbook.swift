package import VaultModel

/// A series of key operations that are carried out as one: the response to a leak, the revocation of the root key, or a
/// scheduled rotation.
///
/// A value that only lists the steps; it does nothing by itself.
public struct KeyRunbook: Hashable, Sendable {
    /// One key operation of a runbook.
    public enum Step: Hashable, Sendable {
        /// Creates a new generation.
        case rotate
        /// Creates a new root key, token key and generation, which also revokes all playback links and tokens.
        case rotateRoot
        /// Revokes all playback links and tokens.
        case revokeLinks
        /// Moves every resource key to the current generation.
        case rewrap
        /// Gives every resource a new key. At most this many bytes per second are resealed; nil for no limit.
        case reseal(bytesPerSecond: Int64?)
        /// Destroys all generations except the newest ones. Any that cannot be destroyed are kept, and the runbook
        /// continues.
        case retire(keeping: Int)
        /// Checks the receipts of the key operations. A fault ends the runbook.
        case audit
    }

    /// The steps to carry out.
    public let steps: [Step]
    /// Whether the runbook ends after a step that leaves something undone; otherwise the next step follows.
    let endsIfIncomplete: Bool

    private init(steps: [Step], endsIfIncomplete: Bool = false) {
        self.steps = steps
        self.endsIfIncomplete = endsIfIncomplete
    }

    /// Makes a copied keyring worthless: creates a new root key, moves every resource key to a new generation, and
    /// destroys the older generations.
    package static let rootRevocation = KeyRunbook(steps: [.rotateRoot, .rewrap, .retire(keeping: 1)])

    /// Makes leaked keys worthless, as far as the vault can.
    ///
    /// - Parameters:
    ///   - keepsRoot: whether to keep the root key, which is enough if only resource keys leaked.
    ///   - reseals: whether resources get new keys. If not, anyone who has a resource key can still open the resource's
    ///     files.
    ///   - bytesPerSecond: the maximum number of bytes resealed per second; nil for no limit.
    package static func leakResponse(
        keepsRoot: Bool = false, reseals: Bool = true, bytesPerSecond: Int64? = nil
    ) -> KeyRunbook {
        KeyRunbook(
            steps: (keepsRoot ? [.rotate, .revokeLinks] : [.rotateRoot]) + [.rewrap]
                + (reseals ? [.reseal(bytesPerSecond: bytesPerSecond)] : []) + [.retire(keeping: 1), .audit])
    }

    /// Replaces the current generation, as a scheduled rotation does. Destroys nothing if a key does not open.
    ///
    /// - Parameters:
    ///   - rotates: whether to create a new generation. If not, the runbook only finishes an earlier rotation.
    ///   - kept: the number of generations to keep, including the current one.
    package static func renewal(rotates: Bool = true, keeping kept: Int = 2) -> KeyRunbook {
        KeyRunbook(steps: (rotates ? [.rotate] : []) + [.rewrap, .retire(keeping: kept)], endsIfIncomplete: true)
    }

    /// The runbook without its rotation step, for a vault whose rotation is already done.
    ///
    /// The links may not have been revoked yet, so that step stays; revoking them twice is harmless.
    package var resumed: KeyRunbook {
        KeyRunbook(steps: steps.filter { ![.rotate, .rotateRoot].contains($0) }, endsIfIncomplete: endsIfIncomplete)
    }

    /// Returns whether the receipts show that `generation` was created by a rotation that does at least what this
    /// runbook's rotation does.
    ///
    /// If the runbook replaces the root key, a rotation that only created a generation, such as a scheduled one, does
    /// not count.
    package func hasRotated(to generation: Int, _ receipts: [Receipt]) -> Bool {
        let rotations: [Receipt.Act] = steps.contains(.rotateRoot) ? [.rotateRoot] : [.rotate, .rotateRoot]
        return receipts.contains { $0.generation == generation && rotations.contains($0.act) }
    }

    /// Returns the generations to retire, in ascending order.
    ///
    /// - Parameters:
    ///   - generations: the generations that are not yet retired, in ascending order.
    ///   - kept: the number of newest generations to keep; at least one is kept.
    static func generations(toRetireOf generations: [Int], keeping kept: Int) -> [Int] {
        Array(generations.dropLast(max(1, kept)))
    }
}

/// The progress of a runbook.
public struct RunbookProgress: Hashable, Sendable {
    /// The outcome of a finished step.
    public enum Outcome: Hashable, Sendable {
        /// The step is completely done.
        case done
        /// The rewrap left this number of resource keys unchanged, because they do not open.
        case unopened(keys: Int)
        /// The reseal found damage, or resources that keep an older key.
        case damaged(ResealReport)
        /// These generations were destroyed. For each generation that could not be destroyed, `kept` has an error, such
        /// as `inUse`.
        case retired([Int], kept: [VaultError])

        /// Whether the step left nothing undone.
        public var isComplete: Bool {
            switch self {
            case .done: true
            case .unopened, .damaged: false
            case .retired(_, let kept): kept.isEmpty
            }
        }
    }

    /// A step that has finished.
    public struct Ended: Hashable, Sendable {
        /// The finished step.
        public let step: KeyRunbook.Step
        /// The step's outcome.
        public let outcome: Outcome
    }

    /// The finished steps, in order.
    public private(set) var ended: [Ended] = []
    /// The step being carried out; nil between two steps and after the last one.
    public private(set) var step: KeyRunbook.Step?
    /// How much of the step is done: the number of keys in a rewrap, or of bytes in a reseal.
    public private(set) var done: Int64 = 0
    /// The total for the step, as counted at its beginning; 0 if it cannot be measured.
    public private(set) var total: Int64 = 0

    /// Creates the progress before the first step.
    package init() {}

    /// Whether the steps finished so far left nothing undone.
    public var isComplete: Bool { ended.allSatisfy(\.outcome.isComplete) }

    fileprivate mutating func begin(_ next: KeyRunbook.Step) { (step, done, total) = (next, 0, 0) }

    fileprivate func advanced(_ done: Int64, of total: Int64) -> RunbookProgress {
        var progress = self
        (progress.done, progress.total) = (done, total)
        return progress
    }

    fileprivate mutating func end(_ finished: KeyRunbook.Step, _ outcome: Outcome) {
        ended.append(Ended(step: finished, outcome: outcome))
        (step, done, total) = (nil, 0, 0)
    }
}

/// The key operations of a runbook, carried out either by a vault in this process or by the service that owns the
/// vault.
package protocol KeyOperations {
    /// A function that is told how much of an operation is done, and its total.
    typealias Tell = (Int64, Int64) async throws -> Void

    /// The generations that are not retired, in ascending order; the last is the current one.
    func generations() async throws -> [Int]
    /// Creates a new generation.
    func rotate() async throws
    /// Creates a new root key, token key and generation.
    func rotateRoot() async throws
    /// Revokes all playback links and tokens.
    func revokeLinks() async throws
    /// Rewraps every resource key, and returns the number of keys that do not open.
    func rewrap(_ tell: Tell) async throws -> Int
    /// Reseals every resource.
    func reseal(bytesPerSecond: Int64?, _ tell: Tell) async throws -> ResealReport
    /// Retires a generation.
    func retire(_ generation: Int) async throws
    /// Checks the audit log, and returns its receipts and whether it is sound.
    func audit() async throws -> (receipts: [Receipt], isSound: Bool)
}

extension KeyOperations {
    /// Returns the steps left of a runbook whose rotation is already done.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if no receipt says that the runbook's rotation created the
    ///   current generation, or `integrity` if the audit log has faults.
    package func resumed(_ runbook: KeyRunbook) async throws -> KeyRunbook {
        let (current, log) = (try await generations().last ?? 0, try await audit())
        guard log.isSound else {
            throw VaultError(.integrity, "the audit log has faults, so it does not show whether keys were rotated")
        }
        guard runbook.hasRotated(to: current, log.receipts) else {
            let rotation = runbook.steps.contains(.rotateRoot) ? "a rotation of the root key" : "a rotation"
            throw VaultError(
                .invalidArgument,
                "nothing to resume: no receipt says that \(rotation) created generation \(current); begin at the start")
        }
        return runbook.resumed
    }

    /// Carries out a runbook. Keys that do not open and generations that cannot be destroyed are left as they are. The
    /// other work continues, unless the runbook ends after an incomplete step.
    ///
    /// - Parameters:
    ///   - runbook: the runbook to carry out.
    ///   - willBegin: called before each step. If it throws, the runbook ends before that step.
    ///   - tell: called when a step begins, advances or ends.
    /// - Returns: the outcome of each step.
    package func carryOut(
        _ runbook: KeyRunbook, willBegin: (KeyRunbook.Step) async throws -> Void = { _ in },
        tell: (RunbookProgress) async throws -> Void
    ) async throws -> RunbookProgress {
        var progress = RunbookProgress()
        for step in runbook.steps {
            try Task.checkCancellation()
            try await willBegin(step)
            progress.begin(step)
            try await tell(progress)
            let begun = progress
            let outcome = try await perform(step) { try await tell(begun.advanced($0, of: $1)) }
            progress.end(step, outcome)
            try await tell(progress)
            if runbook.endsIfIncomplete, !outcome.isComplete { break }
        }
        return progress
    }

    private func perform(_ step: KeyRunbook.Step, _ tell: Tell) async throws -> RunbookProgress.Outcome {
        switch step {
        case .rotate: try await rotate()
        case .rotateRoot: try await rotateRoot()
        case .revokeLinks: try await revokeLinks()
        case .rewrap:
            let unopened = try await rewrap(tell)
            if unopened > 0 { return .unopened(keys: unopened) }
        case .reseal(let rate):
            let report = try await reseal(bytesPerSecond: rate, tell)
            if report.damage + report.problems > 0 { return .damaged(report) }
        case .retire(let kept): return try await retireAll(keeping: kept)
        case .audit:
            guard try await audit().isSound else {
                throw VaultError(.integrity, "the audit log has faults; check the receipts")
            }
        }
        return .done
    }

    /// Destroys the older generations. Tries each of them, even if another could not be destroyed.
    private func retireAll(keeping kept: Int) async throws -> RunbookProgress.Outcome {
        var (destroyed, errors): ([Int], [VaultError]) = ([], [])
        for generation in KeyRunbook.generations(toRetireOf: try await generations(), keeping: kept) {
            do {
                try await retire(generation)
                destroyed.append(generation)
            } catch var error as VaultError {
                try Task.checkCancellation()
                // An `inUse` error already names its generation; other errors do not.
                if error.code != .inUse {
                    error.message = "generation \(generation) was not destroyed: \(error.message)"
                }
                errors.append(error)
            }
        }
        return .retired(destroyed, kept: errors)
    }
}
