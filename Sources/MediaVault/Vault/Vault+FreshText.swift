import VaultCrypto

extension Vault {
    /// Text that nobody can guess: 32 hexadecimal digits, for what must not occur in media.
    package func freshText() throws -> String { Hex.encode(try Fresh.bytes(16, "text")) }
}
