import VaultCrypto
package import VaultModel

/// Where the keyring of a vault lies while it is changed.
package struct KeyringPlace: Sendable {
    /// The absolute path of the file.
    package let path: String
    private let fileSystem: any FileSystem

    package init(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) {
        self.path = path
        self.fileSystem = fileSystem
    }

    /// The file's bytes.
    ///
    /// - Throws: ``VaultError`` with code `noVault` or `storage`.
    package func read() throws -> [UInt8] { try KeyringFile.read(path, fileSystem: fileSystem) }

    /// Puts other bytes in the place of the file's, and makes them durable.
    ///
    /// - Throws: ``VaultError`` with code `storage` or `diskFull`.
    package func write(_ bytes: [UInt8]) throws { try KeyringFile.write(bytes, to: path, fileSystem: fileSystem) }

    /// Whether there is a file.
    var isThere: Bool { fileSystem.exists(path) }

    /// Whether the file's bytes are these; false where it cannot be read.
    func holds(_ bytes: [UInt8]) -> Bool { (try? read()) == bytes }

    /// Makes the file's keys unreadable, and removes it.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    func destroy() throws { try KeyringFile.destroy(path, fileSystem: fileSystem) }

    /// Destroys the copies of a vault's keyring that were kept when a backup took the file's place: they hold generations
    /// that are gone here. What is of another vault stays.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    package func destroyCopies(of vault: VaultID) throws {
        for copy in try KeyringFile.copies(of: path, fileSystem: fileSystem) {
            let bytes = try KeyringFile.read(copy, fileSystem: fileSystem)
            guard (try? KeyringReader.vaultID(of: bytes)).map({ $0 == vault }) ?? true else { continue }
            try KeyringFile.destroy(copy, fileSystem: fileSystem)
        }
    }
}
