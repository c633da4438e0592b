import CoreMetrics
import MediaVault
import VaultModel

/// What a service counts of itself; what its vault counts is put beside it when somebody asks.
final class ServiceMetrics: Sendable {
    private let registry = MetricRegistry()
    private let openRequests: Meter
    private let served: Counter
    private let hits: Counter
    private let fills: [CacheStatus.Fill: Counter]
    private let duration: Timer
    /// Made when they are needed first: names are not spelled out for each answer.
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
        duration.recordNanoseconds(time.nanoseconds)
    }

    func answered(_ status: Int, on route: String) {
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

    /// Bytes of media, or of what stands in their place.
    func sent(_ bytes: Int64) { served.increment(by: bytes) }

    /// Media was answered.
    func media(_ cacheStatus: CacheStatus) {
        guard let fill = cacheStatus.fill else { return hits.increment() }
        fills[fill]?.increment()
    }

    func failed(_ error: String) {
        Counter(label: "mediavault_errors_total", dimensions: [("class", error)], factory: registry).increment()
    }

    // MARK: Telling

    /// All of it as Prometheus reads it.
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

    /// What it counts itself.
    var own: [MetricFamily] { registry.families() }

    private static func family(_ name: String, _ kind: MetricFamily.Kind, _ value: Int64) -> MetricFamily {
        MetricFamily(name: name, kind: kind, samples: [MetricFamily.Sample(value: Double(value))])
    }

    private static let help = [
        "mediavault_answers_total": "Answers, by what was asked for and their status.",
        "mediavault_bytes_evicted_total": "Bytes of segment files that made room since the vault was opened.",
        "mediavault_bytes_fetched_total": "Bytes of media that origins have sent since the vault was made.",
        "mediavault_bytes_held": "Plaintext bytes that lie sealed in the vault.",
        "mediavault_bytes_opened_total": "Plaintext bytes that were opened since the vault was opened.",
        "mediavault_bytes_sealed_total": "Plaintext bytes that were sealed since the vault was opened.",
        "mediavault_bytes_served_total": "Bytes of answers that were handed to clients.",
        "mediavault_bytes_unstored_total": "Bytes that were handed on without being stored.",
        "mediavault_bytes_used": "Bytes of segment files on disk.",
        "mediavault_damage_total": "Blocks and files that failed their check when they were read.",
        "mediavault_errors_total": "Requests that failed, by the name of the error.",
        "mediavault_fills_total": "Media answers that needed the origin, by how.",
        "mediavault_hits_total": "Media answers that came from the vault alone.",
        "mediavault_open_requests": "Requests that are being answered.",
        "mediavault_request_seconds": "How long requests took to be answered whole.",
        "mediavault_resources": "Resources that the vault knows.",
        "mediavault_segments": "Segment files.",
        "mediavault_store_refuses": "1 while bytes are handed on because the store refuses them.",
    ]
}

extension Duration {
    /// The whole of it in nanoseconds.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
