import VaultCrypto
package import VaultModel

extension SegmentReader {
    /// The size of the file.
    package func fileSize() throws(SegmentFailure) -> Int64 {
        do throws(FileFailure) {
            return try file.size()
        } catch {
            throw .unreadable(error)
        }
    }

    /// Opens a run of blocks, and wipes what they hold.
    ///
    /// - Returns: the blocks that fail their tag or are cut short.
    /// - Throws: ``SegmentFailure/unreadable(_:)``.
    package func badBlocks(
        in blocks: Range<Int>, of segment: SegmentDescription
    ) throws(SegmentFailure) -> [Int] {
        guard !blocks.isEmpty else { return [] }
        let end = segment.range(ofBlock: blocks.upperBound - 1).upperBound
        let size = Int(end - segment.range(ofBlock: blocks.lowerBound).lowerBound)
        return try unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) {
            plain throws(SegmentFailure) -> [Int] in
            defer { unsafe Remains.wipe(plain) }
            var bad: [Int] = []
            var next = blocks.lowerBound
            while next < blocks.upperBound {
                let rest = segment.range(ofBlock: next).lowerBound..<end
                do throws(SegmentFailure) {
                    // As many of the allocation's bytes as are left to be opened.
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
