package import Synchronization

/// Counters of the work that a store has done since it was opened.
package final class WorkCounters: Sendable {
    /// Plaintext bytes that were opened, counted in whole blocks.
    package let opened = Atomic<Int64>(0)
    /// Plaintext bytes that were accepted for sealing.
    package let sealed = Atomic<Int64>(0)
    /// Blocks and files that were found damaged when they were read.
    package let damaged = Atomic<Int64>(0)

    package init() {}
}

extension Atomic<Int64> {
    func count(_ amount: Int64) { add(amount, ordering: .relaxed) }

    /// The count so far.
    package var total: Int64 { load(ordering: .relaxed) }
}
