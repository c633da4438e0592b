import CoreMetrics
import MediaVault
import VaultModel

/// The metrics of a service. The vault's metrics are added whenever metrics are requested.
///
/// Names and labels follow Prometheus's rules. They use base units, counters end in `_total`, and the values of labels
/// are known in advance and do not depend on what clients send.
final class ServiceMetrics: Sendable {
    private let registry = MetricRegistry()
    private let openRequests: Meter
    private let served: Counter
    private let hits: Counter
    private let fills: [CacheStatus.Fill: Counter]
    private let errors: [String: Counter]
    /// The request counters by their labels, created on first use so that names need not be built for each answer.
    private let requests = Locked<[RequestKind: Counter]>([:])
    private let durations = Locked<[String: Timer]>([:])
    /// Whether the vault was readable at the last scrape.
    private let isReadable = Locked(true)

    private struct RequestKind: Hashable {
        let route: String
        let method: String
        let code: Int
    }

    init() {
        openRequests = Meter(label: "mediavault_open_requests", factory: registry)
        served = Counter(label: "mediavault_served_bytes_total", factory: registry)
        hits = Counter(label: "mediavault_hits_total", factory: registry)
        let version = [("version", Vault.version)]
        Meter(label: "mediavault_build_info", dimensions: version, factory: registry).set(1)
        fills = Dictionary(
            uniqueKeysWithValues: CacheStatus.Fill.allCases.map { [registry] fill in
                let labels = [("kind", fill.rawValue)]
                return (fill, Counter(label: "mediavault_fills_total", dimensions: labels, factory: registry))
            })
        errors = Dictionary(
            uniqueKeysWithValues: VaultError.Code.all.map { [registry] code in
                let labels = [("class", "\(code)")]
                return ("\(code)", Counter(label: "mediavault_errors_total", dimensions: labels, factory: registry))
            })
    }

    // MARK: Counting

    func requestBegan() { openRequests.increment() }

    /// Records the end of a request.
    ///
    /// - Parameter time: how long the request took; nil for a feed, which ends only when its client disconnects.
    func requestEnded(on route: String, after time: Duration?) {
        openRequests.decrement()
        guard let time else { return }
        let timer = durations.withLock { durations in
            if let timer = durations[route] { return timer }
            let timer = Timer(
                label: "mediavault_http_request_duration_seconds", dimensions: [("route", route)], factory: registry)
            durations[route] = timer
            return timer
        }
        timer.recordNanoseconds(Int64(time / .nanoseconds(1)))
    }

    /// Counts an answer and the bytes of its body.
    ///
    /// - Parameters:
    ///   - method: the request's method if the service knows it, else `other`.
    ///   - cacheStatus: how the answer's media was obtained; nil if the answer carries no media.
    func answered(_ code: Int, _ method: String, on route: String, bytes: Int64, of cacheStatus: CacheStatus?) {
        served.increment(by: bytes)
        if let fill = cacheStatus?.fill { fills[fill]?.increment() } else if cacheStatus != nil { hits.increment() }
        let kind = RequestKind(route: route, method: method, code: code)
        requests.withLock { requests in
            if let counter = requests[kind] { return counter.increment() }
            let counter = Counter(
                label: "mediavault_http_requests_total",
                dimensions: [("route", route), ("method", method), ("code", "\(code)")], factory: registry)
            requests[kind] = counter
            counter.increment()
        }
    }

    /// The number of bytes in all answers since the service started.
    var servedBytes: Int64 {
        let family = registry.families().first { $0.name == "mediavault_served_bytes_total" }
        return family?.samples.first.flatMap { Int64(exactly: $0.value) } ?? 0
    }

    func failed(_ code: VaultError.Code) { errors["\(code)"]?.increment() }

    /// Records whether the vault can be read.
    ///
    /// - Returns: whether this has changed.
    @discardableResult
    func noteReadable(_ isReadable: Bool) -> Bool {
        self.isReadable.withLock { known in
            defer { known = isReadable }
            return known != isReadable
        }
    }

    /// Returns a meter for a listener's open connections. The listener updates the meter.
    func connections(of listener: String) -> Meter {
        Meter(label: "mediavault_open_connections", dimensions: [("listener", listener)], factory: registry)
    }

    // MARK: Reporting

    /// Returns all metrics in the Prometheus text format.
    ///
    /// - Parameter figures: the vault's figures; nil if the vault cannot be read.
    func text(of figures: VaultFigures?) -> String {
        families(of: figures).map(\.text).joined()
    }

    /// Returns all metrics ordered by name.
    func families(of figures: VaultFigures?) -> [MetricFamily] {
        registry.families(help: MetricHelp.sentences, adding: figures?.families ?? [VaultFigures.ready(false)])
    }

    /// The service's own metrics, without the vault's.
    var own: [MetricFamily] { registry.families() }
}
