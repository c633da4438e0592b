import CoreMetrics
import MediaVault
import VaultModel

/// The metrics of a service; those of its vault are added when they are requested.
///
/// Names and labels follow the rules of Prometheus: base units, `_total` for counters, and labels whose values are
/// known in advance, whatever clients send.
final class ServiceMetrics: Sendable {
    private let registry = MetricRegistry()
    private let openRequests: Meter
    private let served: Counter
    private let hits: Counter
    private let fills: [CacheStatus.Fill: Counter]
    private let errors: [String: Counter]
    /// Metrics by their labels, created on first use so that names are not built for each answer.
    private let requests = Locked<[RequestKind: Counter]>([:])
    private let durations = Locked<[String: Timer]>([:])
    /// Whether the vault could be read at the last scrape.
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
    /// - Parameter time: how long it took; nil for a feed, which ends only with its client.
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
    ///   - method: the method of the request, one of those that the service knows.
    ///   - cacheStatus: how its media was obtained; nil if it has none.
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

    func failed(_ code: VaultError.Code) { errors["\(code)"]?.increment() }

    /// Notes whether the vault could be read.
    ///
    /// - Returns: whether that has changed.
    @discardableResult
    func noteReadable(_ isReadable: Bool) -> Bool {
        self.isReadable.withLock { known in
            defer { known = isReadable }
            return known != isReadable
        }
    }

    /// Returns the number of open connections of a listener, for the listener to change.
    func connections(of listener: String) -> Meter {
        Meter(label: "mediavault_open_connections", dimensions: [("listener", listener)], factory: registry)
    }

    // MARK: Reporting

    /// Returns all metrics in the text format of Prometheus.
    ///
    /// - Parameter figures: the state of the vault; nil if it cannot be read.
    func text(of figures: VaultFigures?) -> String {
        families(of: figures).map(\.text).joined()
    }

    /// Returns all metrics by name.
    func families(of figures: VaultFigures?) -> [MetricFamily] {
        registry.families(help: MetricNames.help, adding: figures?.families ?? [VaultFigures.ready(false)])
    }

    /// The service's own metrics, without the vault's.
    var own: [MetricFamily] { registry.families() }
}

/// What each metric counts.
enum MetricNames {
    static let help = [
        "mediavault_build_info": "1, with the version of the service as a label.",
        "mediavault_damage_total": "Blocks and files that failed verification when read.",
        "mediavault_disk_free_bytes": "Free bytes of the disk that has the vault.",
        "mediavault_disk_size_bytes": "Size of the disk that has the vault.",
        "mediavault_errors_total": "Failed requests, by error code.",
        "mediavault_evicted_bytes_total": "Bytes of segment files evicted since the vault was opened.",
        "mediavault_fetched_bytes_total": "Bytes of media received from origins since the vault was opened.",
        "mediavault_fills_total": "Media answers that needed the origin, by kind.",
        "mediavault_held_bytes": "Plaintext bytes held in the vault.",
        "mediavault_hits_total": "Media answers from the vault alone.",
        "mediavault_http_request_duration_seconds":
            "Time to answer requests completely, by route; event feeds are not counted.",
        "mediavault_http_requests_total": "Answered requests, by route, method and status code.",
        "mediavault_key_generation": "Number of the key generation that new titles use.",
        "mediavault_key_generation_age_seconds": "Time since the current key generation was created.",
        "mediavault_last_verify_sound":
            "1 if the last verification of the whole vault left no damage, 0 if it did.",
        "mediavault_last_verify_timestamp_seconds":
            "When the whole vault was last verified, in seconds since 1970; absent if it never was.",
        "mediavault_max_age_seconds": "Age limit in force for media that was only played; absent if there is none.",
        "mediavault_max_size_bytes": "Size limit in force for segment files; absent if there is none.",
        "mediavault_min_free_bytes": "Disk space to leave free, as in force.",
        "mediavault_open_connections": "Open connections of clients, by listener.",
        "mediavault_open_requests": "Requests being answered.",
        "mediavault_opened_bytes_total": "Plaintext bytes decrypted since the vault was opened.",
        "mediavault_origin_errors_total": "Requests to origins that failed since the vault was opened, by kind.",
        "mediavault_ready": "1 if the vault is open and its index can be read, else 0.",
        "mediavault_resources": "Resources known to the vault.",
        "mediavault_sealed_bytes_total": "Plaintext bytes sealed since the vault was opened.",
        "mediavault_segments": "Segment files.",
        "mediavault_served_bytes_total": "Bytes of answers sent to clients.",
        "mediavault_store_refuses":
            "1 while the store refuses bytes, or if the service only reads the vault because the disk was full.",
        "mediavault_unstored_bytes_total": "Bytes passed through without being stored.",
        "mediavault_used_bytes": "Bytes of segment files on disk.",
    ]
}
