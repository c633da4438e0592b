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

    /// Makes the file's keys unreadable: zeros over its bytes, synced, then the name gone, its folder synced.
    ///
    /// On a file system that writes elsewhere than it read, and on a drive that spreads its writes, the old blocks may
    /// outlive this: they are sealed, and what unlocks them is another matter.
    package static func destroy(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws {
        do throws(FileFailure) {
            let file = try fileSystem.open(path, writable: true)
            try file.write([UInt8](repeating: 0, count: Int(try file.size())), at: 0)
            try file.synchronize()
            for name in [path, path + ".new"] { try fileSystem.remove(name) }
            try fileSystem.synchronizeDirectory(PosixFileSystem.folder(of: path))
        } catch {
            throw error.vaultError("the keyring at \(path) cannot be destroyed")
        }
    }
}
