import Foundation
import GRDB
package import VaultCrypto
import VaultModel

/// Rebuilds the index of a vault from `catalog.backup` and the files of its segments.
///
/// It owns the vault from beginning to end. The new index is created under a temporary name, and replaces the old one
/// when it is complete and durable. Until then no file is moved, cut or removed, so that an interrupted rebuild leaves
/// the vault as it was. After that, a repair finds what a crash left unfinished: files without a row, and files that
/// are too long. Every call may block.
package final class IndexRebuild: Sendable {
    /// Counts of what was found.
    package struct Counts: Sendable {
        package var resources = 0
        package var segments = 0
        package var bytes: Int64 = 0
        /// Blocks whose tag failed, in segments that were adopted: they are gaps.
        package var badBlocks = 0
        /// Files whose end did not open and was cut off.
        package var cut = 0
        /// Files that were moved to quarantine.
        package var quarantined = 0
        /// Files that could not be read, cut or moved, or whose resource does not open: they stay in place.
        package var unknown = 0
        /// Segments of the existing index whose representation the backup does not know; 0 if that index did not open.
        package var unknownToBackup = 0
        /// Whether the backup's settings did not open: the index then has those of a new vault.
        package var areSettingsLost = false
    }

    /// The changes to files that are made once the new index is in place.
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

    /// The first bytes of segment ids: ``adopt(_:)`` must be called for each of them.
    package static let bytes = UInt8.min...UInt8.max

    /// Takes the vault's lock and creates an index from the backup's rows.
    ///
    /// - Parameter evenIfSound: whether to continue although the existing index is sound.
    /// - Throws: ``VaultError`` with code `noVault` if there is nothing to rebuild an index from, `integrity` if the
    ///   backup is damaged, `invalidArgument` if the index is sound.
    package init(
        at folder: String, keyring: Keyring, evenIfSound: Bool, fileSystem: any FileSystem = PosixFileSystem(),
        now: @escaping @Sendable () -> Int64 = WallClock.now
    ) throws {
        guard fileSystem.exists(folder) else { throw VaultStore.absence(at: folder, fileSystem: fileSystem) }
        try VaultStore.requireOwn(folder, fileSystem)
        let lock = try VaultLock(folder: folder)
        let backup = folder + "/catalog.backup"
        guard fileSystem.exists(backup) else {
            throw VaultError(
                .noVault,
                "there is no catalog.backup at \(folder): without it no segment opens and nothing can be rebuilt"
            )
        }
        let path = folder + "/index.sqlite"
        // With `evenIfSound`, it also continues with an index that does not belong to this keyring.
        let (isSound, unknown) =
            evenIfSound
            ? (try? Self.judge(path, backup, keyring, fileSystem)) ?? (false, 0)
            : try Self.judge(path, backup, keyring, fileSystem)
        if isSound, !evenIfSound {
            let loss =
                unknown == 0
                ? "" : ": catalog.backup does not know \(unknown) of its segments, which would be moved to quarantine"
            throw VaultError(
                .invalidArgument,
                "the index of \(folder) is sound, and a rebuilt one could only know less\(loss)", hint: .force)
        }
        do throws(FileFailure) {
            for suffix in ["", "-wal", "-shm"] { try fileSystem.remove(path + ".new" + suffix) }
            _ = try fileSystem.create(path + ".new")
        } catch {
            throw error.vaultError("a new index cannot be created")
        }
        let (index, areSettingsLost) = try VaultIndex.restore(at: path + ".new", from: backup, keyring: keyring)
        self.folder = folder
        self.fileSystem = fileSystem
        counts.withLock { ($0.unknownToBackup, $0.areSettingsLost) = (unknown, areSettingsLost) }
        store = VaultStore(
            folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: lock, now: now)
    }

    /// Returns whether the existing index is sound, and how many of its segments the backup does not know.
    ///
    /// - Throws: ``VaultError`` if the index opens but does not belong to this keyring.
    private static func judge(
        _ path: String, _ backup: String, _ keyring: Keyring, _ fileSystem: any FileSystem
    ) throws -> (isSound: Bool, unknown: Int) {
        guard fileSystem.exists(path) else { return (false, 0) }
        do {
            // Opened for writing, so that closing it folds its log into it: it may soon be moved away.
            let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: false)
            defer { try? index.close() }
            return (try index.isSound(), (try? index.segmentCount(unknownTo: backup)) ?? 0)
        } catch let error as VaultError where [.foreignKeyring, .olderKeyring].contains(error.code) {
            throw error
        } catch {
            return (false, 0)
        }
    }

    // MARK: Segments

    /// Adopts the segments whose ids begin with a byte.
    package func adopt(_ byte: UInt8) throws {
        let (segments, others) = try store.unindexedFiles(in: byte)
        for id in segments { try adopt(id, in: byte) }
        for name in others { putAside(name, in: byte) }
    }

    private func adopt(_ id: SegmentID, in byte: UInt8) throws {
        do {
            guard let claimed = try store.claim(of: id), let (segment, badBlocks) = try Self.good(of: claimed) else {
                return putAside(id.hex, in: byte)
            }
            // A file that cannot be made durable is moved aside too: a later sync could succeed although the disk never
            // got its pages.
            guard (try? store.makeDurable(id)) != nil, try store.enter(segment, badBlocks: badBlocks) else {
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

    /// Returns the part of a file that can be read: it ends with the last block that opens. Nil if none opens.
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

    /// Cuts and moves files, now that the index in place knows of them.
    ///
    /// If the system does not permit this for a file, it stays, and a repair finds it again.
    private func applyFileChanges() {
        let work = work.withLock(\.self)
        for segment in work.cuts {
            let isCut = (try? store.cut(segment)) != nil
            counts.withLock { if isCut { $0.cut += 1 } else { $0.unknown += 1 } }
        }
        for (name, byte) in work.aside {
            let isMoved = (try? store.putAside(name, in: byte)) != nil
            counts.withLock { if isMoved { $0.quarantined += 1 } else { $0.unknown += 1 } }
        }
    }

    // MARK: Putting it in place

    /// Puts the new index in place, keeps the old one as `index.sqlite.damaged`, and releases the lock.
    package func finish() throws -> Counts {
        let index = store.index
        try index.serveFilled()
        let totals = try index.totals()
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

    private func replace() throws(FileFailure) {
        let path = folder + "/index.sqlite"
        let damaged = path + ".damaged"
        try fileSystem.open(path + ".new", writable: true).synchronize()
        // The old log is moved before the new index comes, because SQLite would take it for the new one's. Until then
        // there is no index at all, rather than one without its log.
        for suffix in ["", "-wal"] { try fileSystem.remove(damaged + suffix) }
        if fileSystem.exists(path) { try fileSystem.rename(path, to: damaged) }
        try fileSystem.synchronizeDirectory(folder)
        if fileSystem.exists(path + "-wal") { try fileSystem.rename(path + "-wal", to: damaged + "-wal") }
        try fileSystem.remove(path + "-shm")
        try fileSystem.synchronizeDirectory(folder)
        try fileSystem.rename(path + ".new", to: path)
        try fileSystem.synchronizeDirectory(folder)
    }

    /// Removes the unfinished index, and releases the lock.
    package func discard() {
        try? store.index.close()
        for suffix in ["", "-wal", "-shm"] { try? fileSystem.remove(folder + "/index.sqlite.new" + suffix) }
        store.giveUpLock()
    }
}

extension VaultIndex {
    /// Creates an index from a catalog backup: its rows, and no segments.
    ///
    /// The file at `path` must exist and be empty. Writes are not synced until the index is closed: it is not in use
    /// yet, and is synced as a whole before it is.
    ///
    /// - Returns: the index, and whether the backup's settings did not open: then it has those of a new vault.
    static func restore(
        at path: String, from backup: String, keyring: Keyring
    ) throws -> (index: VaultIndex, areSettingsLost: Bool) {
        try requireBackup(backup, keyring)
        var areSettingsLost = false
        try IndexError.translating {
            var configuration = configuration(readOnly: false)
            configuration.journalMode = .wal
            let database = try DatabaseQueue(path: path, configuration: configuration)
            try database.writeWithoutTransaction { db in
                try db.execute(sql: "ATTACH DATABASE ? AS backup", arguments: [backup])
                try db.inTransaction {
                    // Checked again, because the file may have been replaced since.
                    try SchemaCheck.require(
                        IndexSchema.catalog, of: "backup", db)
                    try db.execute(sql: "PRAGMA application_id = \(IndexSchema.applicationID)")
                    for statement in IndexSchema.all { try db.execute(sql: statement) }
                    areSettingsLost = try copyVault(keyring, db)
                    try copyRows(keyring, now: WallClock.now(), db)
                    try db.execute(sql: "PRAGMA user_version = \(IndexSchema.version)")
                    return .commit
                }
                try db.execute(sql: "DETACH DATABASE backup")
            }
            try database.close()
        }
        let index = try open(at: path, keyring: keyring, readOnly: false)
        try IndexError.translating {
            try index.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        }
        return (index, areSettingsLost)
    }

    /// Copies the vault's own row.
    ///
    /// Impossible values are corrected, because nothing would open with them: the keyring knows its revision and its
    /// locators.
    ///
    /// - Returns: whether the settings do not open: then they are those of a new vault.
    private static func copyVault(_ keyring: Keyring, _ db: Database) throws -> Bool {
        let id = keyring.vaultID
        let own = try Row.fetchOne(db, sql: "SELECT * FROM backup.vault WHERE id = ?", arguments: [id.data])
        guard let row = own else { throw IndexError.damaged }
        let revision = try? row.column("keyringRevision", in: PlainColumn.revisions)
        let isPossible = revision.map { $0 <= keyring.revision + VaultIndex.maxRevisionLead } ?? false
        let stated = (try? row.column("locator", in: PlainColumn.numbers)).flatMap { number in
            keyring.locators.first { $0 == number }
        }
        let sealed: Data? = try? row.column("settings")
        let candidates = [stated].compactMap(\.self) + keyring.locators.reversed()
        let opening = try candidates.first { try opens(sealed, locator: $0, keyring) }
        let locator = opening ?? stated ?? keyring.newestLocator
        var settings = sealed
        if opening == nil {
            guard let key = try keyring.indexKey(locator: locator) else { throw IndexError.damaged }
            var fresh = VaultSettings()
            // Key numbers are above the numbers of all reseals, so the next reseal gets one that no resource has seen.
            let last = try Int64.fetchOne(
                db, sql: "SELECT max(number) FROM backup.resourceKey WHERE \(PlainColumn.isResourceKey)")
            fresh.lastResealRun = last ?? 0
            settings = try SealedDocument.seal(
                fresh.object, key: key.secret, associatedData: settingsData(id)
            ).data
        }
        try db.execute(
            sql: "INSERT INTO main.vault VALUES (?, ?, ?, ?)",
            arguments: [id.data, isPossible ? revision : keyring.revision, locator, settings])
        return opening == nil
    }

    private static func opens(_ settings: Data?, locator: Int, _ keyring: Keyring) throws -> Bool {
        guard let settings, let key = try keyring.indexKey(locator: locator) else { return false }
        return SealedDocument.open(
            Array(settings), key: key.secret, associatedData: settingsData(keyring.vaultID)
        ).flatMap { VaultSettings($0) } != nil
    }

    /// Copies the rows that can be right.
    ///
    /// An impossible class, hour or state is corrected, because no key depends on it. A row with impossible numbers is
    /// left out, with everything that depends on it.
    private static func copyRows(_ keyring: Keyring, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.generation
                    SELECT number, CASE WHEN state = 'retiring' THEN state ELSE 'active' END FROM backup.generation
                    WHERE \(PlainColumn.isWithin(PlainColumn.numbers, "number"));
                """)
        // Generations that the keyring got after the backup was written.
        for number in keyring.activeGenerations {
            try db.execute(sql: "INSERT OR IGNORE INTO generation VALUES (?, 'active')", arguments: [number])
        }
        try db.execute(
            sql: """
                INSERT INTO main.resource
                    SELECT id, key, metadata,
                        CASE WHEN class IN ('pinned', 'download', 'cache') THEN class ELSE 'download' END,
                        CASE WHEN \(PlainColumn.hasHour) THEN accessed ELSE \(PlainColumn.hour(of: now)) END
                    FROM backup.resource
                    WHERE typeof(id) = 'blob' AND length(id) = 32 AND typeof(metadata) = 'blob' AND EXISTS (
                        SELECT 1 FROM backup.resourceKey AS used
                        WHERE used.resource = backup.resource.id AND used.number = backup.resource.key
                            AND \(PlainColumn.isWithin(PlainColumn.numbers, "used.number"))
                            AND used.generation IN (SELECT number FROM main.generation));
                INSERT INTO main.resourceKey SELECT * FROM backup.resourceKey
                    WHERE \(PlainColumn.isResourceKey) AND length(wrapped) = 60
                        AND resource IN (SELECT id FROM main.resource)
                        AND generation IN (SELECT number FROM main.generation);
                INSERT INTO main.representation
                    SELECT id, resource,
                        CASE WHEN state IN ('filling', 'superseded') THEN state ELSE 'serving' END, info
                    FROM backup.representation
                    WHERE typeof(id) = 'blob' AND length(id) = 16 AND typeof(info) = 'blob'
                        AND resource IN (SELECT id FROM main.resource);
                """)
    }

    /// The number of missing values at which the backup is refused: behind more, damage to the file could hide.
    private static let maxFaults = 100_000

    private static func requireBackup(_ path: String, _ keyring: Keyring) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] { try RegularFile.require(path + suffix) }
        do {
            try IndexError.translating {
                let database = try DatabaseQueue(path: path, configuration: configuration(readOnly: true))
                defer { try? database.close() }
                try database.read { db in
                    try requireKind(db, IndexSchema.catalog)
                    _ = try vaultRow(db, keyring)
                    // Rows with impossible values are left out one by one, or corrected.
                    try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                    let faults = try String.fetchAll(db, sql: "PRAGMA quick_check(\(maxFaults))")
                    guard faults.count < maxFaults,
                        faults.allSatisfy({ $0 == "ok" || $0.hasPrefix("NULL value in ") })
                    else { throw IndexError.damaged }
                }
            }
        } catch let error as VaultError where [.integrity, .noVault].contains(error.code) {
            throw VaultError(
                .integrity,
                "catalog.backup is damaged, so the index cannot be rebuilt; restore the vault's folder from a copy")
        }
    }

    /// Returns whether every row that can be checked is right, so that a rebuild would gain nothing.
    func isSound() throws -> Bool {
        _ = try settings()
        let isWhole = try read { db in
            try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok"
                && Row.fetchOne(db, sql: "PRAGMA foreign_key_check") == nil
        }
        var last: ResourceID?
        while isWhole {
            let page = try resources(after: last, limit: 64)
            guard page.allSatisfy({ $0.resource != nil }) else { return false }
            guard let end = page.last else { return true }
            last = end.id
        }
        return false
    }

    /// Returns the number of segments whose representation a catalog backup does not know.
    func segmentCount(unknownTo backup: String) throws -> Int {
        try checkOpen()
        return try IndexError.translating {
            try database.writeWithoutTransaction { db in
                try db.execute(sql: "ATTACH DATABASE ? AS backup", arguments: [backup])
                defer { try? db.execute(sql: "DETACH DATABASE backup") }
                // A view in place of a table could keep the query running forever.
                try SchemaCheck.require(IndexSchema.catalog, of: "backup", db)
                return try Int.fetchOne(
                    db,
                    sql: """
                        SELECT count(*) FROM segment \
                        WHERE representation NOT IN (SELECT id FROM backup.representation)
                        """
                ) ?? 0
            }
        }
    }

    /// Serves representations that the backup lists as being filled, if no other of their resource holds bytes.
    func serveFilled() throws {
        let filled = try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT id, resource FROM representation AS filling WHERE state = 'filling'
                    AND EXISTS (SELECT 1 FROM segment WHERE representation = filling.id)
                    AND NOT EXISTS (
                        SELECT 1 FROM segment JOIN representation AS other ON other.id = segment.representation
                        WHERE other.resource = filling.resource AND other.state = 'serving')
                    """
            ).compactMap { row -> (RepresentationID, ResourceID)? in
                guard let id = RepresentationID(try row.column("id")),
                    let resource = ResourceID(try row.column("resource"))
                else { return nil }
                return (id, resource)
            }
        }
        for (id, resource) in filled {
            guard let resource = try? self.resource(resource) else { continue }
            _ = try serve(id, of: resource)
        }
    }
}
