import Foundation
import GRDB
package import VaultCrypto
import VaultModel

/// Rebuilds the index of a vault from what can be read of the index, from `catalog.backup`, and from the segment files.
///
/// The rebuild owns the vault from beginning to end. It creates the new index under a temporary name, which replaces
/// the old one once it is complete and durable. Until then no file is moved, cut or removed, so that an interrupted
/// rebuild leaves the vault as it was. If a crash comes later, a repair finds what it left unfinished: files without a
/// row, and files that are too long. Every call may block.
package final class IndexRebuild: Sendable {
    /// Counts of what the rebuild found and did.
    package struct Counts: Sendable {
        package var resources = 0
        package var segments = 0
        package var bytes: Int64 = 0
        /// Blocks of adopted segments whose tag failed. They are gaps.
        package var badBlocks = 0
        /// Files whose end did not open and was cut off.
        package var cut = 0
        /// Files that were moved to the quarantine.
        package var quarantined = 0
        /// Files that could not be read, cut or moved, or whose resource does not open. They stay in place.
        package var unknown = 0
        /// Whether the rows come from the previous backup, because neither the index nor the newest backup could be
        /// read.
        package var isFromFormerBackup = false
        /// Whether the backup's settings did not open, in which case the index has those of a new vault.
        package var areSettingsLost = false
    }

    /// The file changes to make once the new index is in place.
    private struct Work {
        var cuts: [SegmentDescription] = []
        var aside: [(name: String, byte: UInt8)] = []
    }

    private let folder: String
    private let fileSystem: any FileSystem
    /// A store over the new index.
    private let store: VaultStore
    private let counts = Locked(Counts())
    private let work = Locked(Work())

    /// The possible first bytes of segment ids. ``adopt(_:)`` must be called for each of them.
    package static let bytes = UInt8.min...UInt8.max

    /// The number of calls of ``adopt(_:)`` that make good use of a disk at the same time.
    package static let width: UInt8 = 8

    /// Takes the vault's lock and creates a new index from the rows of the existing one and of the backup.
    ///
    /// - Parameter evenIfSound: whether to continue even if the existing index is sound.
    /// - Throws: ``VaultError`` with code `noVault` if there is nothing to rebuild an index from, `integrity` if the
    ///   backup is damaged, or `invalidArgument` if the index is sound and `evenIfSound` is false.
    package init(
        at folder: String, keyring: Keyring, evenIfSound: Bool, fileSystem: any FileSystem = PosixFileSystem(),
        now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws {
        guard fileSystem.exists(folder) else { throw VaultStore.absence(at: folder, fileSystem: fileSystem) }
        try VaultStore.requireOwn(folder, fileSystem)
        let lock = try VaultLock(folder: folder)
        let catalogs = CatalogFiles(in: folder)
        guard catalogs.exist(fileSystem) else { throw catalogs.absence }
        // If one of the catalogs could not be read, an older state could be mistaken for the present one.
        try catalogs.requireReadable()
        let path = folder + "/index.sqlite"
        let wasBrokenOff = try Self.finishBrokenOff(path, fileSystem)
        // If `evenIfSound` is true, the rebuild continues even if the index does not belong to this keyring.
        let isSound =
            evenIfSound
            ? (try? Self.isSound(path, keyring, fileSystem)) ?? false : try Self.isSound(path, keyring, fileSystem)
        if isSound, !evenIfSound, !wasBrokenOff {
            throw VaultError(
                .invalidArgument,
                "the index of \(folder) is sound, and a rebuilt one would know no more; confirm to rebuild it",
                hint: .force)
        }
        let restored: NewIndex
        do {
            restored = try Self.restore(path, catalogs, keyring, fileSystem, now)
        } catch {
            try? Self.remove(path + Self.filling, fileSystem)
            throw error
        }
        let index = restored.index
        self.folder = folder
        self.fileSystem = fileSystem
        counts.withLock { counts in
            counts.isFromFormerBackup = restored.isFromFormerBackup
            counts.areSettingsLost = restored.areSettingsLost
        }
        store = VaultStore(
            folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: lock)
    }

    /// Returns whether the existing index is sound.
    ///
    /// - Throws: ``VaultError`` if the index opens but does not belong to this keyring.
    private static func isSound(_ path: String, _ keyring: Keyring, _ fileSystem: any FileSystem) throws -> Bool {
        guard fileSystem.exists(path) else { return false }
        do {
            // The index is opened for writing, so that closing it merges its log into it, because it may soon be moved
            // away.
            let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: false)
            defer { try? index.close() }
            return try VerificationRows(index).isSound()
        } catch let error as VaultError where [.foreignKeyring, .olderKeyring].contains(error.code) {
            throw error
        } catch {
            return false
        }
    }

    private typealias NewIndex = (index: VaultIndex, areSettingsLost: Bool, isFromFormerBackup: Bool)

    /// The error codes that mean that an index or a catalog cannot be used. Any other error, such as a full disk, ends
    /// the rebuild.
    private static let unusable: Set<VaultError.Code> = [
        .integrity, .noVault, .storage, .foreignKeyring, .olderKeyring,
    ]

    /// Creates the new index from the rows of the existing one, or as many of them as can be read, and from the
    /// backup's rows where those do not open. If there is no usable index, the new one has only the backup's rows.
    private static func restore(
        _ path: String, _ catalogs: CatalogFiles, _ keyring: Keyring, _ fileSystem: any FileSystem,
        _ now: @escaping @Sendable () -> Int64
    ) throws -> NewIndex {
        let (source, salvage) = (path + Self.filling, path + IndexDatabase.Unfinished.salvage.rawValue)
        defer { try? remove(salvage, fileSystem) }
        if fileSystem.exists(path) {
            do {
                return try restore(path, to: source, catalogs, keyring, fileSystem, now)
            } catch let error as VaultError where unusable.contains(error.code) {}
            do {
                try create(salvage, fileSystem)
                try IndexSalvage(path: path, catalogs: catalogs, keyring: keyring).copy(to: salvage)
                return try restore(salvage, to: source, catalogs, keyring, fileSystem, now)
            } catch let error as VaultError where unusable.contains(error.code) {}
        }
        return try catalogs.trying { backup in
            try create(source, fileSystem)
            let (index, areSettingsLost) = try BackupRestore(backup, keyring).restore(to: source, now: now)
            // The previous backup may have an intact row where this one has a damaged one.
            let areLost = try merge(catalogs, into: index, withoutSettings: areSettingsLost)
            try BackupRestore.dropEmptyRows(of: index)
            return (index, areLost, backup == catalogs.former)
        }
    }

    private static func restore(
        _ old: String, to source: String, _ catalogs: CatalogFiles, _ keyring: Keyring, _ fileSystem: any FileSystem,
        _ now: @escaping @Sendable () -> Int64
    ) throws -> NewIndex {
        try create(source, fileSystem)
        let (index, areSettingsLost) = try BackupRestore(index: old, keyring).restore(to: source, now: now)
        let areLost = try merge(catalogs, into: index, withoutSettings: areSettingsLost)
        // The first copy left out the rows that belong to a title that was restored only now.
        try index.database.withoutTransaction { db in try CatalogMerge.run(fromIndex: old, into: db, index) }
        try BackupRestore.dropEmptyRows(of: index)
        return (index, areLost, false)
    }

    /// Restores from the backup the rows that do not open in a new index.
    ///
    /// - Parameter isWithoutSettings: whether the index has the settings of a new vault because the vault's own were
    ///   lost.
    /// - Returns: whether the index still has the settings of a new vault.
    private static func merge(
        _ catalogs: CatalogFiles, into index: VaultIndex, withoutSettings isWithoutSettings: Bool
    ) throws -> Bool {
        try index.database.withoutTransaction { db in
            let fresh = try VaultRow.fetch(db)?.settings
            // The settings are made unreadable, because the backup's settings replace only settings that do not open.
            if isWithoutSettings { try db.execute(sql: "UPDATE vault SET settings = zeroblob(1)") }
            _ = try CatalogMerge.run(
                fromBackupIn: catalogs.folder, into: db, erased: "SELECT record, id FROM main.erased",
                passingOverUnread: true, index)
            guard isWithoutSettings, let fresh, try VaultRow.fetch(db)?.openSettings(index.keyring) == nil else {
                return false
            }
            try db.execute(sql: "UPDATE vault SET settings = ?", arguments: [fresh.data])
            return true
        }
    }

    private static func create(_ path: String, _ fileSystem: any FileSystem) throws {
        do throws(FileFailure) {
            try remove(path, fileSystem)
            _ = try fileSystem.create(path)
        } catch {
            throw error.vaultError("a new index cannot be created")
        }
    }

    private static func remove(_ path: String, _ fileSystem: any FileSystem) throws(FileFailure) {
        for suffix in ["", "-wal", "-shm"] { try fileSystem.remove(path + suffix) }
    }

    // MARK: Segments

    /// Adopts the segments whose ids begin with the given byte.
    package func adopt(_ byte: UInt8) throws {
        let (segments, others) = try UnindexedFiles(store).names(in: byte)
        for id in segments { try adopt(id, in: byte) }
        for name in others { putAside(name, in: byte) }
    }

    private func adopt(_ id: SegmentID, in byte: UInt8) throws {
        do {
            guard let claimed = try UnindexedFiles(store).claim(of: id),
                let (segment, badBlocks) = try Self.good(of: claimed)
            else {
                return putAside(id.hex, in: byte)
            }
            // A file that cannot be made durable is moved aside, too, because a later sync could succeed although the
            // disk never received its pages.
            guard (try? UnindexedFiles(store).makeDurable(id)) != nil,
                try UnindexedFiles(store).enter(segment, badBlocks: badBlocks)
            else {
                return putAside(id.hex, in: byte)
            }
            counts.withLock { $0.badBlocks += badBlocks.count }
            if segment.fileSize != claimed.fileSize { work.withLock { $0.cuts.append(segment) } }
        } catch SegmentFailure.missing {
            return
        } catch SegmentFailure.unreadable {
            counts.withLock { $0.unknown += 1 }
        } catch let error as VaultError where error.code == .integrity {
            counts.withLock { $0.unknown += 1 }
        }
    }

    /// Returns the segment up to the last block that opens, and the bad blocks before that one; nil if no block opens.
    private static func good(of claimed: ClaimedSegment) throws -> (SegmentDescription, badBlocks: Set<Int>)? {
        var segment = claimed.segment
        var bad = Set(try claimed.reader.badBlocks(in: 0..<segment.blockCount, of: segment))
        var count = segment.blockCount
        while count > 0, bad.contains(count - 1) {
            count -= 1
            bad.remove(count)
            segment.length = Int64(count) * Int64(segment.blockSize)
        }
        return count > 0 ? (segment, bad) : nil
    }

    private func putAside(_ name: String, in byte: UInt8) { work.withLock { $0.aside.append((name, byte)) } }

    /// Cuts and moves files. The new index, which already takes this into account, must be in place.
    ///
    /// If the system does not permit this for a file, the file stays as it is, and a repair finds it again.
    private func applyFileChanges() {
        let work = work.withLock(\.self)
        for segment in work.cuts {
            let isCut = (try? UnindexedFiles(store).cut(segment)) != nil
            counts.withLock { if isCut { $0.cut += 1 } else { $0.unknown += 1 } }
        }
        for (name, byte) in work.aside {
            let isMoved = (try? UnindexedFiles(store).putAside(name, in: byte)) != nil
            counts.withLock { if isMoved { $0.quarantined += 1 } else { $0.unknown += 1 } }
        }
    }

    // MARK: Installation

    /// Puts the new index in place, keeps the old one as `index.sqlite.damaged`, and releases the lock.
    package func finish() throws -> Counts {
        let index = store.index
        try index.representations.serveFilled()
        try index.titles.linkParts()
        try index.completeness.recount(doubting: true)
        let totals = try index.resources.totals()
        // The log is merged into the file explicitly, because closing would not report that the log does not fit.
        try index.database.truncateLog()
        try index.close()
        do throws(FileFailure) {
            try replace()
        } catch {
            throw error.vaultError("the new index cannot be put in place")
        }
        applyFileChanges()
        store.giveUpLock()
        return counts.withLock { counts in
            (counts.resources, counts.segments, counts.bytes) = (totals.resources, totals.segments, totals.bytes)
            return counts
        }
    }

    private static let filling = IndexDatabase.Unfinished.filling.rawValue
    private static let complete = IndexDatabase.Unfinished.complete.rawValue

    private func replace() throws(FileFailure) {
        let path = folder + "/index.sqlite"
        try fileSystem.open(path + Self.filling, writable: true).synchronize()
        // If this rebuild is interrupted from here on, the next one finishes it.
        try fileSystem.rename(path + Self.filling, to: path + Self.complete)
        try fileSystem.synchronizeDirectory(folder)
        try Self.putInPlace(path, in: folder, fileSystem)
    }

    /// Replaces the old index with a complete new one, and keeps the old one as `index.sqlite.damaged`.
    private static func putInPlace(_ path: String, in folder: String, _ fileSystem: any FileSystem) throws(FileFailure)
    {
        let damaged = path + ".damaged"
        // The old log is moved before the new index is in place, because SQLite would mistake it for the new index's
        // log. In between, there is no index at all, rather than one without its log.
        if fileSystem.exists(path) {
            for suffix in ["", "-wal"] { try fileSystem.remove(damaged + suffix) }
            try fileSystem.rename(path, to: damaged)
        }
        try fileSystem.synchronizeDirectory(folder)
        if fileSystem.exists(path + "-wal") { try fileSystem.rename(path + "-wal", to: damaged + "-wal") }
        try fileSystem.remove(path + "-shm")
        try fileSystem.synchronizeDirectory(folder)
        try fileSystem.rename(path + complete, to: path)
        try fileSystem.synchronizeDirectory(folder)
    }

    /// Finishes a rebuild that was interrupted while it put its index in place.
    ///
    /// - Returns: whether there was such a rebuild to finish.
    private static func finishBrokenOff(_ path: String, _ fileSystem: any FileSystem) throws -> Bool {
        do throws(FileFailure) {
            guard fileSystem.exists(path + complete) else { return false }
            guard !fileSystem.exists(path) else {
                // The old index is in use again, so the new one may lack later changes and is removed.
                try fileSystem.remove(path + complete)
                return false
            }
            try putInPlace(path, in: String(path.dropLast("/index.sqlite".count)), fileSystem)
            return true
        } catch {
            throw error.vaultError("the index cannot be put in place")
        }
    }

    /// Removes the unfinished index, and releases the lock.
    package func discard() {
        try? store.index.close()
        try? Self.remove(folder + "/index.sqlite" + Self.filling, fileSystem)
        store.giveUpLock()
    }
}
