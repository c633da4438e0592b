import CSodium
internal import VaultModel

/// Ed25519 (RFC 8032), through libsodium: who has the public key can check what only the seed can sign.
package enum ReceiptSignature {
    package static let byteCount = 64
    package static let publicKeyByteCount = 32
    private static let pairByteCount = 64

    /// Signs a message (`crypto_sign_detached`).
    ///
    /// - Parameter seed: the 32 bytes that the key pair is made of (`crypto_sign_seed_keypair`).
    static func sign(_ message: [UInt8], seed: borrowing SecretKey) throws -> [UInt8] {
        try withKeyPair(of: seed) { _, pair in
            unsafe pair.withBytes { secret in
                unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
                    guard let address = output.baseAddress, let key = secret.baseAddress else { return }
                    // The array's 64 bytes, the pair's 64, and the message with its length: all lent for this call.
                    _ = unsafe crypto_sign_detached(
                        address, nil, message, UInt64(message.count), key.assumingMemoryBound(to: UInt8.self))
                    count = byteCount
                }
            }
        }
    }

    /// The public key that fits a seed.
    static func publicKey(of seed: borrowing SecretKey) throws -> [UInt8] {
        try withKeyPair(of: seed) { publicKey, _ in publicKey }
    }

    /// Whether a signature is that of a message (`crypto_sign_verify_detached`).
    package static func isGenuine(_ signature: [UInt8], of message: [UInt8], publicKey: [UInt8]) -> Bool {
        guard signature.count == byteCount, publicKey.count == publicKeyByteCount else { return false }
        // The lengths that libsodium reads were checked above.
        return unsafe crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }

    private static func withKeyPair(
        of seed: borrowing SecretKey, _ body: ([UInt8], borrowing SecretBytes) -> [UInt8]
    ) throws -> [UInt8] {
        try Sodium.start()
        defer { Remains.wipeStack() }
        var publicKey = [UInt8](repeating: 0, count: publicKeyByteCount)
        let pair = try unsafe SecretBytes(capacity: pairByteCount) { output in
            guard let address = output.baseAddress else { return 0 }
            unsafe seed.withBytes { seedBytes in
                // 32 bytes of public key, 64 of the pair, 32 of the seed, as libsodium wants them.
                _ = unsafe crypto_sign_seed_keypair(
                    &publicKey, address.assumingMemoryBound(to: UInt8.self), seedBytes)
            }
            return pairByteCount
        }
        return body(publicKey, pair)
    }
}
