import CoreMetrics
import MediaVault
import VaultModel

/// The metrics of a service; those of its vault are added when they are requested.
final class ServiceMetrics: Sendable {
    private let registry = MetricRegistry()
    private let openRequests: Meter
    private let served: Counter
    private let hits: Counter
    private let fills: [CacheStatus.Fill: Counter]
    private let duration: Timer
    /// The counters of answers, created on first use so that names are not built for each answer.
    private let answers = Locked<[AnswerKind: Counter]>([:])

    private struct AnswerKind: Hashable {
        let route: String
        let status: Int
    }

    init() {
        openRequests = Meter(label: "mediavault_open_requests", factory: registry)
        served = Counter(label: "mediavault_bytes_served_total", factory: registry)
        hits = Counter(label: "mediavault_hits_total", factory: registry)
        duration = Timer(label: "mediavault_request_seconds", factory: registry)
        fills = Dictionary(
            uniqueKeysWithValues: CacheStatus.Fill.allCases.map { [registry] fill in
                let labels = [("kind", fill.rawValue)]
                return (fill, Counter(label: "mediavault_fills_total", dimensions: labels, factory: registry))
            })
    }

    // MARK: Counting

    func requestBegan() { openRequests.increment() }

    func requestEnded(after time: Duration) {
        openRequests.decrement()
        duration.recordNanoseconds(Int64(time / .nanoseconds(1)))
    }

    /// Counts an answer and the bytes of its body.
    ///
    /// - Parameter cacheStatus: how its media was obtained; nil if it has none.
    func answered(_ status: Int, on route: String, bytes: Int64, of cacheStatus: CacheStatus?) {
        served.increment(by: bytes)
        if let fill = cacheStatus?.fill { fills[fill]?.increment() } else if cacheStatus != nil { hits.increment() }
        let kind = AnswerKind(route: route, status: status)
        answers.withLock { answers in
            if let counter = answers[kind] { return counter.increment() }
            let counter = Counter(
                label: "mediavault_answers_total", dimensions: [("route", route), ("status", "\(status)")],
                factory: registry)
            answers[kind] = counter
            counter.increment()
        }
    }

    func failed(_ error: String) {
        Counter(label: "mediavault_errors_total", dimensions: [("class", error)], factory: registry).increment()
    }

    // MARK: Reporting

    /// Returns all metrics in the text format of Prometheus.
    func text(of vault: Vault) async throws -> String {
        let (status, work) = (try await vault.status(), vault.work)
        let others = [
            Self.family("mediavault_bytes_fetched_total", .counter, status.bytesFetched),
            Self.family("mediavault_bytes_opened_total", .counter, work.opened),
            Self.family("mediavault_bytes_sealed_total", .counter, work.sealed),
            Self.family("mediavault_bytes_evicted_total", .counter, status.evicted),
            Self.family("mediavault_bytes_unstored_total", .counter, status.passedThrough),
            Self.family("mediavault_damage_total", .counter, work.damaged),
            Self.family("mediavault_bytes_held", .gauge, status.bytes),
            Self.family("mediavault_bytes_used", .gauge, status.used),
            Self.family("mediavault_resources", .gauge, Int64(status.resources)),
            Self.family("mediavault_segments", .gauge, Int64(status.segments)),
            Self.family("mediavault_store_refuses", .gauge, status.storeFailure == nil ? 0 : 1),
        ]
        return registry.families(help: Self.help, adding: others).map(\.text).joined()
    }

    /// The service's own metrics, without the vault's.
    var own: [MetricFamily] { registry.families() }

    private static func family(_ name: String, _ kind: MetricFamily.Kind, _ value: Int64) -> MetricFamily {
        MetricFamily(name: name, kind: kind, samples: [MetricFamily.Sample(value: Double(value))])
    }

    private static let help = [
        "mediavault_answers_total": "Answers, by route and status.",
        "mediavault_bytes_evicted_total": "Bytes of segment files evicted since the vault was opened.",
        "mediavault_bytes_fetched_total": "Bytes of media received from origins since the vault was created.",
        "mediavault_bytes_held": "Plaintext bytes held in the vault.",
        "mediavault_bytes_opened_total": "Plaintext bytes decrypted since the vault was opened.",
        "mediavault_bytes_sealed_total": "Plaintext bytes sealed since the vault was opened.",
        "mediavault_bytes_served_total": "Bytes of answers sent to clients.",
        "mediavault_bytes_unstored_total": "Bytes passed through without being stored.",
        "mediavault_bytes_used": "Bytes of segment files on disk.",
        "mediavault_damage_total": "Blocks and files that failed verification when read.",
        "mediavault_errors_total": "Failed requests, by error code.",
        "mediavault_fills_total": "Media answers that needed the origin, by kind.",
        "mediavault_hits_total": "Media answers from the vault alone.",
        "mediavault_open_requests": "Requests being answered.",
        "mediavault_request_seconds": "Seconds to answer requests completely.",
        "mediavault_resources": "Resources known to the vault.",
        "mediavault_segments": "Segment files.",
        "mediavault_store_refuses": "1 while bytes are passed through because the store refuses them.",
    ]
}
