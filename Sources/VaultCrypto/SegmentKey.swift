package import VaultModel

/// The key `T` of one segment, with the segment header that is bound to it.
///
/// `T` is derived from the resource key and from every fact that fixes the segment's place. A block that opens under it
/// can therefore only be this block of this segment, at this offset in this representation.
package final class SegmentKey: Sendable {
    /// The 88-byte header of the segment's file: the bound bytes, then the commitment to the key.
    package let header: [UInt8]

    private let secret: SecretKey

    /// Derives the key, and builds the header that the segment's file must have.
    package init(resourceKey: borrowing SecretKey, segment: SegmentDescription) throws {
        let bound = SegmentHeader.boundBytes(of: segment)
        secret = try KeyDerivation.key(from: resourceKey, .segment, bound)
        header = bound + KeyDerivation.value(from: secret, .commitment)
    }

    /// The verdict on a file's header.
    package enum HeaderDecision: Sendable {
        /// The header matches the segment that the row describes, under this key.
        case genuine
        /// The header is damaged, or belongs to another segment.
        case foreign
        /// The header belongs to this segment, but the segment was sealed under another key.
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
    ///   - output: the buffer for the plaintext, which must be large enough for the block's plaintext.
    /// - Returns: whether the tag was valid. If it was not, `output` holds none of the block's bytes.
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
    ///   - part: the range of offsets in the block's plaintext.
    ///   - output: the buffer for the plaintext, which must have exactly as many bytes as `part`.
    /// - Returns: whether the tag, which covers the whole block, was valid. If it was not, `output` holds none of the
    ///   block's bytes.
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
    /// The number of header bytes from which the segment's key is derived: all except the commitment.
    package static let boundByteCount = 56

    private static let magic: [UInt8] = Array("MVSEG".utf8) + [0, 0, 1]

    /// Returns the magic bytes, block size, flags, representation id, segment id and start offset.
    package static func boundBytes(of segment: SegmentDescription) -> [UInt8] {
        magic + LittleEndian.bytes(UInt32(segment.blockSize)) + LittleEndian.bytes(UInt32(0))
            + segment.representation.bytes + segment.id.bytes + LittleEndian.bytes(UInt64(segment.start))
    }

    /// Reads the header of a file that no index row describes.
    ///
    /// None of it can be trusted until the commitment has been checked and every block has opened.
    ///
    /// - Parameters:
    ///   - header: the first bytes of the file.
    ///   - fileSize: the size of the file in bytes, from which the segment's length is computed.
    ///   - keyNumber: the number of the key to try.
    /// - Returns: nil if the bytes are not a segment header.
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

/// Seals the blocks of one segment in order, and each index only once.
///
/// Sealing two blocks under one index would reuse its nonce, which exposes plaintext and permits forgery. The sealer
/// therefore has one owner, and can be neither copied nor rewound.
package struct SegmentSealer: ~Copyable {
    package let key: SegmentKey

    /// The index of the next block to seal.
    package private(set) var nextBlock = 0

    package init(key: SegmentKey) { self.key = key }

    /// Seals the next block into `output`, which must have space for the ciphertext and the tag.
    package mutating func seal(_ plaintext: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
        let block = nextBlock
        // The index is counted first, because it must not be used again, whatever happens to the bytes.
        nextBlock += 1
        unsafe key.seal(plaintext, block: block, into: output)
    }
}
