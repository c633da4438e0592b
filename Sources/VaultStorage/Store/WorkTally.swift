package import Synchronization

/// What a store has done since it was opened, counted where it is done.
package final class WorkTally: Sendable {
    /// Plaintext bytes that were opened, whole blocks of them.
    package let opened = Atomic<Int64>(0)
    /// Plaintext bytes that were taken for sealing.
    package let sealed = Atomic<Int64>(0)
    /// Blocks and files that failed when they were read.
    package let damaged = Atomic<Int64>(0)

    package init() {}
}

extension Atomic<Int64> {
    func count(_ amount: Int64) { add(amount, ordering: .relaxed) }

    /// The count so far.
    package var total: Int64 { load(ordering: .relaxed) }
}
