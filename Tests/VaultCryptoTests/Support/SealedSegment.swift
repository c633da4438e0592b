import Testing
import VaultModel

@testable import VaultCrypto

/// A segment sealed in memory: its row, its key and its file.
struct SealedSegment {
    let row: SegmentDescription
    let plaintext: [UInt8]
    let file: [UInt8]

    /// Seals a segment; two files differ only by these parameters.
    init(
        resourceKey: borrowing SecretKey, id: UInt8 = 0x22, representation: UInt8 = 0x11, blockSize: Int = 4096,
        start: Int64 = 0,
        plaintext: [UInt8]
    ) throws {
        row = SegmentDescription(
            id: try #require(SegmentID(bytes: Array(repeating: id, count: 16))),
            representation: try #require(RepresentationID(bytes: Array(repeating: representation, count: 16))),
            keyNumber: 1,
            blockSize: blockSize, start: start, length: Int64(plaintext.count))
        self.plaintext = plaintext
        let key = try SegmentKey(resourceKey: resourceKey, segment: row)
        var sealer = SegmentSealer(key: key)
        var file = key.header
        for first in stride(from: 0, to: plaintext.count, by: blockSize) {
            file += sealer.seal(Array(plaintext[first..<min(first + blockSize, plaintext.count)]))
        }
        self.file = file
    }

    /// Returns the plaintext that a reader of `row` with this key opens from a whole file; nil if it refuses anything.
    func read(_ file: [UInt8], resourceKey: borrowing SecretKey) throws -> [UInt8]? {
        let key = try SegmentKey(resourceKey: resourceKey, segment: row)
        guard case .genuine = key.judge(Array(file.prefix(SegmentDescription.headerByteCount))),
            Int64(file.count) == row.fileSize
        else { return nil }
        var plaintext: [UInt8] = []
        for block in 0..<row.blockCount {
            guard let opened = key.open(Self.block(block, of: row, in: file), block: block) else { return nil }
            plaintext += opened
        }
        return plaintext
    }

    /// The sealed bytes of one block.
    func block(_ index: Int) -> [UInt8] { Self.block(index, of: row, in: file) }

    /// The sealed bytes of one block of a file with the layout of `row`.
    static func block(_ index: Int, of row: SegmentDescription, in file: [UInt8]) -> [UInt8] {
        let offset = Int(row.fileOffset(ofBlock: index))
        let count = Int(row.range(ofBlock: index).length) + SegmentDescription.tagByteCount
        return Array(file[offset..<(offset + count)])
    }
}

extension SegmentKey {
    /// Opens a block from an array; returns nil if its tag is wrong.
    func open(_ sealed: [UInt8], block index: Int) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: max(0, sealed.count - AEAD.tagByteCount))
        let isGenuine = unsafe sealed.withUnsafeBytes { sealed in
            unsafe output.withUnsafeMutableBytes { unsafe open(sealed, block: index, into: $0) }
        }
        return isGenuine ? output : nil
    }
}

extension SegmentSealer {
    /// Seals the next block from an array.
    mutating func seal(_ plaintext: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: plaintext.count + AEAD.tagByteCount)
        unsafe plaintext.withUnsafeBytes { plaintext in
            unsafe output.withUnsafeMutableBytes { unsafe seal(plaintext, into: $0) }
        }
        return output
    }
}
