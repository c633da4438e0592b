package import VaultCrypto
package import VaultModel

/// Opens the blocks of one segment.
///
/// The file is not trusted: its header must be the one derived from the row and the key before any block is opened, and
/// plaintext is returned only after its block's tag has been checked. Files are read, never mapped, so that truncating
/// a file during a read causes an error, not a signal. Calls may block.
package final class SegmentReader: Sendable {
    private let key: SegmentKey
    let file: any StoredFile
    private let pin: (any AnyObject & Sendable)?
    private let work: WorkCounters?

    /// The maximum number of blocks read from the file at a time.
    private static let blocksInRun = 8

    /// Opens the file, and requires that its header matches the row and the key.
    ///
    /// - Parameters:
    ///   - pin: keeps the file's disk space counted while the reader has the file open.
    ///   - work: the counters that include the bytes opened by this reader.
    package init(
        _ segment: SegmentDescription, resourceKey: borrowing SecretKey, in store: any SegmentStore,
        pin: (any AnyObject & Sendable)? = nil, work: WorkCounters? = nil
    ) throws {
        self.pin = pin
        self.work = work
        do throws(FileFailure) {
            file = try store.open(segment.id, writable: false)
        } catch {
            throw error.kind == .notFound ? SegmentFailure.missing : .unreadable(error)
        }
        key = try SegmentKey(resourceKey: resourceKey, segment: segment)
        switch key.judge(try Self.header(of: file)) {
        case .genuine: break
        case .foreign: throw SegmentFailure.foreign
        case .wrongKey: throw SegmentFailure.wrongKey
        }
    }

    private static func header(of file: any StoredFile) throws -> [UInt8] {
        do throws(FileFailure) {
            return try file.read(count: SegmentDescription.headerByteCount, at: 0)
        } catch {
            throw SegmentFailure.unreadable(error)
        }
    }

    /// Opens the bytes of `range` into `output`. The range is in offsets of the representation, and lies within
    /// `segment`.
    ///
    /// - Parameters:
    ///   - segment: the segment as its row describes it now, which may have grown since this reader was created.
    ///   - mayWait: whether the call may wait for the disk.
    /// - Returns: whether the bytes were opened; false if the call would have to wait for the disk but may not. The
    ///   contents of `output` are then meaningless.
    /// - Precondition: `output` has exactly as many bytes as `range`, and `range` is within the segment.
    /// - Throws: ``SegmentFailure/badBlock(_:)`` or ``SegmentFailure/unreadable(_:)``; `output` then holds verified
    ///   bytes up to the block that failed, and none from that block.
    package func open(
        _ range: ByteRange, of segment: SegmentDescription, into output: UnsafeMutableRawBufferPointer,
        mayWait: Bool = true
    ) throws(SegmentFailure) -> Bool {
        precondition(output.count == Int(range.length) && segment.range.contains(range))
        guard !range.isEmpty else { return true }
        var block = segment.block(holding: range.lowerBound)
        let last = segment.block(holding: range.upperBound - 1)
        while block <= last {
            let end = min(block + Self.blocksInRun - 1, last)
            guard try unsafe openRun(block...end, range, segment, output, mayWait) else { return false }
            block = end + 1
        }
        return true
    }

    /// Returns the bytes of `range`, which is in offsets of the representation and lies within `segment`.
    ///
    /// - Throws: ``SegmentFailure/badBlock(_:)`` or ``SegmentFailure/unreadable(_:)``.
    package func bytes(_ range: ByteRange, of segment: SegmentDescription) throws(SegmentFailure) -> [UInt8] {
        try bytes(range, of: segment, mayWait: true) ?? []
    }

    /// Returns the bytes of `range` if they can be read without waiting for the disk; otherwise nil. Does not block.
    package func bytesAtHand(_ range: ByteRange, of segment: SegmentDescription) throws(SegmentFailure) -> [UInt8]? {
        try bytes(range, of: segment, mayWait: false)
    }

    private func bytes(
        _ range: ByteRange, of segment: SegmentDescription, mayWait: Bool
    ) throws(SegmentFailure) -> [UInt8]? {
        var failure: SegmentFailure?
        var isThere = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(range.length)) { buffer, count in
            do throws(SegmentFailure) {
                // The buffer is the array's own storage, limited to the length of the range.
                isThere = try unsafe open(
                    range, of: segment,
                    into: UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[..<Int(range.length)]),
                    mayWait: mayWait)
                count = isThere ? Int(range.length) : 0
            } catch {
                // Otherwise, bytes opened before the failed block would be freed with the array without being wiped.
                unsafe SecureWipe.wipe(UnsafeMutableRawBufferPointer(buffer))
                failure = error
            }
        }
        if let failure { throw failure }
        return isThere ? bytes : nil
    }

    private func openRun(
        _ blocks: ClosedRange<Int>, _ wanted: ByteRange, _ segment: SegmentDescription,
        _ output: UnsafeMutableRawBufferPointer, _ mayWait: Bool
    ) throws(SegmentFailure) -> Bool {
        let offset = segment.fileOffset(ofBlock: blocks.lowerBound)
        let sealedSize = blocks.reduce(0) {
            $0 + Int(segment.range(ofBlock: $1).length) + SegmentDescription.tagByteCount
        }
        return try unsafe withUnsafeTemporaryAllocation(byteCount: sealedSize, alignment: 16) {
            sealed throws(SegmentFailure) -> Bool in
            let count: Int
            if mayWait {
                count = try unsafe read(into: sealed, at: offset)
            } else if let found = unsafe file.readFromMemory(into: sealed, at: offset) {
                count = found
            } else {
                return false
            }
            var position = 0
            for block in blocks {
                let plain = segment.range(ofBlock: block)
                let size = Int(plain.length) + SegmentDescription.tagByteCount
                guard position + size <= count else { throw .badBlock(block) }
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: sealed[position..<(position + size)])
                guard unsafe openBlock(block, bytes, plain, wanted, output) else { throw .badBlock(block) }
                position += size
            }
            work?.opened.count(Int64(sealedSize - blocks.count * SegmentDescription.tagByteCount))
            return true
        }
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SegmentFailure) -> Int {
        do throws(FileFailure) {
            return try unsafe file.read(into: buffer, at: offset)
        } catch {
            throw .unreadable(error)
        }
    }

    /// Opens the wanted bytes of one block directly into their place in `output`.
    private func openBlock(
        _ block: Int, _ sealed: UnsafeRawBufferPointer, _ plain: ByteRange, _ wanted: ByteRange,
        _ output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let part = plain.clamped(to: wanted)
        let place = Int(part.lowerBound - wanted.lowerBound)
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: output[place..<(place + Int(part.length))])
        guard part != plain else { return unsafe key.open(sealed, block: block, into: target) }
        let first = Int(part.lowerBound - plain.lowerBound)
        return unsafe key.open(sealed, block: block, part: first..<(first + target.count), into: target)
    }
}

extension Range<Int64> {
    /// Returns whether all of `other` is within this range.
    fileprivate func contains(_ other: ByteRange) -> Bool {
        other.lowerBound >= lowerBound && other.upperBound <= upperBound
    }
}

extension SegmentReader {
    /// Returns the size of the file in bytes.
    package func fileSize() throws(SegmentFailure) -> Int64 {
        do throws(FileFailure) {
            return try file.size()
        } catch {
            throw .unreadable(error)
        }
    }

    /// Checks a run of blocks by opening them, and wipes their plaintext.
    ///
    /// - Returns: the blocks whose tag is wrong, or that are cut short.
    /// - Throws: ``SegmentFailure/unreadable(_:)``.
    package func badBlocks(
        in blocks: Range<Int>, of segment: SegmentDescription
    ) throws(SegmentFailure) -> [Int] {
        guard !blocks.isEmpty else { return [] }
        let end = segment.range(ofBlock: blocks.upperBound - 1).upperBound
        let size = Int(end - segment.range(ofBlock: blocks.lowerBound).lowerBound)
        return try unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) {
            plain throws(SegmentFailure) -> [Int] in
            defer { unsafe SecureWipe.wipe(plain) }
            var bad: [Int] = []
            var next = blocks.lowerBound
            while next < blocks.upperBound {
                let rest = segment.range(ofBlock: next).lowerBound..<end
                do throws(SegmentFailure) {
                    // The buffer is the part of the allocation that the rest of the range fills.
                    _ = try unsafe open(
                        rest, of: segment,
                        into: UnsafeMutableRawBufferPointer(rebasing: plain[..<Int(rest.length)]))
                    return bad
                } catch {
                    guard case .badBlock(let block) = error else { throw error }
                    bad.append(block)
                    next = block + 1
                }
            }
            return bad
        }
    }
}
