internal import VaultModel

/// A small value sealed under a key with a random nonce.
///
/// Its layout is `nonce(12) ‖ ciphertext ‖ tag(16)`, the same as that of CryptoKit's `ChaChaPoly.SealedBox.combined`.
package enum SealedValue {
    /// The number of bytes that sealing adds to the plaintext.
    package static let overhead = AEAD.nonceByteCount + AEAD.tagByteCount

    /// Seals bytes under a random nonce.
    package static func seal(
        _ plaintext: [UInt8], key: borrowing SecretKey, associatedData: [UInt8]
    ) throws -> [UInt8] {
        try unsafe plaintext.withUnsafeBytes { try unsafe seal($0, key: key, associatedData: associatedData) }
    }

    /// Seals a key without copying it out of locked memory.
    package static func seal(
        _ secret: borrowing SecretKey, key: borrowing SecretKey, associatedData: [UInt8]
    ) throws -> [UInt8] {
        try unsafe secret.withBytes { bytes in
            try unsafe seal(
                UnsafeRawBufferPointer(start: bytes, count: SecretKey.byteCount), key: key,
                associatedData: associatedData)
        }
    }

    /// Opens a sealed value; nil if its tag is not valid for this key and associated data.
    package static func open(_ sealed: [UInt8], key: borrowing SecretKey, associatedData: [UInt8]) -> [UInt8]? {
        guard sealed.count >= overhead else { return nil }
        let size = sealed.count - overhead
        var isGenuine = false
        let plaintext = unsafe sealed.withUnsafeBytes { bytes in
            let body = unsafe UnsafeRawBufferPointer(rebasing: bytes[AEAD.nonceByteCount...])
            return unsafe [UInt8](unsafeUninitializedCapacity: size) { output, count in
                isGenuine = unsafe AEAD.open(
                    body, into: UnsafeMutableRawBufferPointer(output),
                    nonce: nonce(of: sealed), associatedData: associatedData, key: key)
                count = isGenuine ? size : 0
            }
        }
        return isGenuine ? plaintext : nil
    }

    /// Opens a sealed key straight into locked memory; nil if its tag is not valid or the key is not 32 bytes.
    package static func openKey(
        _ sealed: [UInt8], key: borrowing SecretKey, associatedData: [UInt8]
    ) throws -> SecretKey? {
        guard sealed.count == overhead + SecretKey.byteCount else { return nil }
        var isGenuine = false
        let secret = try unsafe SecretKey { output in
            isGenuine = unsafe sealed.withUnsafeBytes { bytes in
                unsafe AEAD.open(
                    UnsafeRawBufferPointer(rebasing: bytes[AEAD.nonceByteCount...]), into: output,
                    nonce: nonce(of: sealed), associatedData: associatedData, key: key)
            }
        }
        return isGenuine ? .some(secret) : nil
    }

    /// Seals bytes under a nonce that the caller derives from those bytes, so that sealing the same bytes always yields
    /// the same result.
    ///
    /// - Parameter nonce: 12 bytes, which must never be used for other bytes under the same key.
    package static func seal(
        _ plaintext: [UInt8], key: borrowing SecretKey, associatedData: [UInt8] = [], nonce: [UInt8]
    ) -> [UInt8] {
        unsafe plaintext.withUnsafeBytes {
            unsafe seal($0, key: key, associatedData: associatedData, nonce: nonce)
        }
    }

    private static func nonce(of sealed: [UInt8]) -> AEAD.Nonce { AEAD.Nonce { sealed[$0] } }

    private static func seal(
        _ plaintext: UnsafeRawBufferPointer, key: borrowing SecretKey, associatedData: [UInt8]
    ) throws -> [UInt8] {
        let drawn = try SecureRandom.bytes(AEAD.nonceByteCount, "nonce")
        return unsafe seal(plaintext, key: key, associatedData: associatedData, nonce: drawn)
    }

    private static func seal(
        _ plaintext: UnsafeRawBufferPointer, key: borrowing SecretKey, associatedData: [UInt8], nonce drawn: [UInt8]
    ) -> [UInt8] {
        let nonce = self.nonce(of: drawn)
        let size = overhead + plaintext.count
        return unsafe [UInt8](unsafeUninitializedCapacity: size) { output, count in
            // This is the array's own storage, which has `size` bytes.
            let buffer = UnsafeMutableRawBufferPointer(output)
            unsafe buffer.copyBytes(from: drawn)
            unsafe AEAD.seal(
                plaintext, into: UnsafeMutableRawBufferPointer(rebasing: buffer[AEAD.nonceByteCount..<size]),
                nonce: nonce, associatedData: associatedData, key: key)
            count = size
        }
    }
}
