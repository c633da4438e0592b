package import VaultModel

/// A file that its own header describes, and whose commitment has opened.
package struct ClaimedSegment: Sendable {
    package let segment: SegmentDescription
    /// The resource that it belongs to.
    package let resource: ResourceID
    package let reader: SegmentReader
    package let fileSize: Int64

    /// Whether the file ends with its last block.
    package var fits: Bool { segment.length > 0 && segment.fileSize == fileSize }
}
