package import VaultCrypto
import VaultStorage

/// A vault with its keyring's file beside it, both below the root of a simulated disk.
package final class KeyedVault: Sendable {
    /// The folder above vault and keyring: the root of a ``SimulatedFileSystem``.
    package let above: TemporaryFolder
    package let folder: String
    package let keyringFile: String

    package init() throws {
        above = try TemporaryFolder()
        folder = above.path + "/vault"
        keyringFile = above.path + "/keyring.json"
        try KeyringFile.write(try TestKeyring.file(), to: keyringFile)
        try VaultStore.create(at: folder, keyring: try keyring())
    }

    /// The keyring as its file is now.
    package func keyring() throws -> Keyring { try Self.keyring(above.path) }

    /// The keyring of a copy of the disk.
    package static func keyring(_ root: String) throws -> Keyring {
        try KeyringReader.unlock(KeyringFile.read(root + "/keyring.json"), with: TestKeyring.secret())
    }

    package func simulatedFileSystem() -> SimulatedFileSystem { SimulatedFileSystem(root: above.path) }
}
