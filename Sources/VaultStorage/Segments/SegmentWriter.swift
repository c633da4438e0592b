import VaultCrypto
package import VaultModel

/// Writes one segment once, from start to end.
///
/// Whole blocks are sealed and written as they fill up; the short last block is sealed only when the segment is closed.
/// The writer has one owner, which never makes two calls at the same time. Calls may block. After a failed write,
/// nothing more may be appended; after a failed sync, no other sync may be tried. The segment can then only be closed.
package struct SegmentWriter: ~Copyable {
    /// The segment with the whole blocks written so far: readable in this process, but not yet durable.
    package private(set) var segment: SegmentDescription

    private let file: any StoredFile
    private var sealer: SegmentSealer
    private var filling: [UInt8] = []
    private var sealed: [UInt8]
    /// The file offset up to which writeback has been started.
    private var writebackEnd: Int64 = 0
    private var writeFailure: FileFailure?
    private var syncFailure: FileFailure?
    /// The maximum number of blocks written to the file at a time. If such a write fails, all of its blocks are lost.
    var blocksInRun = 1
    /// Whether to ask the system to start writing to the disk before a sync.
    var startsWriteback = true
    /// Whether the file's name is durable. The name is synced only once.
    var isNameDurable = false

    /// The number of bytes after which the system is asked to start writing to the disk, while more blocks are sealed.
    private static let writebackInterval: Int64 = 1 << 20

    /// Creates the writer of a new file, and writes the file's header.
    init(_ segment: SegmentDescription, resourceKey: borrowing SecretKey, file: any StoredFile) throws {
        let key = try SegmentKey(resourceKey: resourceKey, segment: segment)
        try file.write(key.header, at: 0)
        self.segment = segment
        self.file = file
        sealer = SegmentSealer(key: key)
        sealed = [UInt8](repeating: 0, count: segment.blockSize + SegmentDescription.tagByteCount)
        filling.reserveCapacity(segment.blockSize)
    }

    /// The number of bytes that still fit into the segment.
    package var capacity: Int64 { SegmentDescription.maxBytes - segment.length - Int64(filling.count) }

    /// The offset in the representation just past the last byte appended.
    package var end: Int64 { segment.start + segment.length + Int64(filling.count) }

    /// Returns the size that the file would have if the segment were closed after `count` more bytes.
    func fileSize(after count: Int) -> Int64 {
        var closed = segment
        closed.length += Int64(filling.count + count)
        return closed.fileSize
    }

    /// Appends at most ``capacity`` bytes; seals and writes every block that is full.
    package mutating func append(_ bytes: ArraySlice<UInt8>) throws(FileFailure) {
        precondition(Int64(bytes.count) <= capacity)
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

    /// Seals the bytes of the incomplete block, if there are any.
    ///
    /// The segment then ends with those bytes or, if they cannot be written, with the last block that was written.
    mutating func finish() {
        // The caller can tell from the segment's end whether the short block is missing.
        if !filling.isEmpty { try? sealFilling() }
        // Cut off whatever was written of the failed block. If this fails, it does no harm, because those bytes are
        // never read.
        if writeFailure != nil { try? file.truncate(to: segment.fileSize) }
    }

    /// Makes the written bytes durable.
    ///
    /// A failed sync is never retried, because the kernel may report success for pages that the disk never received.
    mutating func synchronize() throws(FileFailure) {
        if let syncFailure { throw syncFailure }
        do throws(FileFailure) {
            try file.synchronize()
        } catch {
            syncFailure = error
            throw error
        }
    }

    private mutating func sealFilling() throws(FileFailure) {
        // The array is swapped out rather than copied, so that the plaintext exists only once and can be wiped.
        var block: [UInt8] = []
        swap(&block, &filling)
        defer {
            SecureWipe.wipe(&block)
            block.removeAll(keepingCapacity: true)
            swap(&block, &filling)
        }
        try sealRun(block[...])
    }

    /// Seals whole blocks, or the short last one, and writes them in one call.
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
        guard startsWriteback, end - writebackEnd >= Self.writebackInterval else { return }
        file.startWriteback(writebackEnd..<end)
        writebackEnd = end
    }
}
