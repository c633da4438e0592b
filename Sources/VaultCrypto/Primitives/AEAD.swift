import CSodium

/// ChaCha20-Poly1305 in its IETF form (RFC 8439), through libsodium.
///
/// Nonces are the caller's duty here; ``SealedValue`` and ``SegmentSealer`` take it on.
package enum AEAD {
    package typealias Nonce = InlineArray<12, UInt8>

    package static let nonceByteCount = 12
    package static let tagByteCount = 16

    /// Seals `plaintext` into `output`: ciphertext, then tag (`crypto_aead_chacha20poly1305_ietf_encrypt`).
    ///
    /// - Precondition: `output` has room for the plaintext and the tag.
    static func seal(
        _ plaintext: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        nonce: Nonce, associatedData: [UInt8], key: borrowing SecretKey
    ) {
        precondition(output.count >= plaintext.count + tagByteCount)
        guard let address = output.baseAddress else { return }
        // Registers that hold parts of the key are spilled to the stack.
        defer { Remains.wipeStack() }
        unsafe key.withBytes { keyBytes in
            // The buffers are lent for this call with their lengths; libsodium writes plaintext + tag bytes.
            unsafe nonce.span.withUnsafeBufferPointer { nonceBytes in
                guard let nonceAddress = nonceBytes.baseAddress else { return }
                _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                    address.assumingMemoryBound(to: UInt8.self), nil,
                    plaintext.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(plaintext.count),
                    associatedData, UInt64(associatedData.count), nil, nonceAddress, keyBytes)
            }
        }
    }

    /// Opens `sealed` (ciphertext, then tag) into `output` (`crypto_aead_chacha20poly1305_ietf_decrypt`). libsodium
    /// checks the tag before it writes a byte.
    ///
    /// - Returns: whether the tag was right.
    /// - Precondition: `output` has room for the plaintext.
    static func open(
        _ sealed: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        nonce: Nonce, associatedData: [UInt8], key: borrowing SecretKey
    ) -> Bool {
        guard sealed.count >= tagByteCount, let address = sealed.baseAddress else { return false }
        precondition(output.count >= sealed.count - tagByteCount)
        defer { Remains.wipeStack() }
        return unsafe key.withBytes { keyBytes in
            // The buffers are lent for this call with their lengths; libsodium writes sealed - tag bytes.
            unsafe nonce.span.withUnsafeBufferPointer { nonceBytes in
                guard let nonceAddress = nonceBytes.baseAddress else { return false }
                return unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                    output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, nil,
                    address.assumingMemoryBound(to: UInt8.self), UInt64(sealed.count),
                    associatedData, UInt64(associatedData.count), nonceAddress, keyBytes) == 0
            }
        }
    }
}
