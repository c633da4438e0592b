import Synchronization

/// Names one request in the log and in its answer: where the process's mark stands before a number, lines of two runs
/// cannot be taken for one another.
struct RequestID: Hashable, Sendable, CustomStringConvertible {
    private let number: Int

    private static let mark = String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
    private static let last = Atomic<Int>(0)

    init() { number = Self.last.add(1, ordering: .relaxed).newValue }

    var description: String { "\(Self.mark)-\(number)" }
}
