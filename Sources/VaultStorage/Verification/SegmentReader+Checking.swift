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

    /// Opens a run of blocks and lets go of what they hold.
    ///
    /// - Returns: the blocks that fail their tag or are cut short.
    /// - Throws: ``SegmentFailure/unreadable(_:)``.
    package func badBlocks(
        in blocks: Range<Int>, of segment: SegmentDescription
    ) throws(SegmentFailure) -> [Int] {
        var bad: [Int] = []
        var next = blocks.lowerBound
        while next < blocks.upperBound {
            let end = segment.range(ofBlock: blocks.upperBound - 1).upperBound
            do throws(SegmentFailure) {
                _ = try bytes(segment.range(ofBlock: next).lowerBound..<end, of: segment)
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
