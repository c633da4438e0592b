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

    /// What a file's header says about it, where no row does: nothing to be believed before the commitment, and every
    /// block, has opened.
    ///
    /// - Parameters:
    ///   - header: the first bytes of the file.
    ///   - fileSize: the size of the file, which tells the length.
    ///   - keyNumber: the key that is to be tried on it.
    /// - Returns: nil where it is no header.
    package static func claim(_ header: [UInt8], fileSize: Int64, keyNumber: Int) -> SegmentDescription? {
        guard header.count == SegmentDescription.headerByteCount, header.starts(with: magic),
            let representation = RepresentationID(bytes: Array(header[16..<32])),
            let id = SegmentID(bytes: Array(header[32..<48])), let start = Int64(exactly: number(header[48..<56]))
        else { return nil }
        let blockSize = Int(number(header[8..<12]))
        guard SegmentDescription.blockSizes.contains(blockSize) else { return nil }
        let segment = SegmentDescription(
            id: id, representation: representation, keyNumber: keyNumber, blockSize: blockSize, start: start,
            length: SegmentDescription.length(inFileOf: fileSize, blockSize: blockSize))
        return segment.isPossible ? segment : nil
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
