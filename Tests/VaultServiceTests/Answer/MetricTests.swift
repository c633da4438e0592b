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
        Timer(label: "seconds", factory: registry).recordNanoseconds(1_500_000_000)
        Recorder(label: "sizes", factory: registry).record(7)
        let text = registry.families(help: ["open": "Open ones."]).map(\.text).joined()
        #expect(
            text == """
                # TYPE hits_total counter
                hits_total{a="0",b="2"} 1
                hits_total{a="1",b="2"} 5
                # HELP open Open ones.
                # TYPE open gauge
                open 1
                # TYPE seconds summary
                seconds_count 1
                seconds_sum 1.5
                # TYPE sizes summary
                sizes_count 1
                sizes_sum 7

                """)
    }

    @Test("A request is open until its last reference is released, then its time is recorded")
    func openRequests() {
        let metrics = ServiceMetrics()
        func figure(_ name: String, _ suffix: String = "") -> Double? {
            metrics.own.first { $0.name == name }?.samples.first { $0.suffix == suffix }?.value
        }
        var requests: [OpenRequest]? = (0..<3).map { _ in OpenRequest("GET", "media", metrics) }
        #expect(figure("mediavault_open_requests") == 3 && requests?.count == 3)
        requests = nil
        #expect(figure("mediavault_open_requests") == 0 && figure("mediavault_request_seconds", "_count") == 3)
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
