import Foundation
import GRDB
package import VaultModel

/// A row of the index that names a segment, as it stands: what it says need not be possible.
package struct StoredSegment: Sendable {
    package let id: SegmentID
    /// What the row says; nil where its numbers cannot be those of a segment.
    package let description: SegmentDescription?
    /// Whether it was still being written when the row was read.
    package let isOpen: Bool
    /// Blocks that failed their tag before.
    package let badBlocks: Set<Int>
    /// The bytes that it names; nil where that, too, is impossible.
    package let range: ByteRange?

    /// Where a walk through the segments of a representation goes on.
    package struct Place: Sendable {
        let start: DatabaseValue
        let id: DatabaseValue
    }

    package let place: Place
}
