import CoreMetrics
import Synchronization

/// A number that only grows.
final class MetricCounter: CounterHandler {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) { value.add(amount, ordering: .relaxed) }

    func reset() { value.store(0, ordering: .relaxed) }

    var samples: [MetricFamily.Sample] { [MetricFamily.Sample(value: Double(value.load(ordering: .relaxed)))] }
}
