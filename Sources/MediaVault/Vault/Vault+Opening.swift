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
            // Its owner may have written keyring and index between the reading of the one and of the other.
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

    /// Opens the store, again as long as another process owns it and the caller wants to wait.
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
