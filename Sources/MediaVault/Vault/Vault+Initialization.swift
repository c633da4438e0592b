import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Makes what is missing of a vault: folders, key file, keyring, index. Nothing that exists is touched, and all of
    /// it must open in the end.
    ///
    /// - Throws: ``VaultError``, as ``open(_:unlock:options:)``; `noVault` where a vault is there and its keyring is not.
    public static func initialize(_ place: VaultPlace, unlock: Unlock) async throws -> InitializationReport {
        try await BlockingPool.shared.run { try make(place, unlock) }
    }

    private static func make(_ place: VaultPlace, _ unlock: Unlock) throws -> InitializationReport {
        let files = PosixFileSystem()
        // Before anything is made: a new keyring would open nothing of a vault that only lost its index.
        guard !VaultStore.hasLostIndex(at: place.folder) else { throw VaultStore.absence(at: place.folder) }
        let hasVault = VaultStore.exists(at: place.folder)
        let hasKeyring = files.exists(place.keyring)
        guard hasKeyring || !hasVault else {
            throw VaultError(
                .noVault,
                "there is a vault at \(place.folder), but no keyring at \(place.keyring); name the one it was made with"
            )
        }
        for path in [place.keyring, place.folder + "/index"] { try makeFolders(above: path, files) }
        let keyFileMade = try makeKeyFile(unlock, hasKeyring: hasKeyring, files)
        let secret = try unlock.secret()
        if !hasKeyring {
            let bytes = try KeyringMaker.make(with: secret, method: unlock.method, label: "first", now: WallClock.now())
            try KeyringFile.write(bytes, to: place.keyring)
        }
        let keyring = try KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
        if hasVault {
            try VaultStore.open(at: place.folder, keyring: keyring, access: .reader).close()
        } else {
            try VaultStore.create(at: place.folder, keyring: keyring)
        }
        return InitializationReport(
            vaultMade: !hasVault, keyringMade: !hasKeyring, keyFileMade: keyFileMade,
            unlockRestsWithVault: UnlockPlace.rests(unlock.path, with: place.folder))
    }

    /// A key file is made only for a new keyring: for one that is there it could not be the right one.
    private static func makeKeyFile(_ unlock: Unlock, hasKeyring: Bool, _ files: PosixFileSystem) throws -> Bool {
        guard case .keyFile(let path, _) = unlock, !hasKeyring, !files.exists(path) else { return false }
        try makeFolders(above: path, files)
        try KeyFile.make(path)
        return true
    }

    private static func makeFolders(above path: String, _ files: PosixFileSystem) throws {
        var folder = ""
        for component in path.split(separator: "/").dropLast() {
            folder += "/" + component
            if files.exists(folder) { continue }
            do throws(FileFailure) {
                try files.createDirectory(folder)
            } catch {
                throw error.vaultError("the folder \(folder) cannot be made")
            }
        }
    }
}
