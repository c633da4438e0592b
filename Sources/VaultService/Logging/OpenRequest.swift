import Logging
import VaultModel

/// One request from its head to the last byte of its answer, counted and named. It is over when nobody holds it.
final class OpenRequest: Sendable {
    let id = RequestID()
    let metrics: ServiceMetrics
    private let began: ContinuousClock.Instant
    private let facts: Locked<Facts>

    private struct Facts {
        var method: String
        var route = "none"
        var cacheStatus: CacheStatus?
    }

    init(_ method: String, _ metrics: ServiceMetrics, at arrival: ContinuousClock.Instant = .now) {
        self.metrics = metrics
        began = arrival
        facts = Locked(Facts(method: method))
        metrics.requestBegan()
    }

    deinit { metrics.requestEnded(after: .now - began) }

    /// What it is about: the service's own word for it, never the target.
    func concerns(_ route: String) { facts.withLock { $0.route = route } }

    /// It is answered with media.
    func givesMedia(_ cacheStatus: CacheStatus) {
        facts.withLock { $0.cacheStatus = cacheStatus }
        metrics.media(cacheStatus)
    }

    /// Its answer has been given.
    func answered(_ status: Int, bytes: Int64) {
        metrics.answered(status, on: facts.withLock { $0.route })
        metrics.sent(bytes)
    }

    /// What the log tells of its answer. The target is left out: it carries a capability, and often a token in its query.
    func metadata(status: Int, bytes: Int64) -> Logger.Metadata {
        let facts = facts.withLock { $0 }
        var metadata: Logger.Metadata = [
            "method": "\(facts.method)", "route": "\(facts.route)", "status": "\(status)", "bytes": "\(bytes)",
            "seconds": "\((ContinuousClock.now - began) / .seconds(1))",
        ]
        if let cacheStatus = facts.cacheStatus { metadata["cache"] = "\(cacheStatus.value)" }
        return metadata
    }
}
