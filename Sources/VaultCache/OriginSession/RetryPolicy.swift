import VaultFetch
import VaultModel

/// How long and how often a failing origin is asked again, and how long readers wait for it.
///
/// A reader whose answer has not begun is told of a failure at once, unless the origin answered recently and
/// connections to it now fail.
///
/// The vault uses a duration of less than zero as zero, and one of more than a day as a day.
public struct RetryPolicy: Hashable, Sendable {
    /// How long a player whose answer has begun waits for a missing byte.
    public var patience: Duration = .seconds(45)
    /// How long a download waits for a missing byte.
    public var downloadTimeLimit: Duration = .seconds(300)
    /// How long a player waits before its answer has begun, while connections to a recently reachable origin fail; at
    /// most ``patience``.
    public var openingTimeLimit: Duration = .seconds(5)
    /// How long a player that was promised the whole resource waits for an origin that is known to be gone.
    ///
    /// An origin counts as gone if it refuses connections or there is no route to it. If it is merely silent,
    /// ``patience`` applies.
    public var goneTimeLimit: Duration = .seconds(10)
    /// How long an app's own transport may stay silent. The vault's own transport has shorter built-in limits.
    public var silenceLimit: Duration = .seconds(60)
    /// The maximum number of attempts per minute for one resource that bring no byte: 1 to 1000. The vault uses the
    /// nearest of these in place of any other number.
    public var attemptsPerMinute = 30
    /// The maximum wait before the second retry; the first one is immediate. Each further retry may wait twice as long,
    /// up to ``longestDelay``.
    public var firstDelay: Duration = .milliseconds(250)
    /// The maximum wait before any retry. An origin that asks for more with `Retry-After` gets it.
    public var longestDelay: Duration = .seconds(8)
    /// The maximum wait of a queued download after its first failure. Each further wait may be twice as long, up to
    /// ``longestQueueDelay``. The vault waits for a whole number of seconds, at least one.
    public var firstQueueDelay: Duration = .seconds(5)
    /// The maximum wait of a queued download after any failure.
    public var longestQueueDelay: Duration = .seconds(900)
    /// How long the answer to a range that begins with held bytes is delayed to find out whether its origin is
    /// unreachable.
    ///
    /// A refused connection shows at once, but silence may last.
    package var moment: Duration = .milliseconds(150)
    /// The maximum time for which a stale resource's first byte is delayed to find out whether the resource has
    /// changed.
    package var revalidationTimeLimit: Duration = .seconds(3)
    /// How long a stale resource with gaps is delayed to find out whether the resource has changed.
    package var staleTimeLimit: Duration = .milliseconds(500)
    /// How long to wait for an answer to HEAD, because some origins answer only GET.
    package var headTimeLimit: Duration = .seconds(1)
    /// How long to wait for answers from an origin's other nodes. The answer that raised the question is held up
    /// meanwhile.
    package var probeTimeLimit: Duration = .seconds(2)

    /// The longest `Retry-After`, in seconds, that readers wait for; a longer one counts as a refusal.
    static let longestRetryAfter = 30
    /// The longest `Retry-After`, in seconds, for which an opening waits once for a busy origin.
    static let longestRetryAfterAtFirst = 3
    /// The fewest bytes that make an attempt worthwhile. After an attempt that brought fewer, the next one waits for
    /// ``firstDelay``.
    ///
    /// A few bytes per request are progress, but they do not justify a flood of requests.
    static let worthwhile: Int64 = 4 << 10

    /// Creates the policy that a vault has unless it is given another.
    public init() {}

    /// The policy with each value within its bounds, as a vault uses it.
    package var bounded: RetryPolicy {
        var policy = self
        for value in Self.durations {
            policy[keyPath: value] = min(max(.zero, self[keyPath: value]), .seconds(86_400))
        }
        policy.attemptsPerMinute = min(max(1, attemptsPerMinute), 1000)
        return policy
    }

    private static let durations: [any WritableKeyPath<RetryPolicy, Duration> & Sendable] = [
        \.patience, \.downloadTimeLimit, \.openingTimeLimit, \.goneTimeLimit, \.silenceLimit, \.firstDelay,
        \.longestDelay, \.firstQueueDelay, \.longestQueueDelay,
    ]

    /// Returns how long to wait after a number of consecutive failures with no new byte between them.
    ///
    /// The delay is zero after the first failure. After that it is random, below a limit that doubles each time (full
    /// jitter).
    ///
    /// - Parameter chance: a random number from 0 to 1.
    func delay(failures: Int, chance: Double) -> Duration {
        guard failures > 1 else { return .zero }
        return min(longestDelay, firstDelay * (1 << min(failures - 2, 16))) * chance
    }

    /// Returns whether a failure shows that the origin is only briefly busy, so that an opening should wait for it.
    static func isBrieflyBusy(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure, case .refused(let status, let seconds?) = failure.kind else {
            return false
        }
        return [429, 503].contains(status) && seconds <= longestRetryAfterAtFirst
    }

    /// Returns whether a failure shows that the origin is gone rather than temporarily silent.
    static func isGone(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure else { return false }
        return failure.kind == .unreachable && failure != .noResponse
    }

    /// Returns whether asking again may help.
    static func isWorthAnotherTry(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure else { return false }
        switch failure.kind {
        case .invalidResponse: return false
        case .unreachable, .interrupted: return true
        case .refused(let status, let retryAfter):
            return [408, 429, 500, 502, 503, 504].contains(status) && retryAfter ?? 0 <= longestRetryAfter
        }
    }
}
