import VaultModel
import VaultStorage

/// What a check has found of one representation so far: a value. Rows come in the order of their first bytes.
struct RepresentationLedger {
    /// The bytes that can be opened, as far as is known.
    private var good = ByteRanges()
    /// Blocks that failed before.
    private var known: [ByteRange] = []
    /// Bytes that were claimed and cannot be opened.
    private var lost = ByteRanges()
    /// What was found and cannot be said to be mended before ``gaps`` are filled.
    private(set) var pending: [DamageClass: Int] = [:]
    /// What was found and is mended.
    private(set) var mended: [DamageClass: Int] = [:]

    /// Takes a row in.
    ///
    /// - Returns: its segment; nil where it says what cannot be, or names bytes that are held already.
    mutating func admit(_ row: StoredSegment) -> SegmentDescription? {
        guard let segment = row.description else { return nil }
        let ranges = segment.effectiveRanges(badBlocks: row.badBlocks)
        guard good.isDisjoint(ranges) else { return nil }
        good.formUnion(ranges)
        known += row.badBlocks.filter { (0..<segment.blockCount).contains($0) }.map(segment.range(ofBlock:))
        return segment
    }

    /// A segment went while it was looked at.
    mutating func forget(_ segment: SegmentDescription) { good.subtract(ByteRanges(segment.range)) }

    /// Damage of a segment that was taken in costs the bytes of a range.
    mutating func note(_ damageClass: DamageClass, losing range: ByteRange) {
        good.subtract(ByteRanges(range))
        note(damageClass, claiming: range)
    }

    /// Damage costs the bytes of a range that are not held otherwise; nil costs none.
    mutating func note(_ damageClass: DamageClass, claiming range: ByteRange?) {
        pending[damageClass, default: 0] += 1
        if let range { lost.insert(contentsOf: range) }
    }

    /// Damage that is mended already, and cost nothing.
    mutating func noteMended(_ damageClass: DamageClass) { mended[damageClass, default: 0] += 1 }

    /// All rows were taken in: blocks that failed before count where nothing has taken their place.
    mutating func finish() {
        for range in known where !good.gaps(in: range).isEmpty { note(.block, claiming: range) }
        known = []
    }

    /// The bytes that were claimed and cannot be opened.
    var gaps: ByteRanges { lost.subtracting(good) }

    var isSound: Bool { pending.isEmpty && mended.isEmpty }
}

/// Chooses a share of the segments by chance, each as likely as the others, and neither more nor fewer than were asked
/// for: at least one, where there is one.
struct SegmentSample {
    private(set) var wanted: Int
    /// Segments that are still to come.
    private var left: Int

    init(percent: Double, of total: Int) {
        wanted = min(total, Int((Double(total) * percent / 100).rounded(.up)))
        left = total
    }

    /// Whether the next segment is one of the chosen.
    ///
    /// - Parameter random: gives a number below its argument.
    mutating func takesNext(_ random: (UInt32) throws -> UInt32) rethrows -> Bool {
        // More may come than were counted: bytes are being fetched.
        guard wanted > 0, left > 0 else { return false }
        let isTaken = try wanted >= left || Int(random(UInt32(clamping: left))) < wanted
        left -= 1
        if isTaken { wanted -= 1 }
        return isTaken
    }
}
