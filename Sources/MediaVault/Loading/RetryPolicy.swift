import VaultFetch
import VaultModel

/// How long, and how often, an origin that fails is asked again. Readers that have not begun are told at once, unless the
/// origin answered lately and its connection fails.
package struct RetryPolicy: Hashable, Sendable {
    /// How long a player that has begun waits for a byte that does not come.
    package var patience: Duration = .seconds(45)
    /// The same for a download.
    package var downloadPatience: Duration = .seconds(300)
    /// The same for a player that has no answer yet, of an origin that answered lately, while connections to it fail.
    package var openingPatience: Duration = .seconds(5)
    /// How long a player that was promised everything waits where its origin is known to be gone: connections are refused,
    /// or nothing leads there. A line that is merely silent is waited for as ``patience`` says.
    package var patienceWithGone: Duration = .seconds(10)
    /// How often one resource is asked for within a minute without a byte coming of it.
    package var triesPerMinute = 30
    /// How long a range that begins with held bytes is held up for the word that its origin is out of reach: refusals come
    /// at once, silence may last.
    package var moment: Duration = .milliseconds(150)
    /// How long one that is stale is held up for the word that it has changed.
    package var shortPatience: Duration = .milliseconds(500)
    /// How long an answer to HEAD is waited for: some origins answer GET alone.
    package var headPatience: Duration = .seconds(1)
    /// The second try waits so long at most, and each further one twice as long.
    package var firstDelay: Duration = .milliseconds(250)
    package var longestDelay: Duration = .seconds(8)

    /// A longer `Retry-After` is a refusal.
    static let longestRetryAfter = 30
    /// A busy origin that names a shorter time is waited for once before a player that opens a title is told.
    static let longestRetryAfterAtFirst = 3
    /// After a try that brought less than a block the next one waits as long as a second one: a few bytes for each question
    /// are progress, but not worth a flood of questions.
    static let worthwhile: Int64 = 4 << 10

    package init() {}

    /// How long to wait after so many failures in a row without a byte between them: nothing after the first, then full
    /// jitter under a limit that doubles.
    ///
    /// - Parameter chance: from 0 to 1.
    func delay(failures: Int, chance: Double) -> Duration {
        guard failures > 1 else { return .zero }
        return min(longestDelay, firstDelay * (1 << min(failures - 2, 16))) * chance
    }

    /// Whether a failure says that the origin is busy for a moment, and who opens a title had better wait for it.
    static func isBusyForAMoment(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure, case .refused(let status, let seconds?) = failure.kind else {
            return false
        }
        return [429, 503].contains(status) && seconds <= longestRetryAfterAtFirst
    }

    /// Whether a failure says that the origin is not there: it is no silence that may end.
    static func isGone(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure else { return false }
        return failure.kind == .unreachable && failure != .noAnswer
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
