import CoreMetrics
import VaultModel

/// Keeps the metrics of one service, and shows them as Prometheus reads them.
///
/// It is the service's own, not the process's: two services of one process count apart.
final class MetricRegistry: MetricsFactory {
    private struct Key: Hashable {
        let name: String
        let labels: [MetricFamily.Label]
    }

    private struct State {
        var counters: [Key: MetricCounter] = [:]
        var meters: [Key: MetricMeter] = [:]
        var summaries: [Key: MetricSummary] = [:]
    }

    private let state = Locked(State())

    /// All metrics, by name; what is counted elsewhere is added.
    func families(help: [String: String] = [:], adding others: [MetricFamily] = []) -> [MetricFamily] {
        let all = state.withLock { state in
            state.counters.map { key, counter in (key, MetricFamily.Kind.counter, counter.samples) }
                + state.meters.map { key, meter in (key, .gauge, meter.samples) }
                + state.summaries.map { key, summary in (key, .summary, summary.samples) }
        }
        let families = Dictionary(grouping: all) { $0.0.name }.map { name, metrics in
            let samples = metrics.flatMap { key, _, samples in
                samples.map { MetricFamily.Sample(suffix: $0.suffix, labels: key.labels, value: $0.value) }
            }
            return MetricFamily(name: name, kind: metrics[0].1, samples: samples.sorted(by: Self.stands))
        }
        return (families + others).map { family in
            var family = family
            family.help = help[family.name] ?? family.help
            return family
        }.sorted { $0.name < $1.name }
    }

    private static func stands(_ one: MetricFamily.Sample, before other: MetricFamily.Sample) -> Bool {
        let (values, others) = (one.labels.map(\.value), other.labels.map(\.value))
        return values == others ? one.suffix < other.suffix : values.lexicographicallyPrecedes(others)
    }

    /// A name and labels as Prometheus allows them.
    private static func key(_ label: String, _ dimensions: [(String, String)]) -> Key {
        Key(
            name: spelled(label),
            labels: dimensions.map { MetricFamily.Label(spelled($0.0), $0.1) }.sorted { $0.name < $1.name })
    }

    private static func spelled(_ name: String) -> String {
        String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" })
    }

    // MARK: What the API of swift-metrics asks for

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        state.withLock { $0.counters.value(for: Self.key(label, dimensions)) { MetricCounter() } }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        state.withLock { $0.meters.value(for: Self.key(label, dimensions)) { MetricMeter() } }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        state.withLock { $0.summaries.value(for: Self.key(label, dimensions)) { MetricSummary() } }
    }

    /// A timer tells seconds.
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        state.withLock { $0.summaries.value(for: Self.key(label, dimensions)) { MetricSummary() } }
    }

    // What was counted stays: a counter that vanished would look as if it began anew.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

extension Dictionary {
    fileprivate mutating func value(for key: Key, orMade make: () -> Value) -> Value {
        if let known = self[key] { return known }
        let made = make()
        self[key] = made
        return made
    }
}
