import CoreMetrics
import Synchronization
import VaultModel

/// The metrics of one service, for the text format of Prometheus.
///
/// Each service has its own registry, so two services of one process count separately.
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

    /// Returns all metrics by name, with others that are counted elsewhere.
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

    /// Returns a name and labels as Prometheus allows them.
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
        state.withLock { $0.summaries.value(for: Self.key(label, dimensions)) { MetricSummary() } }
    }

    /// Timers report seconds.
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        state.withLock { $0.summaries.value(for: Self.key(label, dimensions)) { MetricSummary() } }
    }

    // Counts are kept: a counter that vanished would look as if it had been reset.
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

/// One metric of Prometheus: all its samples, under one name.
struct MetricFamily: Hashable, Sendable {
    enum Kind: String, Sendable { case counter, gauge, summary }

    /// One value and its labels.
    struct Sample: Hashable, Sendable {
        /// The suffix to the family's name, such as `_sum`.
        var suffix = ""
        var labels: [Label] = []
        let value: Double
    }

    struct Label: Hashable, Sendable {
        let name: String
        let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    let name: String
    let kind: Kind
    /// A sentence that describes the metric.
    var help = ""
    var samples: [Sample]

    /// The family in the text format, version 0.0.4, with every line terminated.
    var text: String {
        var text = help.isEmpty ? "" : "# HELP \(name) \(Self.escaped(help, quotes: false))\n"
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            text += "\(name)\(sample.suffix)\(Self.text(of: sample.labels)) \(Self.text(of: sample.value))\n"
        }
        return text
    }

    private static func text(of labels: [Label]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",") + "}"
    }

    /// Returns a whole number without a decimal point, so that byte counts stay exact as far as a double can be.
    private static func text(of value: Double) -> String {
        Int64(exactly: value).map(String.init)
            ?? (value.isNaN ? "NaN" : value > 0 && value.isInfinite ? "+Inf" : "\(value)")
    }

    private static func escaped(_ text: String, quotes: Bool = true) -> String {
        var escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if quotes { escaped = escaped.replacing("\"", with: "\\\"") }
        return escaped
    }
}

/// The count and the sum of recorded values.
final class MetricSummary: RecorderHandler, TimerHandler {
    private let seen = Locked((count: 0.0, sum: 0.0))

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        seen.withLock { seen in
            seen.count += 1
            seen.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    var samples: [MetricFamily.Sample] {
        let (count, sum) = seen.withLock { ($0.count, $0.sum) }
        return [
            MetricFamily.Sample(suffix: "_count", value: count), MetricFamily.Sample(suffix: "_sum", value: sum),
        ]
    }
}

/// A number that rises and falls.
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
