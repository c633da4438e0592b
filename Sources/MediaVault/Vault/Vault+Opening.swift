import VaultCrypto
import VaultModel
import VaultStorage

// Unlocking the keyring and opening the store with it.
extension Vault {
    /// Unlocks the keyring of a vault, and opens its store. A passphrase takes most of a second.
    static func openStore(_ place: VaultPlace, _ unlock: Unlock, _ options: VaultOptions) async throws -> VaultStore {
        func open() async throws -> VaultStore {
            let keyring = try await unlocked(place, unlock, isReader: options.access == .reader)
            return try await openStore(place.folder, keyring, options)
        }
        do {
            return try await open()
        } catch let error as VaultError where error.code == .olderKeyring {
            // The owner may have written keyring and index after one was read and before the other.
            return try await open()
        }
    }

    private static func unlocked(
        _ place: VaultPlace, _ unlock: Unlock, isReader: Bool
    ) async throws -> Keyring {
        try await BlockingPool.shared.run {
            guard VaultStore.exists(at: place.folder) else { throw VaultStore.absence(at: place.folder) }
            let secret = try unlock.secret()
            let keyring = try KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
            if isReader { keyring.follow { try KeyringFile.read(place.keyring) } }
            return keyring
        }
    }

    /// Opens the store. If another process owns it, tries again while `whenOwned` returns true.
    private static func openStore(
        _ folder: String, _ keyring: Keyring, _ options: VaultOptions
    ) async throws -> VaultStore {
        var tries = 0
        while true {
            do {
                return try await BlockingPool.shared.run {
                    try VaultStore.open(
                        at: folder, keyring: keyring, access: options.access == .owner ? .owner : .reader,
                        fileSystem: options.fileSystem, now: options.now)
                }
            } catch let refusal as VaultError where refusal.code == .owned {
                guard try await options.whenOwned?(refusal, tries) == true else { throw refusal }
                tries += 1
            }
        }
    }
}

extension Vault {
    /// Creates the missing parts of a vault: folders, key file, keyring, index. Existing parts are not changed, and
    /// must all open with `unlock`.
    ///
    /// - Parameters:
    ///   - place: where the vault and its keyring are, or will be.
    ///   - unlock: unlocks the keyring.
    ///   - strength: the cost of a passphrase that unlocks a new keyring.
    /// - Throws: ``VaultError``, as ``open(_:unlock:options:)``; `noVault` if the vault exists without its keyring,
    ///   `busy` if another process has just created the keyring.
    public static func initialize(
        _ place: VaultPlace, unlock: Unlock, strength: PassphraseStrength = .moderate
    ) async throws -> InitializationReport {
        try await BlockingPool.shared.run { try make(place, unlock, strength) }
    }

    private static func make(
        _ place: VaultPlace, _ unlock: Unlock, _ strength: PassphraseStrength
    ) throws -> InitializationReport {
        let files = PosixFileSystem()
        // Before anything is created: a new keyring would open nothing of a vault that only lost its index.
        guard !VaultStore.hasLostIndex(at: place.folder) else { throw VaultStore.absence(at: place.folder) }
        let hasVault = VaultStore.exists(at: place.folder)
        let hasKeyring = files.exists(place.keyring)
        guard hasKeyring || !hasVault else {
            throw VaultError(
                .noVault,
                "there is a vault at \(place.folder), but no keyring at \(place.keyring); give the path of its keyring"
            )
        }
        for path in [place.keyring, place.folder + "/index"] { try files.createFolders(above: path) }
        // Only for a new keyring: an existing keyring could not be opened by a new key file.
        let isKeyFileCreated = try !hasKeyring && unlock.createKeyFile()
        let secret = try unlock.secret()
        var made: Keyring?
        if !hasKeyring {
            let bytes = try NewKeyring.make(
                with: secret, method: unlock.method, label: "first", cost: strength.cost(), now: WallClock.now())
            // Check that it opens before it is written.
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
            isVaultCreated: !hasVault, isKeyringCreated: !hasKeyring, isKeyFileCreated: isKeyFileCreated,
            isUnlockOnVaultDisk: UnlockPlace.rests(unlock.path, with: place.folder))
    }
}

/// What ``Vault/initialize(_:unlock:strength:)`` created; the rest existed already.
public struct InitializationReport: Hashable, Sendable {
    /// The vault's folder and index.
    public let isVaultCreated: Bool
    /// The keyring.
    public let isKeyringCreated: Bool
    /// The key file.
    public let isKeyFileCreated: Bool
    /// Whether the secret that unlocks the vault is on the vault's own disk: then a stolen disk can be opened.
    public let isUnlockOnVaultDisk: Bool
}
