import CoreMetrics
import VaultModel

/// A number that rises and falls.
final class MetricMeter: MeterHandler {
    private let value = Locked(0.0)

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { self.value.withLock { $0 = value } }

    func increment(by amount: Double) { value.withLock { $0 += amount } }

    func decrement(by amount: Double) { value.withLock { $0 -= amount } }

    var samples: [MetricFamily.Sample] { [MetricFamily.Sample(value: value.withLock(\.self))] }
}
