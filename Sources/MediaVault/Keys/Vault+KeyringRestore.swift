import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Puts a backup of the keyring in the keyring's place, once it is proved that it opens this vault. Nobody may own the
    /// vault meanwhile: an owner has keys that may be others.
    ///
    /// The ways to unlock stay that the keyring which is replaced has, if it is whole, of the backup's root key, and not
    /// older than what the vault has seen: a way that was removed does not come back. Beside them are the one that opened the
    /// backup, and `way`. A generation that was retired since the backup was
    /// made stays retired, and a playback address that was revoked stays revoked. The keyring that is replaced is kept
    /// beside it. Whatever interrupts this, the file is the old keyring or the new one.
    ///
    /// - Parameters:
    ///   - file: the backup's absolute path.
    ///   - unlock: what opens the backup.
    ///   - way: a way to unlock that the keyring gets at once.
    ///   - keepingSlots: whether ways to unlock stay that there were.
    ///   - force: restores though it is older than a retire, or opens some of the titles only.
    /// - Throws: ``VaultError`` with code `owned`; `noVault`; `wrongKey`, `damagedKeyring`, `tamperedKeyring` where the
    ///   backup does not open; `foreignKeyring` where it is another vault's; `olderKeyring` where it needs force, or opens
    ///   nothing; `inUse` where the ways that stay leave no slot for it; `storage`.
    public static func restoreKeyring(
        _ place: VaultPlace, from file: String, unlock: Unlock, adding way: SlotWay? = nil,
        keepingSlots: Bool = true, force: Bool = false
    ) async throws -> RestoreReport {
        try await BlockingPool.shared.run {
            try restore(place, from: file, unlock, way, force, PosixFileSystem(), keepingSlots: keepingSlots)
        }
    }

    /// The same on a file system that is given. Blocks.
    static func restore(
        _ place: VaultPlace, from file: String, _ unlock: Unlock, _ way: SlotWay?, _ force: Bool,
        _ fileSystem: any FileSystem, keepingSlots: Bool = true
    ) throws -> RestoreReport {
        guard fileSystem.exists(place.folder) else { throw VaultStore.absence(at: place.folder) }
        let lock = try VaultLock(folder: place.folder)
        let needs = try IndexNeeds.read(vault: place.folder)
        guard fileSystem.exists(file) else {
            throw VaultError(.noVault, "there is no backup at \(file); name one that keys backup wrote")
        }
        let bytes = try KeyringFile.read(file, fileSystem: fileSystem)
        let backup = try opened(bytes, of: file, with: try unlock.secret())
        guard backup.vaultID == needs.vaultID else {
            throw VaultError(.foreignKeyring, "the backup is of another vault's keyring; name one of this vault's")
        }
        let replaced =
            fileSystem.exists(place.keyring) ? try KeyringFile.read(place.keyring, fileSystem: fileSystem) : nil
        let known = max(backup.revision, replaced.flatMap(backup.revision(of:)) ?? 0)
        let judgement = try judge(backup, needs, knownRevision: known)
        let last = judgement.lastRevision
        guard force || judgement.warnings.isEmpty else {
            throw VaultError(
                .olderKeyring,
                "the backup is older than the vault: \(judgement.warnings.joined(separator: "; ")); "
                    + "use a newer one, or restore it with force")
        }
        var restored = try backup.restored(
            bytes, after: last, without: judgement.retired, current: judgement.current, replacing: replaced)
        if keepingSlots, let replaced, let revision = backup.revision(of: replaced), revision >= max(last, known) {
            restored = try backup.keepingSlots(of: replaced, in: restored, openedBy: unlock.secret())
        }
        if let way { restored = try adding(way, to: restored, of: backup) }
        try makeFolders(above: place.keyring, PosixFileSystem())
        let kept = try replaced.map { try KeyringFile.keep($0, of: place.keyring, fileSystem: fileSystem) }
        try AuditLog.restore(
            restored, of: backup, at: KeyringPlace(place.keyring, fileSystem: fileSystem), in: place.folder,
            fileSystem: fileSystem)
        _ = consume lock
        let now = try KeyringReader.unauthenticated(restored)
        let before = replaced.flatMap { try? KeyringReader.unauthenticated($0).slots } ?? []
        return RestoreReport(
            revision: now.revision,
            generations: backup.activeGenerations.filter { !judgement.retired.contains($0) },
            warnings: judgement.warnings, kept: kept, slots: now.slots.map(KeyringSlot.init),
            lostSlots: before.filter { slot in !now.slots.contains { $0.rootKey == slot.rootKey } }
                .map(KeyringSlot.init))
    }

    /// Opens a backup. What its reader says of a keyring is said of the backup: the keyring is another file.
    private static func opened(
        _ bytes: [UInt8], of file: String, with secret: borrowing UnlockSecret
    ) throws -> Keyring {
        do {
            return try KeyringReader.unlock(bytes, with: secret)
        } catch let error as VaultError {
            switch error.code {
            case .wrongKey:
                throw VaultError(
                    .wrongKey, "the backup \(file) does not open with this passphrase; give the one it was made with")
            case .damagedKeyring:
                throw VaultError(
                    .damagedKeyring,
                    "\(file) is no backup of a keyring, or a damaged one; name one that keys backup wrote")
            default: throw error
            }
        }
    }

    private static func judge(
        _ backup: Keyring, _ needs: IndexNeeds, knownRevision: Int64
    ) throws -> RestoreJudgement {
        let holdings = backup.holdings
        return try RestoreJudgement(
            RestoreJudgement.Facts(
                revision: holdings.revision, current: holdings.current, active: holdings.active,
                hasLocator: holdings.locators.contains(needs.locator), knownRevision: knownRevision,
                indexedRevision: needs.keyringRevision,
                indexed: needs.generations, resources: needs.resources,
                opened: try needs.generations(openedBy: backup), opensSettings: try needs.areSettingsOpened(by: backup))
        )
    }

    private static func adding(_ way: SlotWay, to file: [UInt8], of keyring: Keyring) throws -> [UInt8] {
        try keyring.carryingOut(KeyringOrders.adding(way, to: file, of: keyring), in: file)
    }
}
