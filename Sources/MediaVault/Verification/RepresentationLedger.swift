import VaultModel
import VaultStorage

/// The findings of a check about one representation. A pure value. Rows must be added in the order of their first
/// bytes.
struct RepresentationLedger {
    /// The bytes that readers need; nil for all.
    let used: ByteRanges?
    /// The bytes that can be opened, as far as known.
    private var good = ByteRanges()
    /// Blocks that failed earlier.
    private var known: [ByteRange] = []
    /// Bytes that rows claim and that cannot be opened.
    private var lost = ByteRanges()
    /// Damage that is repaired only once ``gaps`` have been fetched.
    private(set) var pending: [DamageClass: Int] = [:]
    /// Damage that has been repaired.
    private(set) var mended: [DamageClass: Int] = [:]

    init(used: ByteRanges? = nil) { self.used = used }

    /// Adds a row.
    ///
    /// - Returns: its segment; nil if the row is invalid, or names bytes that are already held.
    mutating func admit(_ row: StoredSegment) -> SegmentDescription? {
        guard let segment = row.description else { return nil }
        let ranges = segment.effectiveRanges(badBlocks: row.badBlocks)
        guard good.isDisjoint(ranges) else { return nil }
        good.formUnion(ranges)
        known += row.badBlocks.filter { (0..<segment.blockCount).contains($0) }.map(segment.range(ofBlock:))
        return segment
    }

    /// Removes a segment that was removed from the vault during the check.
    mutating func forget(_ segment: SegmentDescription) { good.subtract(ByteRanges(segment.range)) }

    /// Records damage of an admitted segment that loses the bytes of a range.
    ///
    /// A bad block that nothing reads is not damage.
    mutating func note(_ damageClass: DamageClass, losing range: ByteRange) {
        good.subtract(ByteRanges(range))
        guard damageClass != .block || isMissed(range) else { return }
        note(damageClass, losingUnlessHeld: range)
    }

    /// Records damage that loses the bytes of a range unless they are held elsewhere; nil if it loses none.
    mutating func note(_ damageClass: DamageClass, losingUnlessHeld range: ByteRange?) {
        pending[damageClass, default: 0] += 1
        if let range { lost.insert(contentsOf: range) }
    }

    /// Records damage that has been repaired and lost nothing.
    mutating func noteRepaired(_ damageClass: DamageClass) { mended[damageClass, default: 0] += 1 }

    /// Completes the ledger after the last row: blocks that failed earlier count if nothing has replaced them.
    mutating func finish() {
        for range in known where isMissed(range) { note(.block, losingUnlessHeld: range) }
        known = []
    }

    private func isMissed(_ range: ByteRange) -> Bool { !missed(ByteRanges(range)).isEmpty }

    private func missed(_ ranges: ByteRanges) -> ByteRanges {
        let lost = ranges.subtracting(good)
        return used.map { lost.intersection($0) } ?? lost
    }

    /// The bytes that rows claim, that cannot be opened, and that something reads.
    var gaps: ByteRanges { missed(lost) }

    var isSound: Bool { pending.isEmpty && mended.isEmpty }
}

/// A random sample of segments. Each segment is equally likely; the size is exactly as requested, and at least one if
/// there is a segment.
struct SegmentSample {
    private(set) var wanted: Int
    /// The number of segments that are still to come.
    private var left: Int

    init(percent: Double, of total: Int) {
        wanted = min(total, Int((Double(total) * percent / 100).rounded(.up)))
        left = total
    }

    /// Returns whether the next segment belongs to the sample.
    ///
    /// - Parameter random: returns a random number below its argument.
    mutating func includesNext(_ random: (UInt32) throws -> UInt32) rethrows -> Bool {
        // More segments may come than were counted, because bytes are being fetched.
        guard wanted > 0, left > 0 else { return false }
        let isTaken = try wanted >= left || Int(random(UInt32(clamping: left))) < wanted
        left -= 1
        if isTaken { wanted -= 1 }
        return isTaken
    }
}
