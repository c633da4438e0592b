import VaultCrypto
import VaultModel

/// A passphrase in locked memory, wiped when it is forgotten, and at the latest when the last reference goes.
public final class Passphrase: Sendable {
    /// Nil once it is forgotten.
    private let bytes: Locked<SecretBytes?>

    /// Lets `fill` write the passphrase, UTF-8, straight into locked memory of `capacity` bytes, and keeps as many
    /// bytes as it says. One line end at the end is dropped when it is used.
    ///
    /// - Throws: what `fill` throws; ``VaultError`` with code `storage` where there is no memory.
    public init(capacity: Int = 1024, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
        // The buffer is lent for the call.
        bytes = Locked(try unsafe SecretBytes(capacity: capacity, filledBy: fill))
    }

    /// Takes bytes that are in ordinary memory already.
    public convenience init(copying typed: [UInt8]) throws {
        try unsafe self.init(capacity: max(1, typed.count)) { buffer in
            unsafe buffer.copyBytes(from: typed)
            return typed.count
        }
    }

    /// Wipes it. What it has opened stays open; it opens nothing any more.
    public func forget() { bytes.withLock { $0 = nil } }

    func secret() throws -> UnlockSecret {
        let copy = try bytes.withLock { bytes -> SecretBytes in
            switch bytes {
            case .some(let kept): return try Self.copy(kept)
            case nil: throw VaultError(.wrongKey, "the passphrase was forgotten; ask for it again")
            }
        }
        return try .passphrase(normalizing: copy)
    }

    private static func copy(_ bytes: borrowing SecretBytes) throws -> SecretBytes {
        try unsafe bytes.withBytes { source in
            try unsafe SecretBytes(capacity: max(1, source.count)) { buffer in
                unsafe buffer.copyMemory(from: source)
                return source.count
            }
        }
    }
}
