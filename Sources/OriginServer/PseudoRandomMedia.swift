package import VaultModel

/// Media of any length whose byte at any offset can be computed, so that a test checks any range without storing it.
package struct PseudoRandomMedia: Hashable, Sendable {
    package let seed: UInt64
    package let length: Int64

    package init(seed: UInt64, length: Int64) {
        self.seed = seed
        self.length = length
    }

    /// The byte at `offset`.
    package func byte(at offset: Int64) -> UInt8 {
        UInt8(truncatingIfNeeded: word(offset / 8) >> UInt64(offset % 8 * 8))
    }

    /// The bytes of `range`, which must be within the length.
    package func bytes(_ range: ByteRange) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Int(range.length)) { buffer, count in
            var offset = range.lowerBound
            var current: UInt64 = 0
            while offset < range.upperBound {
                if count == 0 || offset % 8 == 0 { current = word(offset / 8) >> UInt64(offset % 8 * 8) }
                unsafe buffer[count] = UInt8(truncatingIfNeeded: current)
                current >>= 8
                count += 1
                offset += 1
            }
        }
    }

    /// Whether `bytes` are the media's bytes from `offset` on.
    package func matches(_ bytes: [UInt8], at offset: Int64) -> Bool {
        offset >= 0 && offset + Int64(bytes.count) <= length
            && bytes == self.bytes(offset..<offset + Int64(bytes.count))
    }

    /// Eight bytes: the splitmix64 step of their index.
    private func word(_ index: Int64) -> UInt64 {
        var word = seed &+ (UInt64(bitPattern: index) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
