package import VaultCrypto
package import VaultModel
package import VaultStorage

/// A vault in a temporary folder, with a keyring that opens at once; removed with its last reference.
package final class TemporaryVault: Sendable {
    /// The folder above the vault: the root of a ``SimulatedFileSystem``.
    package let above: TemporaryFolder
    /// The vault's own folder.
    package let folder: String
    /// The keyring's file, beside the vault's folder.
    package let keyringFile: String
    package let keyring: Keyring

    package init() throws {
        above = try TemporaryFolder()
        folder = above.path + "/vault"
        keyringFile = above.path + "/keyring.json"
        try KeyringFile.write(try TestKeyring.file(), to: keyringFile)
        keyring = try Self.unlock(keyringFile)
        try VaultStore.create(at: folder, keyring: keyring)
    }

    /// Unlocks a keyring's file.
    package static func unlock(_ path: String) throws -> Keyring {
        try KeyringReader.unlock(KeyringFile.read(path), with: TestKeyring.secret())
    }

    /// The keyring's place, for changes to the keyring.
    package func keyringPlace(fileSystem: any FileSystem = PosixFileSystem()) -> KeyringPlace {
        KeyringPlace(keyringFile, fileSystem: fileSystem)
    }

    /// The log of the key operations of the opened vault.
    package func log(of store: VaultStore) -> AuditLog {
        AuditLog(of: store, at: keyringPlace(fileSystem: store.fileSystem))
    }

    /// Opens the vault.
    package func open(
        _ access: VaultStore.Access = .owner, fileSystem: any FileSystem = PosixFileSystem(),
        now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws -> VaultStore {
        try VaultStore.open(at: folder, keyring: keyring, access: access, fileSystem: fileSystem, now: now)
    }

    /// A file system over the vault that can fail and lose data; everything already there is on its disk.
    ///
    /// - Parameter seesIndex: whether SQLite's file operations go through it, too.
    package func simulatedFileSystem(seesIndex: Bool = false) -> SimulatedFileSystem {
        SimulatedFileSystem(root: above.path, seesIndex: seesIndex)
    }

    /// The file of a segment.
    package func path(of segment: SegmentID) -> String { Self.path(of: segment, in: folder) }

    package static func path(of segment: SegmentID, in folder: String) -> String {
        folder + "/segments/" + segment.hex.prefix(2) + "/" + segment.hex
    }
}
