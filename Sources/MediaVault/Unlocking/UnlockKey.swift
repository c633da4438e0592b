import VaultCrypto
import VaultModel

/// A key of 32 bytes in locked memory, wiped when it is forgotten or when the last reference is released.
///
/// An app that keeps the key itself, for example in the keychain of the platform, unlocks with it and needs no file. The
/// bytes must be random, because they are not stretched as a passphrase is.
public final class UnlockKey: Sendable {
    /// The number of bytes in a key.
    public static let byteCount = SecretKey.byteCount

    /// The key; nil once it is forgotten.
    private let key: Locked<SecretKey?>

    /// Creates a key from the 32 bytes that `fill` writes directly into locked memory. It must write all of them.
    ///
    /// - Throws: any error of `fill`, or ``VaultError`` with code `storage` if there is not enough memory.
    public init(filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        // The buffer is valid only during the call.
        key = Locked(try unsafe SecretKey(filledBy: fill))
    }

    /// Creates a key from bytes that are already in ordinary memory. They belong to the caller, and are not wiped.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` if there are not 32 bytes; `storage` if there is not enough memory.
    public convenience init(copying bytes: [UInt8]) throws {
        guard bytes.count == Self.byteCount else {
            throw VaultError(.wrongKey, "a key has \(Self.byteCount) bytes, not \(bytes.count); give all of them")
        }
        try unsafe self.init { buffer in unsafe buffer.copyBytes(from: bytes) }
    }

    /// Wipes the key. Keyrings that it has opened stay open, but it cannot open any more.
    public func forget() { key.withLock { $0 = nil } }

    func secret() throws -> UnlockSecret {
        .key(
            try key.withLock { key in
                switch key {
                case .some(let kept): return try kept.duplicate()
                case nil: throw VaultError(.wrongKey, "the key was forgotten; ask for it again")
                }
            })
    }
}
