import HTTPTypes
import Logging
import Synchronization
import VaultModel

/// A request, with its id, from the arrival of its head until the last byte of its answer.
///
/// The request is counted as open until the last reference to this object is released.
final class OpenRequest: Sendable {
    let id = RequestID()
    let metrics: ServiceMetrics
    /// The service's own name for the route, never the target.
    let route: String
    /// The request's method if the service knows it, else `other`.
    let method: String
    /// Whether the request lasts until its client disconnects, in which case its duration is meaningless.
    private let isFeed: Bool
    private let began: ContinuousClock.Instant
    private let kept = Locked<(any Sendable)?>(nil)

    init(
        _ method: String, _ route: String, isFeed: Bool = false, _ metrics: ServiceMetrics,
        at arrival: ContinuousClock.Instant = .now
    ) {
        self.method = method
        self.route = route
        self.isFeed = isFeed
        self.metrics = metrics
        began = arrival
        metrics.requestBegan()
    }

    /// Retains a value until the request has ended.
    func keep(_ value: any Sendable) { kept.withLock { $0 = value } }

    deinit { metrics.requestEnded(on: route, after: isFeed ? nil : .now - began) }

    /// Returns the answer's metadata for the log.
    ///
    /// The target is omitted, because it contains a capability, and its query often contains a token.
    func metadata(status: Int, bytes: Int64, of cacheStatus: CacheStatus?) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "method": "\(method)", "route": "\(route)", "status": .number(status), "bytes": .number(bytes),
            "seconds": .seconds(.now - began),
        ]
        if let cacheStatus { metadata["cache"] = "\(cacheStatus.value)" }
        return metadata
    }
}

/// The id that identifies a request in the log and in its answer.
///
/// The ids of a process have a random prefix, which distinguishes the log lines of two runs.
struct RequestID: Hashable, Sendable, CustomStringConvertible {
    private let number: Int

    private static let mark = String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
    private static let last = Atomic<Int>(0)

    init() { number = Self.last.add(1, ordering: .relaxed).newValue }

    var description: String { "\(Self.mark)-\(number)" }
}

extension HTTPField.Name {
    /// The field that carries a request's id. The name is valid, so the fallback is never used.
    static let requestID = HTTPField.Name("X-Request-Id") ?? .server
}
