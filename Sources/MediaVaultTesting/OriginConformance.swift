public import VaultModel

/// The checks of an app's own transport: they try everything that ``Origin`` requires, against a server on the loopback
/// interface.
///
/// It is in the product `MediaVaultTesting`, for an app's tests, and knows no test framework: a test records what the
/// report says (<doc:GettingStarted>). The checks need no network. A transport that conforms passes all of them within
/// seconds.
public struct OriginConformance: Sendable {
    let limit: Duration
    let makeOrigin: @Sendable (Set<String>) async -> any Origin

    /// Creates the checks of a transport.
    ///
    /// - Parameters:
    ///   - limit: how long a transport may take to do one thing, such as to end a cancelled request; from 100
    ///     milliseconds to ten minutes, and otherwise the nearest of these. Only a transport that does not conform, or
    ///     a very busy machine, reaches it.
    ///   - makeOrigin: makes the transport, anew for each requirement. It is given the hosts that redirects, and
    ///     requests with ``NetworkReach/publicOnly``, may lead to although their addresses are private: `127.0.0.1` and
    ///     `localhost`, or none. A transport that cannot make exceptions ignores them, and the requirements that need
    ///     them are ``Report/untried``.
    public init(
        limit: Duration = .seconds(20),
        makeOrigin: @escaping @Sendable (_ allowedHosts: Set<String>) async -> any Origin
    ) {
        self.limit = min(max(limit, .milliseconds(100)), .seconds(600))
        self.makeOrigin = makeOrigin
    }

    /// Tries requirements, one after the other.
    ///
    /// - Parameter requirements: what to try; by default everything.
    /// - Returns: what was found. If the task is cancelled, the rest is ``Report/untried``.
    @concurrent public func run(_ requirements: [Requirement] = Requirement.allCases) async -> Report {
        var report = Report()
        for requirement in requirements {
            guard !Task.isCancelled else {
                report.untried[requirement] = Self.cancelled
                continue
            }
            let trial = Trial(requirement: requirement, limit: limit, makeOrigin: makeOrigin)
            await trial.carryOut()
            guard !Task.isCancelled else {
                report.untried[requirement] = Self.cancelled
                continue
            }
            report.findings += trial.findings
            if let reason = trial.obstacle { report.untried[requirement] = reason }
        }
        return report
    }

    private static let cancelled = "the task was cancelled"
}
