import CoreMetrics
import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("Metrics")
struct MetricTests {
    @Test("A family is printed in the Prometheus format: help, type, and a line per sample, with escaped values")
    func text() {
        let family = MetricFamily(
            name: "a_total", kind: .counter, help: "Back\\slash\nand line",
            samples: [
                .init(labels: [.init("x", "quote \" and \\ and\nline")], value: 3), .init(suffix: "_sum", value: 0.5),
                .init(value: 9_007_199_254_740_991),
            ])
        #expect(
            family.text == """
                # HELP a_total Back\\\\slash\\nand line
                # TYPE a_total counter
                a_total{x="quote \\" and \\\\ and\\nline"} 3
                a_total_sum 0.5
                a_total 9007199254740991

                """)
    }

    @Test("The same name and labels give the same metric; another label gives another")
    func registry() {
        let registry = MetricRegistry()
        Counter(label: "hits.total", dimensions: [("b", "2"), ("a", "1")], factory: registry).increment(by: 2)
        Counter(label: "hits.total", dimensions: [("a", "1"), ("b", "2")], factory: registry).increment(by: 3)
        Counter(label: "hits.total", dimensions: [("a", "0"), ("b", "2")], factory: registry).increment()
        Meter(label: "open", factory: registry).increment()
        Meter(label: "open", factory: registry).increment()
        Meter(label: "open", factory: registry).decrement()
        let text = registry.families(help: ["open": "Open ones."]).map(\.text).joined()
        #expect(
            text == """
                # TYPE hits_total counter
                hits_total{a="0",b="2"} 1
                hits_total{a="1",b="2"} 5
                # HELP open Open ones.
                # TYPE open gauge
                open 1

                """)
    }

    @Test("A histogram counts each value in every bucket up to its bound, in rising order, with the sum and the count")
    func histogram() {
        let registry = MetricRegistry()
        let timer = Timer(label: "took_seconds", dimensions: [("route", "media")], factory: registry)
        for nanoseconds in [1_000_000, 1_000_001, 2_000_000_000, 7_200_000_000_000] {
            timer.recordNanoseconds(Int64(nanoseconds))
        }
        let lines = registry.families().map(\.text).joined().split(separator: "\n")
        #expect(lines.count == MetricHistogram.bounds.count + 4 && lines[0] == "# TYPE took_seconds histogram")
        for line in [
            #"took_seconds_bucket{route="media",le="0.001"} 1"#, #"took_seconds_bucket{route="media",le="0.0025"} 2"#,
            #"took_seconds_bucket{route="media",le="1"} 2"#, #"took_seconds_bucket{route="media",le="2.5"} 3"#,
            #"took_seconds_bucket{route="media",le="3600"} 3"#, #"took_seconds_bucket{route="media",le="+Inf"} 4"#,
            #"took_seconds_sum{route="media"} 7202.002000001"#, #"took_seconds_count{route="media"} 4"#,
        ] { #expect(lines.contains { $0 == line }, "\(line)") }
        let bounds = lines.compactMap { $0.split(separator: "le=\"").dropFirst().first?.prefix { $0 != "\"" } }
        #expect(bounds.dropLast().compactMap { Double($0) } == MetricHistogram.bounds && bounds.last == "+Inf")
    }

    @Test(
        "The rules find what breaks them",
        arguments: [
            ("# HELP mediavault_a A.\n# TYPE mediavault_a gauge\nmediavault_a 1\n", 0),
            ("# TYPE mediavault_a gauge\nmediavault_a 1\n", 1),
            ("# HELP mediavault_a A.\n# TYPE mediavault_a counter\nmediavault_a 1\n", 1),
            ("# HELP mediavault_bytes_held A.\n# TYPE mediavault_bytes_held gauge\nmediavault_bytes_held 1\n", 1),
            ("# HELP mediavault_a_ms A.\n# TYPE mediavault_a_ms gauge\nmediavault_a_ms 1\n", 1),
            ("# HELP other:a A.\n# TYPE other:a gauge\nother:a 1\n", 1),
            ("# HELP mediavault_a A.\n# TYPE mediavault_a gauge\nmediavault_b 1\n", 1),
            ("# HELP mediavault_a A.\n# TYPE mediavault_a gauge\nmediavault_a{B=\"1\"} 1\n", 1),
            ("# HELP mediavault_a A.\n# TYPE mediavault_a gauge\nmediavault_a 1\nmediavault_a 2\n", 1),
            ("# HELP mediavault_a A.\n# TYPE mediavault_a gauge\nmediavault_a x\n", 1),
        ])
    func rules(text: String, faults: Int) {
        #expect(MetricRules.faults(in: text).count == faults, "\(MetricRules.faults(in: text))")
    }

    @Test("A request is open until its last reference is released, then its time is recorded, unless it is a feed")
    func openRequests() {
        let metrics = ServiceMetrics()
        func figure(_ name: String, _ suffix: String = "") -> Double? {
            metrics.own.first { $0.name == name }?.samples.first { $0.suffix == suffix }?.value
        }
        var requests: [OpenRequest]? = (0..<3).map { _ in OpenRequest("GET", "media", metrics) }
        #expect(figure("mediavault_open_requests") == 3 && requests?.count == 3)
        requests = nil
        #expect(figure("mediavault_open_requests") == 0)
        #expect(figure("mediavault_http_request_duration_seconds", "_count") == 3)
        do { _ = OpenRequest("GET", "events", isFeed: true, metrics) }
        #expect(figure("mediavault_open_requests") == 0)
        let durations = metrics.own.first { $0.name == "mediavault_http_request_duration_seconds" }
        #expect(durations?.samples.allSatisfy { $0.labels.first?.value == "media" } == true)
    }

    @Test(
        "Cache-Status distinguishes a hit from a fill, and names the kind of fill (RFC 9211)",
        arguments: [
            (.hit, nil), (.miss, .miss), (.partial, .partial), (.stale(.unreachable), .stale), (.stale(.offline), nil),
            (.confirmed(originStatus: 304), .stale), (.stale(.refused, originStatus: 503), .stale),
            (.bypass(.capacity), .bypass), (.failed(.unreachable, originStatus: nil), .miss),
        ] as [(CacheStatus, CacheStatus.Fill?)])
    func fills(cacheStatus: CacheStatus, fill: CacheStatus.Fill?) {
        #expect(cacheStatus.fill == fill)
        #expect(cacheStatus.value.contains("fwd=\(fill?.rawValue ?? "")") == (fill != nil))
    }
}
