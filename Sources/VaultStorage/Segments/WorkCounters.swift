package import Synchronization
import VaultModel

/// Counters of the work that a store has done since it was opened.
package final class WorkCounters: Sendable {
    /// The number of plaintext bytes that were opened, counted in whole blocks.
    package let opened = Atomic<Int64>(0)
    /// The number of plaintext bytes that were accepted for sealing.
    package let sealed = Atomic<Int64>(0)
    /// The number of blocks and files that were found damaged when they were read.
    package let damaged = Atomic<Int64>(0)
    /// The number of bytes that origins have sent.
    package let fetched = Atomic<Int64>(0)
    /// The number of bytes that were delivered but not stored.
    package let passedThrough = Atomic<Int64>(0)

    package init() {}
}

extension Atomic<Int64> {
    /// Adds to the count.
    package func count(_ amount: Int64) { add(amount, ordering: .relaxed) }

    /// The count so far.
    package var total: Int64 { load(ordering: .relaxed) }
}

/// The number of bytes that origins have sent since the vault was created.
final class FetchedBytes: Sendable {
    private struct Counts {
        var total: Int64 = 0
        /// The number of these bytes that the index has recorded.
        var recorded: Int64 = 0
    }

    private let counts = Locked(Counts())

    var total: Int64 { counts.withLock { $0.total } }

    /// Whether the index has yet to record some of the bytes.
    var isDue: Bool { counts.withLock { $0.total > $0.recorded } }

    /// Continues from the total that the index has recorded.
    func begin(at total: Int64) { counts.withLock { $0 = Counts(total: total, recorded: total) } }

    func add(_ bytes: Int64) { counts.withLock { $0.total += bytes } }

    /// Runs a commit that records the total in the index.
    ///
    /// - Returns: whether the index had recorded a lower total before.
    func recording(_ commit: (Int64) throws -> Void) throws -> Bool {
        let total = total
        try commit(total)
        return counts.withLock { counts in
            guard total > counts.recorded else { return false }
            counts.recorded = total
            return true
        }
    }
}
