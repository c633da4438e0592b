import VaultModel

@testable import VaultCrypto

extension SecretKey {
    /// A key of given bytes.
    init(_ bytes: [UInt8]) throws {
        guard bytes.count == Self.byteCount else { throw VaultError(.invalidArgument, "a test key has 32 bytes") }
        try unsafe self.init { unsafe $0.copyBytes(from: bytes) }
    }

    /// Whether these bytes, taken as they are, make a key.
    static func isKey(_ bytes: [UInt8]) throws -> Bool {
        try unsafe bytes.withUnsafeBytes { try unsafe SecretKey(copying: $0) != nil }
    }

    /// A key of 32 equal bytes.
    init(repeating byte: UInt8) throws { try self.init(Array(repeating: byte, count: Self.byteCount)) }

    /// The key's bytes, copied out of locked memory: only a test may.
    var exposed: [UInt8] {
        unsafe withBytes { unsafe Array(UnsafeBufferPointer(start: $0, count: Self.byteCount)) }
    }
}

extension SecretBytes {
    /// Secret bytes with a given content.
    init(_ bytes: [UInt8]) throws {
        try unsafe self.init(capacity: bytes.count) { output in
            unsafe output.copyBytes(from: bytes)
            return bytes.count
        }
    }

    /// The bytes, copied out of locked memory: only a test may.
    var exposed: [UInt8] { unsafe withBytes { unsafe Array($0) } }
}

extension [UInt8] {
    /// The same bytes with one bit changed.
    func flipping(bit: Int) -> [UInt8] {
        var changed = self
        changed[bit / 8] ^= 1 << UInt8(bit % 8)
        return changed
    }
}
