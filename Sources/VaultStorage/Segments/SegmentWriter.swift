import VaultCrypto
package import VaultModel

/// Writes one segment, front to back, once.
///
/// Whole blocks are sealed and written as they fill; the short last block only when the segment is closed. It has one
/// owner, who appends from one place at a time. Calls may block. After a write that failed nothing more is appended, and
/// after a sync that failed none is tried: what is left is to close it.
package struct SegmentWriter: ~Copyable {
    /// The segment with what is sealed and written so far: whole blocks, readable in this process, not yet durable.
    package private(set) var segment: SegmentDescription

    private let file: any StoredFile
    private var sealer: SegmentSealer
    private var filling: [UInt8] = []
    private var sealed: [UInt8]
    /// Up to where the system was told to begin to write.
    private var handedOver: Int64 = 0
    private var writeFailure: FileFailure?
    private var syncFailure: FileFailure?
    /// How many blocks are written to the file at a time. With more than one, a write that fails costs all of them.
    var blocksInRun = 1
    /// Whether the file's name is durable: once is enough.
    var isNameDurable = false

    /// After so many bytes the disk gets to work, while more are sealed.
    private static let handOverBytes: Int64 = 1 << 20

    /// Writes the header of a new file.
    init(_ segment: SegmentDescription, resourceKey: borrowing SecretKey, file: any StoredFile) throws {
        let key = try SegmentKey(resourceKey: resourceKey, segment: segment)
        try file.write(key.header, at: 0)
        self.segment = segment
        self.file = file
        sealer = SegmentSealer(key: key)
        sealed = [UInt8](repeating: 0, count: segment.blockSize + SegmentDescription.tagByteCount)
        filling.reserveCapacity(segment.blockSize)
    }

    /// How many more bytes the segment takes.
    package var room: Int64 { SegmentDescription.mostBytes - segment.length - Int64(filling.count) }

    /// One past the last byte appended, as an offset of the representation.
    package var end: Int64 { segment.start + segment.length + Int64(filling.count) }

    /// The size that the file would have were the segment closed after `count` bytes more.
    func fileSize(after count: Int) -> Int64 {
        var closed = segment
        closed.length += Int64(filling.count + count)
        return closed.fileSize
    }

    /// Takes bytes that follow the last ones, at most ``room``; seals and writes every block that is full.
    package mutating func append(_ bytes: ArraySlice<UInt8>) throws(FileFailure) {
        precondition(Int64(bytes.count) <= room)
        var rest = bytes
        while !rest.isEmpty {
            if filling.isEmpty, rest.count >= segment.blockSize {
                let whole = min(rest.count / segment.blockSize, blocksInRun) * segment.blockSize
                try sealRun(rest.prefix(whole))
                rest = rest.dropFirst(whole)
                continue
            }
            let taken = rest.prefix(segment.blockSize - filling.count)
            filling += taken
            rest = rest.dropFirst(taken.count)
            if filling.count == segment.blockSize { try sealFilling() }
        }
    }

    /// Seals the bytes of the block that is not full, if there are any: the segment ends with them, or with the last
    /// block that could be written.
    mutating func finish() {
        // The caller sees by the segment's end that the short block is missing.
        if !filling.isEmpty { try? sealFilling() }
        // A part of the block that failed may stand in the file; were it left there, nobody would read it.
        if writeFailure != nil { try? file.truncate(to: segment.fileSize) }
    }

    /// Makes what is written durable. Once that failed it is never tried again: the kernel may say yes to pages that the
    /// disk never got.
    mutating func synchronize() throws(FileFailure) {
        if let syncFailure { throw syncFailure }
        do throws(FileFailure) {
            try file.synchronize()
        } catch {
            syncFailure = error
            throw error
        }
    }

    /// Makes the whole blocks durable and commits them.
    package mutating func checkpoint(in store: VaultStore) throws { try store.checkpoint(&self) }

    private mutating func sealFilling() throws(FileFailure) {
        // Taken out, so that the block is held once and can be wiped.
        var block: [UInt8] = []
        swap(&block, &filling)
        defer {
            SecureWipe.wipe(&block)
            block.removeAll(keepingCapacity: true)
            swap(&block, &filling)
        }
        try sealRun(block[...])
    }

    /// Seals whole blocks, or the short last one, and writes them at once.
    private mutating func sealRun(_ plaintext: ArraySlice<UInt8>) throws(FileFailure) {
        if let writeFailure { throw writeFailure }
        let offset = segment.fileOffset(ofBlock: sealer.nextBlock)
        let blocks = max(1, plaintext.count / segment.blockSize)
        let size = plaintext.count + blocks * SegmentDescription.tagByteCount
        if sealed.count < size { sealed = [UInt8](repeating: 0, count: size) }
        unsafe plaintext.withUnsafeBytes { plain in
            unsafe sealed.withUnsafeMutableBytes { output in
                for block in 0..<blocks {
                    let first = block * segment.blockSize
                    let place = first + block * SegmentDescription.tagByteCount
                    let end = min(first + segment.blockSize, plain.count)
                    // Each block has its own part of both buffers.
                    unsafe sealer.seal(
                        UnsafeRawBufferPointer(rebasing: plain[first..<end]),
                        into: UnsafeMutableRawBufferPointer(rebasing: output[place..<size]))
                }
            }
        }
        do throws(FileFailure) {
            try file.write(sealed[..<size], at: offset)
        } catch {
            writeFailure = error
            throw error
        }
        segment.length += Int64(plaintext.count)
        let end = offset + Int64(size)
        guard end - handedOver >= Self.handOverBytes else { return }
        file.beginWriting(handedOver..<end)
        handedOver = end
    }
}
