import CSodium

extension AEAD {
    /// The bytes that one step of ChaCha20's counter is for (RFC 8439 §2.4).
    private static let stepByteCount = 64

    /// Opens a part of what is sealed, without associated data: the tag is checked over all of it, then these bytes
    /// alone are decrypted (`crypto_aead_chacha20poly1305_ietf_decrypt` without output, then
    /// `crypto_stream_chacha20_ietf_xor_ic` from counter 1 on, RFC 8439 §2.8).
    ///
    /// - Returns: whether the tag was right; where not, nothing is written.
    /// - Precondition: `output` has as many bytes as `part`, and `part` lies within the plaintext.
    static func open(
        _ sealed: UnsafeRawBufferPointer, part: Range<Int>, into output: UnsafeMutableRawBufferPointer,
        nonce: Nonce, key: borrowing SecretKey
    ) -> Bool {
        guard sealed.count >= tagByteCount, let address = sealed.baseAddress else { return false }
        precondition(part.upperBound <= sealed.count - tagByteCount && output.count == part.count)
        defer { Remains.wipeStack() }
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
            // As many bytes are written as `input` has; `output` has no fewer.
            _ = unsafe crypto_stream_chacha20_ietf_xor_ic(
                to.assumingMemoryBound(to: UInt8.self), from.assumingMemoryBound(to: UInt8.self), UInt64(input.count),
                nonce, UInt32(1 + step), key)
        }
        // A part that begins within a step: that step apart, from its first byte on.
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
                unsafe Remains.wipe(bytes)
            }
        }
        let rest = (part.lowerBound + lead)..<part.upperBound
        unsafe xor(
            UnsafeRawBufferPointer(rebasing: sealed[rest]), step: rest.lowerBound / stepByteCount,
            into: UnsafeMutableRawBufferPointer(rebasing: output[lead...]))
    }
}
