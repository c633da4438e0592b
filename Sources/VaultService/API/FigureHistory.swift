import VaultModel

/// The main figures of a service over the last hour, kept in memory, for the charts of its pages.
final class FigureHistory: Sendable {
    /// The number of seconds between two samples.
    static let every = 15
    /// The maximum number of samples, which cover one hour.
    static let maxCount = 3600 / every

    private let kept = Locked<[HistoryDocument.Sample]>([])

    /// The samples, earliest first.
    var samples: [HistoryDocument.Sample] { kept.withLock(\.self) }

    /// Adds a sample, and drops the earliest if there are too many.
    func add(_ sample: HistoryDocument.Sample) {
        kept.withLock { $0 = $0.suffix(Self.maxCount - 1) + [sample] }
    }
}
