import VaultModel
import VaultStorage

/// Collects what a check finds about one representation. It is a value type without I/O. Rows must be added in the
/// order of their first bytes.
struct RepresentationLedger {
    /// The bytes that readers need; nil for all bytes.
    let used: ByteRanges?
    /// The bytes that can be opened, as far as is known.
    private var good = ByteRanges()
    /// The ranges of blocks that were already known to be bad.
    private var known: [ByteRange] = []
    /// The bytes that rows claim but that cannot be opened.
    private var lost = ByteRanges()
    /// The damage that is repaired only once ``gaps`` have been fetched, counted by class.
    private(set) var pending: [DamageClass: Int] = [:]
    /// The damage that has been repaired, counted by class.
    private(set) var mended: [DamageClass: Int] = [:]

    init(used: ByteRanges? = nil) { self.used = used }

    /// Adds a row to the ledger.
    ///
    /// - Returns: the row's segment; nil if the row is invalid, or names bytes that another row already holds.
    mutating func admit(_ row: StoredSegment) -> SegmentDescription? {
        guard let segment = row.description else { return nil }
        let ranges = segment.effectiveRanges(badBlocks: row.badBlocks)
        guard good.isDisjoint(ranges) else { return nil }
        good.formUnion(ranges)
        known += row.badBlocks.filter { (0..<segment.blockCount).contains($0) }.map(segment.range(ofBlock:))
        return segment
    }

    /// Drops a segment that was removed from the vault during the check.
    mutating func forget(_ segment: SegmentDescription) { good.subtract(ByteRanges(segment.range)) }

    /// Records damage to an admitted segment that makes it lose the bytes of a range.
    ///
    /// A bad block that no reader needs does not count as damage.
    mutating func note(_ damageClass: DamageClass, losing range: ByteRange) {
        good.subtract(ByteRanges(range))
        guard damageClass != .block || isMissed(range) else { return }
        note(damageClass, losingUnlessHeld: range)
    }

    /// Records damage that loses the bytes of a range unless they are held elsewhere; a nil range means that none are
    /// lost.
    mutating func note(_ damageClass: DamageClass, losingUnlessHeld range: ByteRange?) {
        pending[damageClass, default: 0] += 1
        if let range { lost.insert(contentsOf: range) }
    }

    /// Records damage that has been repaired without losing any bytes.
    mutating func noteRepaired(_ damageClass: DamageClass) { mended[damageClass, default: 0] += 1 }

    /// Completes the ledger after the last row. Blocks that were already known to be bad count as damage if no other
    /// segment has replaced them.
    mutating func finish() {
        for range in known where isMissed(range) { note(.block, losingUnlessHeld: range) }
        known = []
    }

    private func isMissed(_ range: ByteRange) -> Bool { !missed(ByteRanges(range)).isEmpty }

    private func missed(_ ranges: ByteRanges) -> ByteRanges {
        let lost = ranges.subtracting(good)
        return used.map { lost.intersection($0) } ?? lost
    }

    /// The bytes that rows claim and readers need, but that cannot be opened.
    var gaps: ByteRanges { missed(lost) }

    var isSound: Bool { pending.isEmpty && mended.isEmpty }
}

/// A random sample of segments. Each segment is equally likely to be chosen. The sample's size is exactly as requested,
/// and at least one if there is any segment.
struct SegmentSample {
    private(set) var wanted: Int
    /// The number of counted segments that are still to come.
    private var left: Int

    init(percent: Double, of total: Int) {
        wanted = min(total, Int((Double(total) * percent / 100).rounded(.up)))
        left = total
    }

    /// Returns whether the next segment is part of the sample.
    ///
    /// - Parameter random: a function that returns a random number below its argument.
    mutating func includesNext(_ random: (UInt32) throws -> UInt32) rethrows -> Bool {
        // More segments than were counted may come, because bytes are being fetched during the check.
        guard wanted > 0, left > 0 else { return false }
        let isTaken = try wanted >= left || Int(random(UInt32(clamping: left))) < wanted
        left -= 1
        if isTaken { wanted -= 1 }
        return isTaken
    }
}
