import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

// Unlocks the keyring, and opens the store with it.
extension Vault {
    /// Whether the vault is read in the state in which its last owner closed it, because its folder cannot be written.
    package var isReadAsClosed: Bool { store.index.isReadAsClosed }

    /// Unlocks a vault's keyring, and opens its store. With a passphrase, this takes most of a second.
    static func openStore(_ place: VaultPlace, _ unlock: Unlock, _ options: VaultOptions) async throws -> VaultStore {
        try place.requireAbsolute()
        func open() async throws -> VaultStore {
            let keyring = try await unlocked(place, unlock, isReader: options.access == .reader)
            return try await openStore(place.folder, keyring, options)
        }
        do {
            return try await open()
        } catch let error as VaultError where error.code == .olderKeyring {
            // The owner may have written the keyring and the index after this process read the one, but before it read
            // the other.
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

    /// Opens the store. While another process owns it, this tries again as long as `whenOwned` returns true.
    private static func openStore(
        _ folder: String, _ keyring: Keyring, _ options: VaultOptions
    ) async throws -> VaultStore {
        var tries = 0
        while true {
            do {
                return try await BlockingPool.shared.run {
                    try VaultStore.open(
                        at: folder, keyring: keyring, access: options.access == .owner ? .owner : .reader,
                        fileSystem: options.fileSystem, now: options.boundedClock)
                }
            } catch let refusal as VaultError where refusal.code == .owned {
                guard try await options.whenOwned?(refusal, tries) == true else { throw refusal }
                tries += 1
            }
        }
    }
}

extension Vault {
    /// Creates the missing parts of a vault: folders, key file, keyring and index. Existing parts are not changed, and
    /// must all open with `unlock`.
    ///
    /// - Parameters:
    ///   - place: where the vault and its keyring are, or will be created.
    ///   - unlock: the secret that opens the keyring.
    ///   - strength: the cost of a passphrase that unlocks a new keyring.
    ///   - reusesKeyring: whether a new vault may use the keyring of an earlier vault that is gone. If two vaults share
    ///     a keyring, titles are lost, because a retirement in one destroys generations that the other needs.
    /// - Throws: the errors of ``open(_:unlock:options:)``; also ``VaultError`` with code `noVault` if the vault exists
    ///   without its keyring, `invalidArgument` if the keyring exists without this vault, or `busy` if another process
    ///   has just created the keyring.
    public static func initialize(
        _ place: VaultPlace, unlock: Unlock, strength: PassphraseStrength = .moderate, reusesKeyring: Bool = false
    ) async throws -> InitializationReport {
        try await BlockingPool.shared.run { try make(place, unlock, strength, reusesKeyring) }
    }

    private static func make(
        _ place: VaultPlace, _ unlock: Unlock, _ strength: PassphraseStrength, _ reusesKeyring: Bool
    ) throws -> InitializationReport {
        try place.requireAbsolute()
        let files = PosixFileSystem()
        // Check this before anything is created, because a new keyring would not open a vault that only lost its index.
        guard !VaultStore.hasLostIndex(at: place.folder) else { throw VaultStore.absence(at: place.folder) }
        let hadVault = VaultStore.exists(at: place.folder)
        let hasKeyring = files.exists(place.keyring)
        guard hasKeyring || !hadVault else { throw place.absenceOfKeyring() }
        // The order of these checks matters, because a concurrent caller creates mark, keyring and vault in this order.
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
        // Create a key file only for a new keyring, because a new key file could not open an existing keyring.
        let isKeyFileCreated = try !hasKeyring && unlock.createKeyFile()
        let secret = try unlock.secret()
        var made: Keyring?
        if !hasKeyring {
            let bytes = try NewKeyring.make(
                with: secret, method: unlock.method, label: "first", cost: strength.cost(), now: WallClock.now())
            // Check that the keyring opens before it is written.
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

/// An empty file that exists in a vault's folder from before its keyring is written until the vault exists.
///
/// It distinguishes the keyring of an unfinished vault from the keyring of another vault.
private struct CreationMark {
    private let folder: String
    private let path: String

    init(in folder: String, of vaultID: VaultID) {
        self.folder = folder
        path = folder + "/unfinished." + vaultID.hex
    }

    /// Creates the mark for the vault that an existing keyring belongs to.
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

    /// Removes the mark. A leftover mark is harmless, because its vault already exists, or its keyring does not.
    func remove(_ files: some FileSystem) { try? files.remove(path) }
}

extension Vault {
    /// Rebuilds a vault's index from `catalog.backup` and the segment files after `index.sqlite` was lost or damaged.
    ///
    /// Files of resources that are not in the backup are moved to `quarantine/`. The old index stays beside the new one
    /// as `index.sqlite.damaged`. The new index replaces the old one when it is complete. If the rebuild is cancelled
    /// before that, the only change is that files may have been moved to `quarantine/`.
    ///
    /// - Parameters:
    ///   - place: the location of the vault and its keyring.
    ///   - unlock: the secret that opens the keyring.
    ///   - evenIfSound: whether to rebuild the index even if nothing is wrong with it.
    ///   - progress: called with the share of segments that have been processed, from 0 to 1.
    /// - Throws: ``VaultError`` with code `noVault` if there is no `catalog.backup`; `integrity` if it does not open;
    ///   `invalidArgument` if the index is sound; `owned` if another process owns the vault; or a code of the keyring's
    ///   errors.
    public static func rebuildIndex(
        _ place: VaultPlace, unlock: Unlock, evenIfSound: Bool = false, progress: (Double) async -> Void = { _ in }
    ) async throws -> RebuildReport {
        try place.requireAbsolute()
        let pool = BlockingPool.shared
        let rebuild = try await pool.run {
            let keyring = try KeyringReader.unlock(KeyringFile.read(place.keyring), with: unlock.secret())
            return try IndexRebuild(at: place.folder, keyring: keyring, evenIfSound: evenIfSound)
        }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for byte in IndexRebuild.bytes {
                    // While the disk syncs the files of some folders, others are checked.
                    if byte >= IndexRebuild.width { try await group.next() }
                    try Task.checkCancellation()
                    await progress(Double(byte) / Double(IndexRebuild.bytes.count))
                    group.addTask { try await pool.run { try rebuild.adopt(byte) } }
                }
                try await group.waitForAll()
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

/// Which parts ``Vault/initialize(_:unlock:strength:reusesKeyring:)`` created. The others already existed.
public struct InitializationReport: Hashable, Sendable {
    /// Whether the vault's folder and index were created.
    public let isVaultCreated: Bool
    /// Whether the keyring was created.
    public let isKeyringCreated: Bool
    /// Whether the key file was created.
    public let isKeyFileCreated: Bool
    /// Whether the secret that unlocks the vault is on the vault's own disk, so that a stolen disk can be opened.
    public let isUnlockOnVaultDisk: Bool
}

/// The result of ``Vault/rebuildIndex(_:unlock:evenIfSound:progress:)``.
public struct RebuildReport: Hashable, Codable, Sendable {
    /// The number of resources in the new index.
    public let resources: Int
    /// The number of segments that were adopted.
    public let segments: Int
    /// The number of plaintext bytes in the adopted segments, including bad blocks.
    public let bytes: Int64
    /// The number of blocks in the adopted segments that do not open. They are gaps, and count as damage until they are
    /// fetched again.
    public let badBlocks: Int
    /// The number of segments that were truncated because their end does not open.
    public let cut: Int
    /// The number of files moved to `quarantine/`, because the backup does not know their resource, because they are
    /// damaged, or because another segment holds their bytes.
    public let quarantined: Int
    /// The number of files left in place, because they cannot be read, or because the rows of their resource do not
    /// open.
    public let unknown: Int
    /// Whether the rows come from `catalog.backup.1`, because neither the index nor `catalog.backup` could be read.
    /// Anything that was added after that backup is missing.
    public let isFromFormerBackup: Bool
    /// Whether the settings in the backup did not open, and were replaced by those of a new vault.
    public let areSettingsLost: Bool
}
