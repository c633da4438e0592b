import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Makes what is missing of a vault: folders, key file, keyring, index. Nothing that exists is touched, and all of
    /// it must open in the end.
    ///
    /// - Parameter strength: what a passphrase costs that unlocks a new keyring.
    /// - Throws: ``VaultError``, as ``open(_:unlock:options:)``; `noVault` where a vault is there and its keyring is not,
    ///   `busy` where somebody else has just made the keyring.
    public static func initialize(
        _ place: VaultPlace, unlock: Unlock, strength: PassphraseStrength = .moderate
    ) async throws -> InitializationReport {
        try await BlockingPool.shared.run { try make(place, unlock, strength) }
    }

    private static func make(
        _ place: VaultPlace, _ unlock: Unlock, _ strength: PassphraseStrength
    ) throws -> InitializationReport {
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
        // Only for a new keyring: for one that is there a new key file could not be the right one.
        let keyFileMade = try !hasKeyring && makeKeyFile(unlock, files)
        let secret = try unlock.secret()
        var made: Keyring?
        if !hasKeyring {
            let bytes = try KeyringMaker.make(
                with: secret, method: unlock.method, label: "first", cost: strength.cost(), now: WallClock.now())
            // It opens before it is anywhere.
            made = try KeyringReader.unlock(bytes, with: secret)
            try KeyringFile.make(bytes, at: place.keyring)
        }
        let keyring = try made ?? KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
        if hasVault {
            try VaultStore.open(at: place.folder, keyring: keyring, access: .reader).close()
        } else {
            try VaultStore.create(at: place.folder, keyring: keyring)
        }
        return InitializationReport(
            vaultMade: !hasVault, keyringMade: !hasKeyring, keyFileMade: keyFileMade,
            unlockRestsWithVault: UnlockPlace.rests(unlock.path, with: place.folder))
    }

    /// Makes the key file of a new way to unlock where there is none; whether it did.
    @discardableResult
    static func makeKeyFile(_ unlock: Unlock, _ files: PosixFileSystem) throws -> Bool {
        guard case .keyFile(let path, _) = unlock, !files.exists(path) else { return false }
        try makeFolders(above: path, files)
        try KeyFile.make(path)
        return true
    }

    /// Makes the folders that are missing above a path, each durable in the one above it.
    static func makeFolders(above path: String, _ files: any FileSystem) throws {
        var folder = ""
        for component in path.split(separator: "/").dropLast() {
            let above = folder.isEmpty ? "/" : folder
            folder += "/" + component
            if files.exists(folder) { continue }
            do throws(FileFailure) {
                try files.createDirectory(folder)
                try files.synchronizeDirectory(above)
            } catch {
                throw error.vaultError("the folder \(folder) cannot be made")
            }
        }
    }
}
