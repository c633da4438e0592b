package import Synchronization
import VaultModel

/// Counters of the work that a store has done since it was opened.
package final class WorkCounters: Sendable {
    /// Plaintext bytes that were opened, counted in whole blocks.
    package let opened = Atomic<Int64>(0)
    /// Plaintext bytes that were accepted for sealing.
    package let sealed = Atomic<Int64>(0)
    /// Blocks and files that were found damaged when they were read.
    package let damaged = Atomic<Int64>(0)
    /// Bytes that origins have sent.
    package let fetched = Atomic<Int64>(0)
    /// Bytes that were delivered but not stored.
    package let passedThrough = Atomic<Int64>(0)

    package init() {}
}

extension Atomic<Int64> {
    func count(_ amount: Int64) { add(amount, ordering: .relaxed) }

    /// The count so far.
    package var total: Int64 { load(ordering: .relaxed) }
}

/// The bytes that origins have sent since the vault was created.
final class FetchedBytes: Sendable {
    private struct Counts {
        var total: Int64 = 0
        /// How much of the total the index has recorded.
        var recorded: Int64 = 0
    }

    private let counts = Locked(Counts())

    var total: Int64 { counts.withLock { $0.total } }

    /// Whether the index has yet to record some of the bytes.
    var isDue: Bool { counts.withLock { $0.total > $0.recorded } }

    /// Continues from what the index has recorded.
    func begin(at total: Int64) { counts.withLock { $0 = Counts(total: total, recorded: total) } }

    func add(_ bytes: Int64) { counts.withLock { $0.total += bytes } }

    /// Runs a commit that includes the total.
    ///
    /// - Returns: whether the index had recorded less before.
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
