import CSodium

/// Decodes keys written as text straight into locked memory (`sodium_hex2bin`, `sodium_base642bin`).
package enum SecretText {
    /// Decodes a key from 64 hex digits; nil for any other text.
    package static func key(hex text: UnsafeRawBufferPointer) throws -> SecretKey? {
        guard text.count == 2 * SecretKey.byteCount else { return nil }
        return try unsafe read(text) { output, characters, count in
            unsafe sodium_hex2bin(output, SecretKey.byteCount, characters, count, nil, nil, nil)
        }
    }

    /// Decodes a key from 44 base64 characters, padding included; nil for any other text.
    package static func key(base64 text: UnsafeRawBufferPointer) throws -> SecretKey? {
        guard text.count == 44 else { return nil }
        return try unsafe read(text) { output, characters, count in
            var length = 0
            let result = unsafe sodium_base642bin(
                output, SecretKey.byteCount, characters, count, nil, &length, nil, Int32(sodium_base64_VARIANT_ORIGINAL)
            )
            return length == SecretKey.byteCount ? result : -1
        }
    }

    private static func read(
        _ text: UnsafeRawBufferPointer,
        _ decode: (UnsafeMutablePointer<UInt8>, UnsafePointer<CChar>, Int) -> Int32
    ) throws -> SecretKey? {
        var isRight = false
        let key = try unsafe SecretKey { buffer in
            guard let output = buffer.baseAddress, let characters = text.baseAddress else { return }
            // Both buffers are lent for this call, and the output has space for the 32 decoded bytes.
            isRight =
                unsafe decode(
                    output.assumingMemoryBound(to: UInt8.self), characters.assumingMemoryBound(to: CChar.self),
                    text.count) == 0
        }
        return isRight ? .some(key) : nil
    }
}
