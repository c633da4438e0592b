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
