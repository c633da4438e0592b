import CSodium

/// ChaCha20-Poly1305 as the IETF specifies it (RFC 8439), implemented by libsodium.
///
/// The caller must use each nonce only once with a key, or only for the same message; ``SegmentSealer`` and random
/// nonces of ``SealedValue`` ensure that.
package enum AEAD {
    package typealias Nonce = InlineArray<12, UInt8>

    package static let nonceByteCount = 12
    package static let tagByteCount = 16

    /// Seals `plaintext` into `output` as the ciphertext, then the tag (`crypto_aead_chacha20poly1305_ietf_encrypt`).
    ///
    /// - Precondition: `output` has space for the ciphertext and the tag.
    static func seal(
        _ plaintext: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        nonce: Nonce, associatedData: [UInt8], key: borrowing SecretKey
    ) {
        precondition(output.count >= plaintext.count + tagByteCount)
        guard let address = output.baseAddress else { return }
        // The cipher spills registers that hold parts of the key to the stack.
        defer { SecureWipe.wipeStack() }
        unsafe key.withBytes { keyBytes in
            // The buffers are lent for this call with their lengths. libsodium writes as many bytes as the plaintext
            // and the tag have together.
            unsafe nonce.span.withUnsafeBufferPointer { nonceBytes in
                guard let nonceAddress = nonceBytes.baseAddress else { return }
                _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                    address.assumingMemoryBound(to: UInt8.self), nil,
                    plaintext.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(plaintext.count),
                    associatedData, UInt64(associatedData.count), nil, nonceAddress, keyBytes)
            }
        }
    }

    /// Opens `sealed`, which is the ciphertext and then the tag, into `output`.
    ///
    /// libsodium checks the tag before it writes any byte (`crypto_aead_chacha20poly1305_ietf_decrypt`).
    ///
    /// - Returns: whether the tag was valid.
    /// - Precondition: `output` has space for the plaintext.
    static func open(
        _ sealed: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        nonce: Nonce, associatedData: [UInt8], key: borrowing SecretKey
    ) -> Bool {
        guard sealed.count >= tagByteCount, let address = sealed.baseAddress else { return false }
        precondition(output.count >= sealed.count - tagByteCount)
        defer { SecureWipe.wipeStack() }
        return unsafe key.withBytes { keyBytes in
            // The buffers are lent for this call with their lengths. libsodium writes as many bytes as `sealed` has
            // before its tag.
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

extension AEAD {
    /// The length in bytes of one ChaCha20 block, for which the counter advances by one (RFC 8439 §2.4).
    private static let stepByteCount = 64

    /// Opens a part of a sealed value that has no associated data.
    ///
    /// The tag is checked over the whole value (`crypto_aead_chacha20poly1305_ietf_decrypt` without output). Then only
    /// the wanted bytes are decrypted (`crypto_stream_chacha20_ietf_xor_ic`, starting at counter 1, RFC 8439 §2.8).
    ///
    /// - Returns: whether the tag was valid. If it was not, nothing is written.
    /// - Precondition: `output` has as many bytes as `part`, and `part` is within the plaintext.
    static func open(
        _ sealed: UnsafeRawBufferPointer, part: Range<Int>, into output: UnsafeMutableRawBufferPointer,
        nonce: Nonce, key: borrowing SecretKey
    ) -> Bool {
        guard sealed.count >= tagByteCount, let address = sealed.baseAddress else { return false }
        precondition(part.upperBound <= sealed.count - tagByteCount && output.count == part.count)
        defer { SecureWipe.wipeStack() }
        return unsafe key.withBytes { keyBytes in
            // The buffers are lent for this call with their lengths.
            unsafe nonce.span.withUnsafeBufferPointer { nonceBytes in
                guard let nonceAddress = nonceBytes.baseAddress,
                    unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                        nil, nil, nil, address.assumingMemoryBound(to: UInt8.self), UInt64(sealed.count), nil, 0,
                        nonceAddress, keyBytes) == 0
                else { return false }
                unsafe decrypt(sealed, part, into: output, nonceAddress, keyBytes)
                return true
            }
        }
    }

    private static func decrypt(
        _ sealed: UnsafeRawBufferPointer, _ part: Range<Int>, into output: UnsafeMutableRawBufferPointer,
        _ nonce: UnsafePointer<UInt8>, _ key: UnsafePointer<UInt8>
    ) {
        func xor(_ input: UnsafeRawBufferPointer, step: Int, into output: UnsafeMutableRawBufferPointer) {
            guard let from = input.baseAddress, let to = output.baseAddress else { return }
            // The call writes as many bytes as `input` has, and `output` has at least as many.
            _ = unsafe crypto_stream_chacha20_ietf_xor_ic(
                to.assumingMemoryBound(to: UInt8.self), from.assumingMemoryBound(to: UInt8.self), UInt64(input.count),
                nonce, UInt32(1 + step), key)
        }
        // If the part begins inside a ChaCha20 block, that block is decrypted separately, starting at its first byte.
        let skipped = part.lowerBound % stepByteCount
        let step = part.lowerBound / stepByteCount
        let lead = skipped == 0 ? 0 : min(stepByteCount - skipped, part.count)
        if lead > 0 {
            unsafe withUnsafeTemporaryAllocation(byteCount: stepByteCount, alignment: 16) { bytes in
                let used = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[..<(skipped + lead)])
                let first = part.lowerBound - skipped
                unsafe xor(
                    UnsafeRawBufferPointer(rebasing: sealed[first..<(first + used.count)]), step: step, into: used)
                unsafe output.copyMemory(from: UnsafeRawBufferPointer(rebasing: used[skipped...]))
                unsafe SecureWipe.wipe(bytes)
            }
        }
        let rest = (part.lowerBound + lead)..<part.upperBound
        unsafe xor(
            UnsafeRawBufferPointer(rebasing: sealed[rest]), step: rest.lowerBound / stepByteCount,
            into: UnsafeMutableRawBufferPointer(rebasing: output[lead...]))
    }
}
