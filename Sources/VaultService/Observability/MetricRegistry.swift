import CoreMetrics
import Synchronization
import VaultModel

/// One service's metrics, for the Prometheus text format.
///
/// Each service has its own registry, so two services in one process count separately.
final class MetricRegistry: MetricsFactory {
    private struct Key: Hashable {
        let name: String
        let labels: [MetricFamily.Label]
    }

    private struct State {
        var counters: [Key: MetricCounter] = [:]
        var meters: [Key: MetricMeter] = [:]
        var histograms: [Key: MetricHistogram] = [:]
    }

    private let state = Locked(State())

    /// Returns all metrics ordered by name, together with metrics that are counted elsewhere.
    func families(help: [String: String] = [:], adding others: [MetricFamily] = []) -> [MetricFamily] {
        let all = state.withLock { state in
            state.counters.map { key, counter in (key, MetricFamily.Kind.counter, counter.samples) }
                + state.meters.map { key, meter in (key, .gauge, meter.samples) }
                + state.histograms.map { key, histogram in (key, .histogram, histogram.samples) }
        }
        let families = Dictionary(grouping: all) { $0.0.name }.map { name, metrics in
            // The samples of each metric keep their order, because histogram buckets must ascend.
            let samples = metrics.sorted { Self.stands($0.0, before: $1.0) }.flatMap { key, _, samples in
                samples.map {
                    MetricFamily.Sample(suffix: $0.suffix, labels: key.labels + $0.labels, value: $0.value)
                }
            }
            return MetricFamily(name: name, kind: metrics[0].1, samples: samples)
        }
        return (families + others).map { family in
            var family = family
            family.help = help[family.name] ?? family.help
            return family
        }.sorted { $0.name < $1.name }
    }

    private static func stands(_ one: Key, before other: Key) -> Bool {
        one.labels.map(\.value).lexicographicallyPrecedes(other.labels.map(\.value))
    }

    /// Returns a name and labels spelled as Prometheus requires.
    private static func key(_ label: String, _ dimensions: [(String, String)]) -> Key {
        Key(
            name: spelled(label),
            labels: dimensions.map { MetricFamily.Label(spelled($0.0), $0.1) }.sorted { $0.name < $1.name })
    }

    private static func spelled(_ name: String) -> String {
        String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" })
    }

    // MARK: MetricsFactory

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        state.withLock { $0.counters.value(for: Self.key(label, dimensions)) { MetricCounter() } }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        state.withLock { $0.meters.value(for: Self.key(label, dimensions)) { MetricMeter() } }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        state.withLock { $0.histograms.value(for: Self.key(label, dimensions)) { MetricHistogram() } }
    }

    /// Returns a handler for a timer, which records seconds.
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        state.withLock { $0.histograms.value(for: Self.key(label, dimensions)) { MetricHistogram() } }
    }

    // Values are kept, because a counter that vanished would look as if it had been reset.
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

/// Counts the recorded values up to each of several bounds, and adds up all values.
final class MetricHistogram: RecorderHandler, TimerHandler {
    private struct State {
        var counts = [Int64](repeating: 0, count: MetricHistogram.bounds.count + 1)
        var sum = 0.0
    }

    private let state = Locked(State())

    /// The bounds in seconds, which range from a hit in memory to a film that plays for hours.
    static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600, 3600]

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    var samples: [MetricFamily.Sample] {
        let state = state.withLock(\.self)
        var (total, samples): (Int64, [MetricFamily.Sample]) = (0, [])
        for (bound, count) in zip(Self.bounds + [.infinity], state.counts) {
            total += count
            let label = MetricFamily.Label("le", MetricFamily.text(of: bound))
            samples.append(MetricFamily.Sample(suffix: "_bucket", labels: [label], value: Double(total)))
        }
        return samples + [
            MetricFamily.Sample(suffix: "_sum", value: state.sum),
            MetricFamily.Sample(suffix: "_count", value: Double(total)),
        ]
    }
}

/// A number that can rise and fall.
final class MetricMeter: MeterHandler {
    private let value = Locked(0.0)

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { self.value.withLock { $0 = value } }

    func increment(by amount: Double) { value.withLock { $0 += amount } }

    func decrement(by amount: Double) { value.withLock { $0 -= amount } }

    var samples: [MetricFamily.Sample] { [MetricFamily.Sample(value: value.withLock(\.self))] }
}

/// A number that only grows.
final class MetricCounter: CounterHandler {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) { value.add(amount, ordering: .relaxed) }

    func reset() { value.store(0, ordering: .relaxed) }

    var samples: [MetricFamily.Sample] { [MetricFamily.Sample(value: Double(value.load(ordering: .relaxed)))] }
}
