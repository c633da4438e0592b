import VaultCache
import VaultModel
import VaultStorage

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The location of a vault: its folder and its keyring. The keyring is best kept on a different disk.
public struct VaultPlace: Hashable, Sendable {
    /// The absolute path of the vault's folder.
    public var folder: String
    /// The absolute path of the keyring file. Without it, a copy of the folder opens nothing.
    public var keyring: String

    /// Creates a place. Both paths must be absolute: a relative one is refused, with the code `invalidArgument`,
    /// because it would name another vault once the working folder has changed.
    public init(folder: String, keyring: String) {
        self.folder = folder
        self.keyring = keyring
    }

    /// Requires that both paths are absolute.
    func requireAbsolute() throws {
        for (path, what) in [(folder, "vault's folder"), (keyring, "keyring")] where !path.hasPrefix("/") {
            throw VaultError(.invalidArgument, "the path of the \(what), \(path), is relative; give an absolute one")
        }
    }
}

// These checks need no key, so they can run before a user is asked for a passphrase.
extension VaultPlace {
    /// Checks that the folder contains a vault. This needs no key.
    ///
    /// - Throws: ``VaultError`` with code `noVault` if it does not; `storage` if the folder cannot be read; `integrity`
    ///   if the vault has lost its index; `invalidArgument` if a path is relative.
    public func requireVault() async throws {
        try requireAbsolute()
        try await BlockingPool.shared.run {
            guard VaultStore.exists(at: folder) else { throw VaultStore.absence(at: folder) }
        }
    }

    /// Checks that no other process owns the vault, as far as the vault's lock can be opened. This needs no key.
    ///
    /// - Throws: ``VaultError`` with code `owned`, whose message names the owner's process.
    public func requireNoOwner() async throws {
        try await BlockingPool.shared.run {
            // Only a vault has a lock file; none must be created in any other folder.
            guard PosixFileSystem().exists(folder + "/lock") else { return }
            do {
                _ = try VaultLock(folder: folder)
            } catch let error as VaultError where error.code == .owned {
                throw error
            } catch {
                // Opening the vault will report the cause.
            }
        }
    }

    /// Checks that the keyring file exists. This needs no key.
    ///
    /// - Throws: ``VaultError`` with code `noVault`, whose message says whether the vault is missing as well, or was
    ///   destroyed; `invalidArgument` if a path is relative.
    public func requireKeyring() async throws {
        try requireAbsolute()
        try await BlockingPool.shared.run {
            guard !PosixFileSystem().exists(keyring) else { return }
            throw absenceOfKeyring()
        }
    }

    /// Returns the error that explains why the keyring is missing. Blocks.
    func absenceOfKeyring() -> VaultError {
        let last = (try? AuditLog.report(on: folder, keyring: nil))?.receipts.last
        if last?.act == .destroy {
            return VaultError(
                .noVault, "the vault at \(folder) was destroyed; delete this folder to create a new vault there",
                hint: .createVault)
        }
        let hasVault = VaultStore.exists(at: folder) || VaultStore.hasLostIndex(at: folder)
        return hasVault ? KeyringFile.absence(at: keyring) : VaultStore.absence(at: folder)
    }
}

/// Determines whether the secret that unlocks a vault is on the vault's own disk. If it is, it protects copies of the
/// folder, but not the disk itself.
enum UnlockPlace {
    /// Returns whether the secret's file, if there is one, is on the same file system as the vault's folder.
    static func rests(_ path: String?, with folder: String) -> Bool {
        guard let path, let mine = device(of: path), let theirs = device(of: folder) else { return false }
        return mine == theirs
    }

    private static func device(of path: String) -> dev_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_dev : nil
    }
}

extension FileSystem {
    /// Creates the missing folders above a path, and makes each of them durable in its parent.
    func createFolders(above path: String) throws {
        var folder = ""
        for component in path.split(separator: "/").dropLast() {
            let above = folder.isEmpty ? "/" : folder
            folder += "/" + component
            if exists(folder) { continue }
            do throws(FileFailure) {
                try createDirectory(folder)
                try synchronizeDirectory(above)
            } catch {
                throw error.vaultError("the folder \(folder) cannot be created")
            }
        }
    }
}
