import CSodium
import Foundation
import VaultCrypto
import VaultModel
import VaultStorage

/// The minimum cost: reads each block with `pread` into one buffer, and opens it into another.
struct BareLoop {
    private let segments: [(path: String, segment: SegmentDescription, key: SecretKeyCopy)]

    init(folder: String) throws {
        let secret = UnlockSecret.key(try KeyFile.readKey(folder + "/key", allowLoose: false))
        let keyring = try KeyringReader.unlock(KeyringFile.read(folder + "/keyring.json"), with: secret)
        let store = try VaultStore.open(at: folder + "/vault", keyring: keyring, access: .reader)
        guard let resource = try store.index.resources.page(after: nil, limit: 1).first?.resource,
            let key = resource.keys[resource.keyNumber], let serving = resource.serving
        else { throw VaultError(.noVault, "the benchmark's vault holds nothing") }
        segments = try serving.segments.map { segment in
            let name = segment.id.hex
            let derived = try KeyDerivation.key(from: key.secret, .segment, SegmentHeader.boundBytes(of: segment))
            return (folder + "/vault/segments/\(name.prefix(2))/\(name)", segment, SecretKeyCopy(derived))
        }
        try store.close()
    }

    func openAll() throws {
        let blockSize = segments.first?.segment.blockSize ?? 0
        var sealed = [UInt8](repeating: 0, count: blockSize + SegmentDescription.tagByteCount)
        var plain = [UInt8](repeating: 0, count: blockSize)
        for (path, segment, key) in segments {
            let file = unsafe open(path, O_RDONLY)
            defer { close(file) }
            for block in 0..<segment.blockCount {
                let size = Int(segment.range(ofBlock: block).length) + SegmentDescription.tagByteCount
                let count = unsafe pread(file, &sealed, size, off_t(segment.fileOffset(ofBlock: block)))
                let nonce = [0, 0, 0, 0] + LittleEndian.bytes(UInt64(block))
                let result = unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                    &plain, nil, nil, sealed, UInt64(size), nil, 0, nonce, key.bytes)
                precondition(count == size && result == 0, "the block must open")
            }
        }
    }
}

/// A key in ordinary memory, as a careless loop would have it.
struct SecretKeyCopy {
    let bytes: [UInt8]

    init(_ key: borrowing SecretKey) {
        bytes = unsafe key.withBytes { unsafe Array(UnsafeBufferPointer(start: $0, count: SecretKey.byteCount)) }
    }
}
