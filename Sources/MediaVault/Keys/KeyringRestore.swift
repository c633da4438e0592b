import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

extension KeyAdministration {
    /// Replaces the keyring with a backup, after proving that the backup opens this vault. No process may own the
    /// vault, because an owner may have other keys in memory.
    ///
    /// The slots of the replaced keyring are kept if that keyring is intact, has the backup's root key, and is not
    /// older than what the vault has seen; so a slot that was removed does not come back. The slot that opened the
    /// backup is kept as well, and `way` is added. A generation that was retired after the backup was created stays
    /// retired, and a revoked playback link stays revoked. A copy of the replaced keyring is kept beside the new one.
    /// After an interruption, the file is either the old keyring or the new one.
    ///
    /// - Parameters:
    ///   - place: where the vault and its keyring are.
    ///   - file: the backup's absolute path.
    ///   - unlock: the method that opens the backup.
    ///   - way: a slot to add to the restored keyring; nil for none.
    ///   - keepingSlots: whether to keep the slots of the replaced keyring.
    ///   - force: whether to restore the backup even if it is older than a retirement, or opens only some of the
    ///     titles.
    /// - Throws: ``VaultError`` with code `owned` if another process owns the vault; `noVault` if the vault or the
    ///   backup does not exist; `wrongKey`, `damagedKeyring` or `tamperedKeyring` if the backup does not open;
    ///   `foreignKeyring` if it belongs to another vault; `olderKeyring` if restoring it needs `force`, or if it opens
    ///   nothing; `inUse` if the kept slots leave no slot free; `invalidArgument` if a path of the place is relative;
    ///   `storage`.
    public static func restore(
        _ place: VaultPlace, from file: String, unlock: Unlock, adding way: NewSlot? = nil,
        keepingSlots: Bool = true, force: Bool = false
    ) async throws -> RestoreReport {
        let restore = KeyringRestore(
            place: place, file: file, unlock: unlock, addition: way, keepsSlots: keepingSlots, isForced: force)
        return try await BlockingPool.shared.run { try restore.run() }
    }
}

/// Replaces a keyring with a backup, as
/// ``KeyAdministration/restore(_:from:unlock:adding:keepingSlots:force:)`` describes.
struct KeyringRestore: Sendable {
    let place: VaultPlace
    /// The backup's absolute path.
    let file: String
    let unlock: Unlock
    /// The slot to add; nil for none.
    var addition: NewSlot?
    var keepsSlots = true
    var isForced = false
    var fileSystem: any FileSystem = PosixFileSystem()

    /// Restores the backup. Blocks.
    func run() throws -> RestoreReport {
        try place.requireAbsolute()
        guard fileSystem.exists(place.folder) else { throw VaultStore.absence(at: place.folder) }
        let lock = try VaultLock(folder: place.folder)
        let needs = try KeyringRequirements.read(vault: place.folder)
        guard fileSystem.exists(file) else {
            throw VaultError(
                .noVault, "there is no backup at \(file); give the backup of a keyring", hint: .backUpKeyring)
        }
        let bytes = try KeyringFile.read(file, fileSystem: fileSystem)
        let backup = try opened(bytes)
        guard backup.vaultID == needs.vaultID else {
            throw VaultError(
                .foreignKeyring, "the backup belongs to another vault's keyring; use a backup of this vault's keyring")
        }
        let replaced =
            fileSystem.exists(place.keyring) ? try KeyringFile.read(place.keyring, fileSystem: fileSystem) : nil
        let known = max(backup.revision, replaced.flatMap(backup.revision(of:)) ?? 0)
        let judgement = try Self.judge(backup, needs, knownRevision: known)
        let last = judgement.lastRevision
        guard isForced || judgement.warnings.isEmpty else {
            throw VaultError(
                .olderKeyring,
                "the backup is older than the vault: \(judgement.warnings.joined(separator: "; ")); "
                    + "use a newer one, or restore it with force")
        }
        var restored = try backup.restored(
            bytes, after: last, without: judgement.retired, current: judgement.current, replacing: replaced,
            closesFormerRecords: !judgement.retired.isEmpty && needs.sealsRecordsByGeneration)
        if keepsSlots, let replaced, let revision = backup.revision(of: replaced), revision >= max(last, known) {
            restored = try backup.keepingSlots(of: replaced, in: restored, openedBy: unlock.secret())
        }
        if let addition { restored = try Self.adding(addition, to: restored, of: backup) }
        try PosixFileSystem().createFolders(above: place.keyring)
        let kept = try replaced.map { try KeyringFile.keep($0, of: place.keyring, fileSystem: fileSystem) }
        try AuditLog.restore(
            restored, of: backup, at: KeyringPlace(place.keyring, fileSystem: fileSystem), in: place.folder,
            fileSystem: fileSystem)
        _ = consume lock
        let now = try KeyringReader.unauthenticated(restored)
        let before = replaced.flatMap { try? KeyringReader.unauthenticated($0) }
        let generations = backup.activeGenerations.filter { !judgement.retired.contains($0) }
        return RestoreReport(
            revision: now.revision, generations: generations, current: judgement.current,
            lostGenerations: Self.lost(from: before, needs, restored: generations, judgement.retired),
            warnings: judgement.warnings, kept: kept, slots: now.slots.map(KeyringSlot.init),
            lostSlots: (before?.slots ?? []).filter { slot in !now.slots.contains { $0.rootKey == slot.rootKey } }
                .map(KeyringSlot.init))
    }

    /// Returns the generations that the replaced keyring has, but the restored one does not. If the replaced keyring is
    /// missing or cannot be read, the vault's index states which it had.
    private static func lost(
        from replaced: KeyringDocument?, _ needs: KeyringRequirements, restored: [Int], _ retired: Set<Int>
    ) -> [Int] {
        let own = replaced.flatMap { $0.vaultID == needs.vaultID ? $0 : nil }
        let had = own.map { Set($0.generations.filter { $0.key != nil }.map { Int($0.number) }) } ?? needs.generations
        return had.subtracting(restored).subtracting(retired).sorted()
    }

    /// Opens a backup. The errors name the backup's file, because the vault's own keyring is another file.
    private func opened(_ bytes: [UInt8]) throws -> Keyring {
        let secret = try unlock.secret()
        do {
            return try KeyringReader.unlock(bytes, with: secret)
        } catch let error as VaultError {
            switch error.code {
            case .wrongKey:
                throw VaultError(
                    .wrongKey, "the backup \(file) does not open with this passphrase; give its own passphrase")
            case .damagedKeyring:
                throw VaultError(
                    .damagedKeyring,
                    "\(file) is not a backup of a keyring, or is damaged; give another backup", hint: .backUpKeyring)
            default: throw error
            }
        }
    }

    private static func judge(
        _ backup: Keyring, _ needs: KeyringRequirements, knownRevision: Int64
    ) throws -> RestorePlan {
        let holdings = backup.holdings
        return try RestorePlan(
            RestorePlan.Facts(
                revision: holdings.revision, current: holdings.current, active: holdings.active,
                hasLocator: holdings.locators.contains(needs.locator), knownRevision: knownRevision,
                indexedRevision: needs.keyringRevision,
                indexed: needs.generations, resources: needs.resources, records: needs.records,
                opened: try needs.generations(openedBy: backup), opensSettings: try needs.areSettingsOpened(by: backup))
        )
    }

    /// Adds a slot, unless its key opens one already, as after an earlier restore with the same key.
    private static func adding(_ way: NewSlot, to file: [UInt8], of keyring: Keyring) throws -> [UInt8] {
        guard try !keyring.isOpened(file, by: way.plannedSecret()) else { return file }
        return try keyring.carryingOut(KeyringOrderIssuer.adding(way, to: file, of: keyring), in: file)
    }
}

/// Decides whether a backup of the keyring fits a vault, and which of its keys to restore. A pure value.
struct RestorePlan: Hashable, Sendable {
    /// The facts about the backup and the vault's index, and about which parts of the index the backup opens.
    struct Facts: Hashable, Sendable {
        /// The revision of the backup.
        var revision: Int64
        /// The generation that the backup uses for new resources.
        var current: Int
        /// The generations whose keys the backup contains.
        var active: Set<Int>
        var hasLocator: Bool
        /// The highest revision proved by the backup or the replaced keyring.
        var knownRevision: Int64
        /// The revision stated by the index. It is not authenticated, so anyone who can write the file may have set it.
        var indexedRevision: Int64
        /// The generations named in the index.
        var indexed: Set<Int>
        /// The number of resources that have a key under each generation.
        var resources: [Int: Int]
        /// The number of records that each generation seals.
        var records: [Int: Int] = [:]
        /// The generations under which the backup opens a resource key, as found by sampling.
        var opened: Set<Int>
        /// Whether the backup opens the vault's settings.
        var opensSettings: Bool
    }

    /// The generations whose keys are not restored, because they were retired after the backup was created.
    let retired: Set<Int>
    /// The generation that new resources will use.
    let current: Int
    /// The highest revision that the vault has plausibly seen.
    let lastRevision: Int64
    /// What is lost or undone, in one clause each. If this is not empty, restoring needs `force`.
    let warnings: [String]

    /// Decides what to restore.
    ///
    /// - Throws: ``VaultError`` with code `olderKeyring` if the backup opens nothing of the vault, so that not even
    ///   `force` helps.
    init(_ facts: Facts) throws {
        guard facts.hasLocator else {
            throw VaultError(
                .olderKeyring, "the backup was created before the vault's locator was changed; use a newer backup")
        }
        // The revision is bounded, so that even an impossible number leaves room for the keyring's revision to grow.
        let farthest = facts.knownRevision + VaultIndex.maxRevisionLead
        lastRevision = min(max(facts.indexedRevision, facts.knownRevision), farthest)
        let retired = Self.retired(facts, lastRevision)
        let left = facts.active.subtracting(retired)
        let lacking = facts.resources.filter { !facts.opened.contains($0.key) }
        let opensSomething = facts.resources.isEmpty ? facts.opensSettings : lacking.count < facts.resources.count
        guard opensSomething, let newest = left.max() else {
            throw VaultError(
                .olderKeyring,
                "the backup opens nothing of this vault: every key in it was replaced since; use a newer backup"
            )
        }
        self.retired = retired
        current = left.contains(facts.current) ? facts.current : newest
        let sealed = facts.records.filter { !facts.active.contains($0.key) }
        warnings = Self.warnings(retired, lacking, sealed) + (facts.indexedRevision > farthest ? [Self.impossible] : [])
    }

    /// Returns the generations that the index once named but no longer does. A generation newer than all that the index
    /// names does not count, because it may simply not have been used yet.
    private static func retired(_ facts: Facts, _ lastRevision: Int64) -> Set<Int> {
        guard facts.revision < lastRevision, let newest = facts.indexed.max() else { return [] }
        return facts.active.filter { $0 < newest && !facts.indexed.contains($0) }
    }

    private static let impossible =
        "the index states an impossible revision of the keyring; rebuild the index"

    private static func warnings(_ retired: Set<Int>, _ lacking: [Int: Int], _ sealed: [Int: Int]) -> [String] {
        let numbers = retired.sorted().map(String.init).joined(separator: ", ")
        let gone =
            retired.isEmpty
            ? [] : ["it still has the key of generation \(numbers), which was retired since; that key is left out"]
        return gone
            + lacking.sorted { $0.key < $1.key }.map { generation, count in
                "it lacks the key of generation \(generation), so \(count) "
                    + (count == 1 ? "title no longer opens" : "titles no longer open")
            }
            + sealed.sorted { $0.key < $1.key }.map { generation, count in
                "it lacks the key of generation \(generation), so \(count) "
                    + (count == 1 ? "record no longer opens" : "records no longer open")
                    + ": settings, viewers, shares or the like"
            }
    }
}

/// The result of ``KeyAdministration/restore(_:from:unlock:adding:keepingSlots:force:)``.
public struct RestoreReport: Hashable, Sendable {
    /// The revision of the restored keyring.
    public let revision: Int64
    /// The generations that the restored keyring opens, in ascending order.
    public let generations: [Int]
    /// The generation that new resources use now.
    public let current: Int
    /// The generations that the vault had and that the restored keyring lacks, in ascending order: a rotation that is
    /// newer than the backup is undone.
    public let lostGenerations: [Int]
    /// What was lost or undone, in one clause each; empty if nothing was.
    public let warnings: [String]
    /// The path of the copy of the replaced keyring; nil if there was none to replace.
    public let kept: String?
    /// The slots of the restored keyring.
    public let slots: [KeyringSlot]
    /// The slots of the replaced keyring that the restored one lacks; empty if the replaced keyring could not be read.
    public let lostSlots: [KeyringSlot]
}
