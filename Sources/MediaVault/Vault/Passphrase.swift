import VaultCrypto

/// A passphrase in locked memory, wiped when the last reference goes.
public final class Passphrase: Sendable {
    private let bytes: SecretBytes

    /// Lets `fill` write the passphrase, UTF-8, straight into locked memory of `capacity` bytes, and keeps as many
    /// bytes as it says. One line end at the end is dropped when it is used.
    ///
    /// - Throws: what `fill` throws; ``VaultError`` with code `storage` where there is no memory.
    public init(capacity: Int = 1024, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
        // The buffer is lent for the call.
        bytes = try unsafe SecretBytes(capacity: capacity, filledBy: fill)
    }

    /// Takes bytes that are in ordinary memory already.
    public convenience init(copying typed: [UInt8]) throws {
        try unsafe self.init(capacity: max(1, typed.count)) { buffer in
            unsafe buffer.copyBytes(from: typed)
            return typed.count
        }
    }

    func secret() throws -> UnlockSecret {
        let copy = try unsafe bytes.withBytes { source in
            try unsafe SecretBytes(capacity: max(1, source.count)) { buffer in
                unsafe buffer.copyMemory(from: source)
                return source.count
            }
        }
        return try .passphrase(normalizing: copy)
    }
}
