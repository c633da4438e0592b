import VaultModel

/// How long, and how often, an origin that fails is asked again. Readers that have not begun are told at once.
package struct RetryPolicy: Hashable, Sendable {
    /// How long a player that has begun waits for a byte that does not come.
    package var patience: Duration = .seconds(45)
    /// The same for a download.
    package var downloadPatience: Duration = .seconds(300)
    /// How often one resource is asked for within a minute without much coming of it.
    package var triesPerMinute = 30
    /// How long a range that begins with held bytes is held up for the word that its origin is out of reach: refusals come
    /// at once, silence may last.
    package var moment: Duration = .milliseconds(150)
    /// How long one that is stale is held up for the word that it has changed.
    package var shortPatience: Duration = .milliseconds(500)
    /// The second try waits so long at most, and each further one twice as long.
    package var firstDelay: Duration = .milliseconds(250)
    package var longestDelay: Duration = .seconds(8)

    /// A longer `Retry-After` is a refusal.
    static let longestRetryAfter = 30
    /// A try that brought so much was worth it: a connection that ends now and then is no trouble.
    static let worthwhile: Int64 = 1 << 20

    package init() {}

    /// How long to wait after so many failures in a row without a byte between them: nothing after the first, then full
    /// jitter under a limit that doubles.
    ///
    /// - Parameter chance: from 0 to 1.
    func delay(failures: Int, chance: Double) -> Duration {
        guard failures > 1 else { return .zero }
        return min(longestDelay, firstDelay * (1 << min(failures - 2, 16))) * chance
    }

    /// Whether asking again may help.
    static func isWorthAnotherTry(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure else { return false }
        switch failure.kind {
        case .lied: return false
        case .unreachable, .interrupted: return true
        case .refused(let status, let retryAfter):
            return [408, 429, 500, 502, 503, 504].contains(status) && retryAfter ?? 0 <= longestRetryAfter
        }
    }
}
