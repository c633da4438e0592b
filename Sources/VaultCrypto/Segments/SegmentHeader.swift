package import VaultModel

/// The layout of a segment file's header.
package enum SegmentHeader {
    /// The bytes that the segment's key is derived from: everything but the commitment.
    package static let boundByteCount = 56

    private static let magic: [UInt8] = Array("MVSEG".utf8) + [0, 0, 1]

    /// Magic, block size, flags, representation, segment, start.
    package static func boundBytes(of segment: SegmentDescription) -> [UInt8] {
        magic + LittleEndian.bytes(UInt32(segment.blockSize)) + LittleEndian.bytes(UInt32(0))
            + segment.representation.bytes + segment.id.bytes + LittleEndian.bytes(UInt64(segment.start))
    }
}
