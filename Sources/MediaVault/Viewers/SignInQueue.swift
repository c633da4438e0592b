import VaultModel

/// Derives one PIN at a time: each takes much memory and a thread, and anyone who reaches the service can ask for it.
final class SignInQueue: Sendable {
    private let waiting = Locked(0)
    private let turn = AsyncLock()

    /// The most callers that wait, beside the one whose turn it is.
    static let maxWaiting = 8

    /// Runs `body` when it is its turn.
    ///
    /// - Throws: ``VaultError`` with code `busy` if too many wait.
    func run<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        let isAdmitted = waiting.withLock { count in
            guard count <= Self.maxWaiting else { return false }
            count += 1
            return true
        }
        guard isAdmitted else {
            throw VaultError(.busy, "too many people are signing in at the moment; try again in a few seconds")
        }
        defer { waiting.withLock { $0 -= 1 } }
        return try await turn.exclusively(body)
    }
}

/// The wrong tries with names that no viewer has, so that they are slowed as those of a viewer are.
///
/// They are kept in memory, and of too many the oldest are forgotten: nothing depends on them but that an answer does not
/// tell which names exist.
struct UnknownNames {
    private var tries: [String: SignInTries] = [:]
    private var order: [String] = []

    /// The most names that are remembered.
    static let maxCount = 1024

    /// Returns the wrong tries with a name.
    subscript(name: String) -> SignInTries { tries[name] ?? SignInTries() }

    /// Counts a wrong try.
    mutating func noteWrong(_ name: String, at now: Int64) {
        if tries[name] == nil {
            order.append(name)
            if order.count > Self.maxCount { tries[order.removeFirst()] = nil }
        }
        tries[name, default: SignInTries()].noteWrong(at: now)
    }
}
