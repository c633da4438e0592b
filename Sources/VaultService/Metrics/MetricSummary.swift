import CoreMetrics
import VaultModel

/// How many values there were, and what they come to.
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
