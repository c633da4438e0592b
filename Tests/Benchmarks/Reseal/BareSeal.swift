import CSodium
import VaultModel

/// The minimum cost: libsodium opens and seals each block in memory, on one thread.
struct BareSeal {
    private let key = [UInt8](repeating: 7, count: 32)
    private let blockSize = 32 << 10

    /// Opens and seals a given number of bytes.
    func run(bytes: Int) {
        let nonce = [UInt8](repeating: 0, count: 12)
        var plain = [UInt8](repeating: 1, count: blockSize)
        var sealed = [UInt8](repeating: 0, count: blockSize + SegmentDescription.tagByteCount)
        let count = UInt64(blockSize)
        // Each array has exactly the bytes that libsodium reads and writes.
        unsafe crypto_aead_chacha20poly1305_ietf_encrypt(&sealed, nil, plain, count, nil, 0, nil, nonce, key)
        for _ in 0..<(bytes / blockSize) {
            let result = unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                &plain, nil, nil, sealed, UInt64(sealed.count), nil, 0, nonce, key)
            precondition(result == 0, "the block must open")
            unsafe crypto_aead_chacha20poly1305_ietf_encrypt(&sealed, nil, plain, count, nil, 0, nil, nonce, key)
        }
    }
}
