internal import VaultModel

/// Seals the blocks of one segment in order, each index once: sealing one twice would give its key away.
///
/// It has one owner and cannot be copied or wound back.
package struct SegmentSealer: ~Copyable {
    package let key: SegmentKey

    /// The block that is sealed next.
    package private(set) var nextBlock = 0

    package init(key: SegmentKey) { self.key = key }

    /// Seals the next block into `output`, which has room for plaintext and tag.
    package mutating func seal(_ plaintext: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
        let block = nextBlock
        // The counter moves first: whatever happens to the bytes, this index is used up.
        nextBlock += 1
        unsafe key.seal(plaintext, block: block, into: output)
    }
}
