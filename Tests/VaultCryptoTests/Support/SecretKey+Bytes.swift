import VaultModel

@testable import VaultCrypto

extension SecretKey {
    /// Creates a key from given bytes.
    init(_ bytes: [UInt8]) throws {
        guard bytes.count == Self.byteCount else { throw VaultError(.invalidArgument, "a test key has 32 bytes") }
        try unsafe self.init { unsafe $0.copyBytes(from: bytes) }
    }

    /// Returns whether these bytes are accepted as a key.
    static func isKey(_ bytes: [UInt8]) throws -> Bool {
        try unsafe bytes.withUnsafeBytes { try unsafe SecretKey(copying: $0) != nil }
    }

    /// Creates a key of 32 equal bytes.
    init(repeating byte: UInt8) throws { try self.init(Array(repeating: byte, count: Self.byteCount)) }

    /// The key's bytes, copied out of locked memory, which only a test may do.
    var exposed: [UInt8] {
        unsafe withBytes { unsafe Array(UnsafeBufferPointer(start: $0, count: Self.byteCount)) }
    }
}

extension SecretBytes {
    /// Creates secret bytes with given content.
    init(_ bytes: [UInt8]) throws {
        try unsafe self.init(capacity: bytes.count) { output in
            unsafe output.copyBytes(from: bytes)
            return bytes.count
        }
    }

    /// The bytes, copied out of locked memory, which only a test may do.
    var exposed: [UInt8] { unsafe withBytes { unsafe Array($0) } }
}

extension [UInt8] {
    /// Returns the same bytes with one bit flipped.
    func flipping(bit: Int) -> [UInt8] {
        var changed = self
        changed[bit / 8] ^= 1 << UInt8(bit % 8)
        return changed
    }
}
