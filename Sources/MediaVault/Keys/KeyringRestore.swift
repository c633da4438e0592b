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
        _ place: VaultPlace, from file: String, unlock: Unlock, adding way: NewSlot? = nil,
        keepingSlots: Bool = true, force: Bool = false
    ) async throws -> RestoreReport {
        try await BlockingPool.shared.run {
            try restore(place, from: file, unlock, way, force, PosixFileSystem(), keepingSlots: keepingSlots)
        }
    }

    /// The same on a file system that is given. Blocks.
    static func restore(
        _ place: VaultPlace, from file: String, _ unlock: Unlock, _ way: NewSlot?, _ force: Bool,
        _ fileSystem: any FileSystem, keepingSlots: Bool = true
    ) throws -> RestoreReport {
        guard fileSystem.exists(place.folder) else { throw VaultStore.absence(at: place.folder) }
        let lock = try VaultLock(folder: place.folder)
        let needs = try KeyringRequirements.read(vault: place.folder)
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
        _ backup: Keyring, _ needs: KeyringRequirements, knownRevision: Int64
    ) throws -> RestorePlan {
        let holdings = backup.holdings
        return try RestorePlan(
            RestorePlan.Facts(
                revision: holdings.revision, current: holdings.current, active: holdings.active,
                hasLocator: holdings.locators.contains(needs.locator), knownRevision: knownRevision,
                indexedRevision: needs.keyringRevision,
                indexed: needs.generations, resources: needs.resources,
                opened: try needs.generations(openedBy: backup), opensSettings: try needs.areSettingsOpened(by: backup))
        )
    }

    private static func adding(_ way: NewSlot, to file: [UInt8], of keyring: Keyring) throws -> [UInt8] {
        try keyring.carryingOut(KeyringOrders.adding(way, to: file, of: keyring), in: file)
    }
}

/// Whether a backup of the keyring fits a vault, and what of it comes back. A pure decision.
struct RestorePlan: Hashable, Sendable {
    /// What is known of the backup, of the vault's index, and of what the one opens of the other.
    struct Facts: Hashable, Sendable {
        /// The revision of the backup.
        var revision: Int64
        /// The generation that the backup has new resources use.
        var current: Int
        /// The generations whose keys the backup holds.
        var active: Set<Int>
        var hasLocator: Bool
        /// The highest revision that the backup, or the keyring which is replaced, has proof of.
        var knownRevision: Int64
        /// The revision that the index states: anybody who can write the file may have.
        var indexedRevision: Int64
        /// The generations that the index names.
        var indexed: Set<Int>
        /// How many resources have a key under each generation.
        var resources: [Int: Int]
        /// The generations of which the backup opens a resource key, as a sample shows.
        var opened: Set<Int>
        /// Whether it opens the vault's settings.
        var opensSettings: Bool
    }

    /// The generations whose keys do not come back: they were retired since.
    let retired: Set<Int>
    /// The generation that new resources use.
    let current: Int
    /// The highest revision that the vault has seen, as far as that can be.
    let lastRevision: Int64
    /// What is lost or undone, a clause each; where there is any, only force restores.
    let warnings: [String]

    /// - Throws: ``VaultError`` with code `olderKeyring` where the backup opens nothing of the vault, whatever is wanted.
    init(_ facts: Facts) throws {
        guard facts.hasLocator else {
            throw VaultError(
                .olderKeyring, "the backup was made before the vault's names were changed; use a newer backup")
        }
        // So that a number which cannot be leaves the keyring room to count on.
        let farthest = facts.knownRevision + KeyringRequirements.farthestRevision
        lastRevision = min(max(facts.indexedRevision, facts.knownRevision), farthest)
        let retired = Self.retired(facts, lastRevision)
        let left = facts.active.subtracting(retired)
        let lacking = facts.resources.filter { !facts.opened.contains($0.key) }
        let opensSomething = facts.resources.isEmpty ? facts.opensSettings : lacking.count < facts.resources.count
        guard opensSomething, let newest = left.max() else {
            throw VaultError(
                .olderKeyring,
                "the backup opens nothing of this vault: every key that it holds was replaced since; use a newer backup"
            )
        }
        self.retired = retired
        current = left.contains(facts.current) ? facts.current : newest
        warnings = Self.warnings(retired, lacking) + (facts.indexedRevision > farthest ? [Self.impossible] : [])
    }

    /// Generations that the index had and names no more. One that is newer than all that it names has yet to be named.
    private static func retired(_ facts: Facts, _ lastRevision: Int64) -> Set<Int> {
        guard facts.revision < lastRevision, let newest = facts.indexed.max() else { return [] }
        return facts.active.filter { $0 < newest && !facts.indexed.contains($0) }
    }

    private static let impossible =
        "the index states a revision of the keyring that none can have, and has to be made anew with index rebuild"

    private static func warnings(_ retired: Set<Int>, _ lacking: [Int: Int]) -> [String] {
        let numbers = retired.sorted().map(String.init).joined(separator: ", ")
        let gone =
            retired.isEmpty
            ? [] : ["it still holds the key of generation \(numbers), which was retired since; that key is left out"]
        return gone
            + lacking.sorted { $0.key < $1.key }.map { generation, count in
                "it lacks the key of generation \(generation), and \(count) titles open no more"
            }
    }
}

/// What ``Vault/restoreKeyring(_:from:unlock:adding:keepingSlots:force:)`` did.
public struct RestoreReport: Hashable, Sendable {
    /// The revision of the keyring now.
    public let revision: Int64
    /// The generations that it opens, in ascending order.
    public let generations: [Int]
    /// What was lost or undone, a clause each; empty where all is as it was.
    public let warnings: [String]
    /// Where the keyring that was replaced is kept; nil where there was none.
    public let kept: String?
    /// The ways to unlock the keyring now.
    public let slots: [KeyringSlot]
    /// The ways that the keyring which was replaced had, as far as it can be read, and this one has not.
    public let lostSlots: [KeyringSlot]
}
