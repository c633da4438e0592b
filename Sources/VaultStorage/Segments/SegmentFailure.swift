/// Why bytes of a segment cannot be had, typed by what follows from it.
package enum SegmentFailure: Error, Sendable {
    /// There is no file: the whole segment is a gap.
    case missing
    /// The file's header is damaged, or it is another segment's: put it aside, the whole segment is a gap.
    case foreign
    /// The header is right but sealed under another key: put it aside, the whole segment is a gap.
    case wrongKey
    /// One block fails its tag or is cut short: that block alone is a gap.
    case badBlock(Int)
    /// The file system refused: nothing is known about the bytes.
    case unreadable(FileFailure)

    /// Whether bytes that are there are not what was sealed.
    var isDamage: Bool {
        switch self {
        case .foreign, .wrongKey, .badBlock: true
        case .missing, .unreadable: false
        }
    }
}
