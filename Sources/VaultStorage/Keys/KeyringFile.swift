import VaultModel

/// The keyring's file: outside the vault, 0600, never half written.
package enum KeyringFile {
    /// Reads the file's bytes.
    ///
    /// - Throws: ``VaultError`` with code `noVault` where there is none.
    package static func read(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws -> [UInt8] {
        do throws(FileFailure) {
            return try fileSystem.contents(of: path)
        } catch {
            if error.kind == .notFound {
                throw VaultError(.noVault, "there is no keyring at \(path); make one with init, or name its file")
            }
            throw error.vaultError("the keyring at \(path) cannot be read")
        }
    }

    /// Writes the file anew: temporary name, synced, renamed, folder synced.
    package static func write(
        _ bytes: [UInt8], to path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        do throws(FileFailure) {
            try fileSystem.replace(path, with: bytes)
        } catch {
            throw error.vaultError("the keyring at \(path) cannot be written")
        }
    }
}
