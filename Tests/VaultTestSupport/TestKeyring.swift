package import VaultCrypto

/// Keyrings without the cost of Argon2id: one slot, opened by a key of 32 equal bytes.
package enum TestKeyring {
    /// The bytes of a new keyring's file.
    package static func file(key byte: UInt8 = 0x5A) throws -> [UInt8] {
        try NewKeyring.make(with: secret(byte), method: .keyFile, label: "test", now: 1_700_000_000)
    }

    /// A new keyring, unlocked; each belongs to another vault.
    package static func make() throws -> Keyring { try KeyringReader.unlock(try file(), with: secret(0x5A)) }

    /// The secret that opens ``file(key:)``.
    package static func secret(_ byte: UInt8 = 0x5A) throws -> UnlockSecret {
        .key(
            try unsafe SecretKey { buffer in
                // The slot's own 32 bytes.
                for index in buffer.indices { unsafe buffer[index] = byte }
            })
    }
}
