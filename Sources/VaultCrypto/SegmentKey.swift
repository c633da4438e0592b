package import VaultModel

/// The key `T` of one segment, with the header that binds it.
///
/// `T` is derived from the resource key and from every fact about the segment's place, so a block that opens under it
/// can only be this block of this segment at this offset of this representation.
package final class SegmentKey: Sendable {
    /// The header of the segment's file, 88 bytes: the bound bytes, then the commitment to the key.
    package let header: [UInt8]

    private let secret: SecretKey

    /// Builds the header that the segment's file must have, and derives the key.
    package init(resourceKey: borrowing SecretKey, segment: SegmentDescription) throws {
        let bound = SegmentHeader.boundBytes(of: segment)
        secret = try KeyDerivation.key(from: resourceKey, .segment, bound)
        header = bound + KeyDerivation.value(from: secret, .commitment)
    }

    /// The result of checking a file's header.
    package enum HeaderDecision: Sendable {
        /// The header of the segment that the row describes, under this key.
        case genuine
        /// A damaged header, or another segment's.
        case foreign
        /// This segment's header, but sealed under another key.
        case wrongKey
    }

    /// Compares the first 88 bytes of a file with the required header.
    package func judge(_ fileHeader: [UInt8]) -> HeaderDecision {
        if fileHeader == header { return .genuine }
        guard fileHeader.count == header.count else { return .foreign }
        return fileHeader.prefix(SegmentHeader.boundByteCount) == header.prefix(SegmentHeader.boundByteCount)
            ? .wrongKey : .foreign
    }

    /// Opens block `index` into `output`.
    ///
    /// - Parameters:
    ///   - sealed: the block's ciphertext and tag.
    ///   - output: must be large enough for the block's plaintext.
    /// - Returns: whether the tag was right. If not, `output` holds nothing of the block.
    package func open(
        _ sealed: UnsafeRawBufferPointer, block index: Int, into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        // The caller lends both buffers for this call.
        unsafe AEAD.open(sealed, into: output, nonce: Self.nonce(index), associatedData: [], key: secret)
    }

    /// Opens a part of block `index` into `output`.
    ///
    /// - Parameters:
    ///   - sealed: the block's ciphertext and tag.
    ///   - part: offsets in the block's plaintext.
    ///   - output: exactly as many bytes as `part`.
    /// - Returns: whether the tag, which covers the whole block, was right. If not, `output` holds nothing of the
    ///   block.
    package func open(
        _ sealed: UnsafeRawBufferPointer, block index: Int, part: Range<Int>,
        into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        // The caller lends both buffers for this call.
        unsafe AEAD.open(sealed, part: part, into: output, nonce: Self.nonce(index), key: secret)
    }

    /// Seals block `index`. Only ``SegmentSealer`` calls this, so that each block index is sealed once.
    func seal(_ plaintext: UnsafeRawBufferPointer, block index: Int, into output: UnsafeMutableRawBufferPointer) {
        // The caller lends both buffers for this call.
        unsafe AEAD.seal(plaintext, into: output, nonce: Self.nonce(index), associatedData: [], key: secret)
    }

    /// The nonce of a block: `00 00 00 00 ‖ u64(index)`, little-endian.
    private static func nonce(_ index: Int) -> AEAD.Nonce {
        let counter = UInt64(index)
        return AEAD.Nonce { position in
            position < 4 ? 0 : UInt8(truncatingIfNeeded: counter >> UInt64((position - 4) * 8))
        }
    }
}

/// The layout of a segment file's header.
package enum SegmentHeader {
    /// The number of bytes from which the segment's key is derived: all but the commitment.
    package static let boundByteCount = 56

    private static let magic: [UInt8] = Array("MVSEG".utf8) + [0, 0, 1]

    /// Returns magic, block size, flags, representation, segment and start.
    package static func boundBytes(of segment: SegmentDescription) -> [UInt8] {
        magic + LittleEndian.bytes(UInt32(segment.blockSize)) + LittleEndian.bytes(UInt32(0))
            + segment.representation.bytes + segment.id.bytes + LittleEndian.bytes(UInt64(segment.start))
    }

    /// Reads the header of a file that no row describes.
    ///
    /// None of it can be trusted until the commitment and every block have opened.
    ///
    /// - Parameters:
    ///   - header: the first bytes of the file.
    ///   - fileSize: the size of the file in bytes, from which the segment's length follows.
    ///   - keyNumber: the number of the key to try.
    /// - Returns: nil if it is not a segment header.
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

/// Seals the blocks of one segment in order, each index once.
///
/// Sealing an index twice would reuse its nonce, which exposes plaintext and permits forgery. The sealer has one owner,
/// and can be neither copied nor rewound.
package struct SegmentSealer: ~Copyable {
    package let key: SegmentKey

    /// The index of the next block.
    package private(set) var nextBlock = 0

    package init(key: SegmentKey) { self.key = key }

    /// Seals the next block into `output`, which must have space for plaintext and tag.
    package mutating func seal(_ plaintext: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
        let block = nextBlock
        // Counted first: whatever happens to the bytes, this index must not be used again.
        nextBlock += 1
        unsafe key.seal(plaintext, block: block, into: output)
    }
}
