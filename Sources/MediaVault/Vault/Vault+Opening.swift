import VaultCrypto
import VaultModel
import VaultStorage

// Unlocking the keyring and opening the store with it.
extension Vault {
    /// Whether the vault is read as its last owner closed it, because its folder cannot be written.
    package var isReadAsClosed: Bool { store.index.isReadAsClosed }

    /// Unlocks the keyring of a vault, and opens its store. A passphrase takes most of a second.
    static func openStore(_ place: VaultPlace, _ unlock: Unlock, _ options: VaultOptions) async throws -> VaultStore {
        func open() async throws -> VaultStore {
            let keyring = try await unlocked(place, unlock, isReader: options.access == .reader)
            return try await openStore(place.folder, keyring, options)
        }
        do {
            return try await open()
        } catch let error as VaultError where error.code == .olderKeyring {
            // The owner may have written the keyring and the index after this process read one and before it read the
            // other.
            return try await open()
        }
    }

    private static func unlocked(
        _ place: VaultPlace, _ unlock: Unlock, isReader: Bool
    ) async throws -> Keyring {
        try await BlockingPool.shared.run {
            guard VaultStore.exists(at: place.folder) else { throw VaultStore.absence(at: place.folder) }
            guard PosixFileSystem().exists(place.keyring) else { throw place.absenceOfKeyring() }
            let secret = try unlock.secret()
            let keyring = try KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
            if isReader { keyring.follow { try KeyringFile.read(place.keyring) } }
            return keyring
        }
    }

    /// Opens the store. If another process owns it, tries again as long as `whenOwned` returns true.
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
    ///   - unlock: opens the keyring.
    ///   - strength: the cost of a passphrase that unlocks a new keyring.
    ///   - reusesKeyring: whether a new vault may use the keyring of an earlier vault that is gone. If two vaults share
    ///     a keyring, titles are lost: a retirement in one destroys generations that the other needs.
    /// - Throws: ``VaultError``, as ``open(_:unlock:options:)``; `noVault` if the vault exists without its keyring,
    ///   `invalidArgument` if the keyring exists without this vault, `busy` if another process has just created the
    ///   keyring.
    public static func initialize(
        _ place: VaultPlace, unlock: Unlock, strength: PassphraseStrength = .moderate, reusesKeyring: Bool = false
    ) async throws -> InitializationReport {
        try await BlockingPool.shared.run { try make(place, unlock, strength, reusesKeyring) }
    }

    private static func make(
        _ place: VaultPlace, _ unlock: Unlock, _ strength: PassphraseStrength, _ reusesKeyring: Bool
    ) throws -> InitializationReport {
        let files = PosixFileSystem()
        // Checked before anything is created: a new keyring would open nothing of a vault that only lost its index.
        guard !VaultStore.hasLostIndex(at: place.folder) else { throw VaultStore.absence(at: place.folder) }
        let hadVault = VaultStore.exists(at: place.folder)
        let hasKeyring = files.exists(place.keyring)
        guard hasKeyring || !hadVault else { throw place.absenceOfKeyring() }
        // In this order, because a concurrent caller creates mark, keyring and vault one after the other.
        let isUnfinished = try hasKeyring && CreationMark(place).exists(files)
        let hasVault = VaultStore.exists(at: place.folder)
        guard !hasKeyring || hasVault || isUnfinished || reusesKeyring else {
            throw VaultError(
                .invalidArgument,
                "the keyring at \(place.keyring) is that of another vault, because there is none at \(place.folder); "
                    + "give the new vault a keyring of its own",
                hint: .ownKeyring)
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
            let mark = CreationMark(in: place.folder, of: try KeyringReader.vaultID(of: bytes))
            try mark.make(files)
            do {
                try KeyringFile.make(bytes, at: place.keyring)
            } catch {
                mark.remove(files)
                throw error
            }
        }
        let keyring = try made ?? KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
        if hasVault {
            try VaultStore.open(at: place.folder, keyring: keyring, access: .reader).close()
        } else {
            try VaultStore.create(at: place.folder, keyring: keyring)
        }
        CreationMark(in: place.folder, of: keyring.vaultID).remove(files)
        return InitializationReport(
            isVaultCreated: !hasVault, isKeyringCreated: !hasKeyring, isKeyFileCreated: isKeyFileCreated,
            isUnlockOnVaultDisk: UnlockPlace.rests(unlock.path, with: place.folder))
    }
}

/// An empty file that stays in a vault's folder from before its keyring is written until the vault exists.
///
/// It distinguishes the keyring of an unfinished vault from the keyring of another vault.
private struct CreationMark {
    private let folder: String
    private let path: String

    init(in folder: String, of vaultID: VaultID) {
        self.folder = folder
        path = folder + "/unfinished." + vaultID.hex
    }

    /// Creates the mark of the vault that an existing keyring names.
    init(_ place: VaultPlace) throws {
        self.init(in: place.folder, of: try KeyringReader.vaultID(of: KeyringFile.read(place.keyring)))
    }

    func exists(_ files: some FileSystem) -> Bool { files.exists(path) }

    func make(_ files: some FileSystem) throws {
        do throws(FileFailure) {
            _ = try files.create(path)
            try files.synchronizeDirectory(folder)
        } catch {
            throw error.vaultError("the folder \(folder) cannot be written")
        }
    }

    /// Removes the mark. A mark that stays is harmless: it names a vault that exists, or a keyring that does not.
    func remove(_ files: some FileSystem) { try? files.remove(path) }
}

extension Vault {
    /// Rebuilds the index of a vault from `catalog.backup` and the segment files, if `index.sqlite` is lost or damaged.
    ///
    /// Files that the backup does not know are moved to `quarantine/`; the old index stays beside the new one as
    /// `index.sqlite.damaged`. The new index replaces the old one when it is complete. If the rebuild is cancelled
    /// before that, only files in `quarantine/` have changed.
    ///
    /// - Parameters:
    ///   - place: where the vault and its keyring are.
    ///   - unlock: opens the keyring.
    ///   - evenIfSound: whether to continue even if nothing is wrong with the existing index.
    ///   - progress: called with the share of segments processed, from 0 to 1.
    /// - Throws: ``VaultError`` with code `noVault` if there is no `catalog.backup`, `integrity` if it does not open,
    ///   `invalidArgument` if the index is sound, `owned`, and those of the keyring.
    public static func rebuildIndex(
        _ place: VaultPlace, unlock: Unlock, evenIfSound: Bool = false, progress: (Double) async -> Void = { _ in }
    ) async throws -> RebuildReport {
        let pool = BlockingPool.shared
        let rebuild = try await pool.run {
            let keyring = try KeyringReader.unlock(KeyringFile.read(place.keyring), with: unlock.secret())
            return try IndexRebuild(at: place.folder, keyring: keyring, evenIfSound: evenIfSound)
        }
        do {
            for byte in IndexRebuild.bytes {
                try Task.checkCancellation()
                await progress(Double(byte) / Double(IndexRebuild.bytes.count))
                try await pool.run { try rebuild.adopt(byte) }
            }
            let counts = try await pool.run { try rebuild.finish() }
            await progress(1)
            return RebuildReport(
                resources: counts.resources, segments: counts.segments, bytes: counts.bytes,
                badBlocks: counts.badBlocks, cut: counts.cut, quarantined: counts.quarantined, unknown: counts.unknown,
                isFromFormerBackup: counts.isFromFormerBackup, areSettingsLost: counts.areSettingsLost)
        } catch {
            try? await pool.run { rebuild.discard() }
            throw error
        }
    }
}

/// What ``Vault/initialize(_:unlock:strength:reusesKeyring:)`` created; the rest existed already.
public struct InitializationReport: Hashable, Sendable {
    /// The vault's folder and index.
    public let isVaultCreated: Bool
    /// The keyring.
    public let isKeyringCreated: Bool
    /// The key file.
    public let isKeyFileCreated: Bool
    /// Whether the secret that unlocks the vault is on the vault's own disk, so that a stolen disk can be opened.
    public let isUnlockOnVaultDisk: Bool
}

/// The result of ``Vault/rebuildIndex(_:unlock:evenIfSound:progress:)``.
public struct RebuildReport: Hashable, Codable, Sendable {
    /// Resources in the new index.
    public let resources: Int
    /// Segments adopted.
    public let segments: Int
    /// Plaintext bytes in these segments, including bad blocks.
    public let bytes: Int64
    /// Blocks of these segments that do not open: gaps, and damage until they are fetched again.
    public let badBlocks: Int
    /// Segments truncated before an end that does not open.
    public let cut: Int
    /// Files moved to `quarantine/`: from a resource that the backup does not know, damaged, or with bytes that another
    /// segment holds.
    public let quarantined: Int
    /// Files left in place, because they could not be read, or because the rows of their resource do not open.
    public let unknown: Int
    /// Whether the rows come from `catalog.backup.1`, because neither the index nor `catalog.backup` could be read:
    /// anything added after that backup is missing.
    public let isFromFormerBackup: Bool
    /// Whether the settings in the backup did not open, and were replaced by those of a new vault.
    public let areSettingsLost: Bool
}
