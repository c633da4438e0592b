import Foundation
import GRDB
package import VaultCrypto
import VaultModel

/// Makes the index of a vault anew from `catalog.backup` and the files of its segments.
///
/// It owns the vault from beginning to end. The new index is made under a temporary name and put in the old one's place
/// when it is whole and durable; until then no file is moved, cut or removed, so that whoever breaks it off has the vault
/// as it was. What a crash leaves undone after that, a repair finds: files without a row, and files that are too long.
/// Every call may block.
package final class IndexRebuild: Sendable {
    /// What was found.
    package struct Counts: Sendable {
        package var resources = 0
        package var segments = 0
        package var bytes: Int64 = 0
        /// Blocks that fail their tag, in segments that were taken in: gaps.
        package var badBlocks = 0
        /// Files that ended in something that does not open, and were cut there.
        package var cut = 0
        /// Files that were moved aside.
        package var quarantined = 0
        /// Files that could not be read, or whose resource does not open: they stay where they are.
        package var unknown = 0
        /// Segments of the index that was there of which the backup does not know what they are; 0 where that index did
        /// not open.
        package var unknownToBackup = 0
        /// Whether the backup's settings did not open: the index has those of a new vault.
        package var areSettingsLost = false
    }

    /// What is to be done to files once the new index is in its place.
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

    /// The first bytes of segment ids: ``adopt(_:)`` wants each of them.
    package static let bytes = UInt8.min...UInt8.max

    /// Takes the vault's lock and makes an index of the backup's rows.
    ///
    /// - Parameter evenIfSound: whether to go on though the index that is there has nothing wrong with it.
    /// - Throws: ``VaultError`` with code `noVault` where there is nothing to make an index from, `integrity` where the
    ///   backup is damaged, `invalidArgument` where the index is sound.
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
                "there is no catalog.backup at \(folder): no segment can be opened without it, and nothing can be rebuilt"
            )
        }
        let path = folder + "/index.sqlite"
        // Forced, it goes on with an index that this keyring is not the one for, too.
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
                "the index of \(folder) is sound, and one made again could only know less\(loss); use --force to do it "
                    + "all the same")
        }
        do throws(FileFailure) {
            for suffix in ["", "-wal", "-shm"] { try fileSystem.remove(path + ".new" + suffix) }
            _ = try fileSystem.create(path + ".new")
        } catch {
            throw error.vaultError("a new index cannot be made")
        }
        let (index, areSettingsLost) = try VaultIndex.restore(at: path + ".new", from: backup, keyring: keyring)
        self.folder = folder
        self.fileSystem = fileSystem
        counts.withLock { ($0.unknownToBackup, $0.areSettingsLost) = (unknown, areSettingsLost) }
        store = VaultStore(
            folder: folder, fileSystem: fileSystem, index: index, keyring: keyring, lock: lock, now: now)
    }

    /// Whether nothing is wrong with the index that is there, and how many of its segments the backup does not know.
    ///
    /// - Throws: ``VaultError`` where the index opens, and this keyring is not the one for it.
    private static func judge(
        _ path: String, _ backup: String, _ keyring: Keyring, _ fileSystem: any FileSystem
    ) throws -> (isSound: Bool, unknown: Int) {
        guard fileSystem.exists(path) else { return (false, 0) }
        do {
            // Opened for writing, so that closing it folds its log into it: it may be moved away in a moment.
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

    /// Takes in the segments whose ids begin with a byte.
    package func adopt(_ byte: UInt8) throws {
        let (segments, others) = try store.unnamedFiles(in: byte)
        for id in segments { try adopt(id, in: byte) }
        for name in others { putAside(name, in: byte) }
    }

    private func adopt(_ id: SegmentID, in byte: UInt8) throws {
        do {
            guard let claimed = try store.claim(of: id), let (segment, badBlocks) = try Self.good(of: claimed) else {
                return putAside(id.hex, in: byte)
            }
            // One that cannot be made durable goes, too: the next sync might say yes to pages that the disk never got.
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

    /// What of a file can be read: it ends with the last block that opens. Nil where none does.
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

    /// Cuts and moves what was found, now that the index that is in place knows of it. A file that the system does not
    /// let go of stays: a repair finds it again.
    private func clearUp() {
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

    /// Puts the new index in the old one's place, which is kept as `index.sqlite.damaged`, and gives up the lock.
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
        clearUp()
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
        // The old log goes before the new index comes: SQLite would take it for the new one's. Until then there is no
        // index at all rather than one without its log.
        for suffix in ["", "-wal"] { try fileSystem.remove(damaged + suffix) }
        if fileSystem.exists(path) { try fileSystem.rename(path, to: damaged) }
        try fileSystem.synchronizeDirectory(folder)
        if fileSystem.exists(path + "-wal") { try fileSystem.rename(path + "-wal", to: damaged + "-wal") }
        try fileSystem.remove(path + "-shm")
        try fileSystem.synchronizeDirectory(folder)
        try fileSystem.rename(path + ".new", to: path)
        try fileSystem.synchronizeDirectory(folder)
    }

    /// Lets go of what was made so far, and gives up the lock.
    package func abandon() {
        try? store.index.close()
        for suffix in ["", "-wal", "-shm"] { try? fileSystem.remove(folder + "/index.sqlite.new" + suffix) }
        store.giveUpLock()
    }
}

extension VaultIndex {
    /// Makes an index out of a catalog backup: its rows, and no segments. The file at `path` must be there and empty.
    ///
    /// What is written until it is closed is not synced: it is not in use, and is synced as a whole before it is.
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
                    // Once more, since it may be another by now.
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

    /// Copies the vault's own row. What it says that cannot be is set right, for nothing would open by it: the keyring
    /// knows how new it is and which names it can make.
    ///
    /// - Returns: whether the settings do not open: then they are those of a new vault.
    private static func copyVault(_ keyring: Keyring, _ db: Database) throws -> Bool {
        let id = keyring.vaultID
        let own = try Row.fetchOne(db, sql: "SELECT * FROM backup.vault WHERE id = ?", arguments: [id.data])
        guard let row = own else { throw IndexError.damaged }
        let revision = try? row.column("keyringRevision", in: PlainColumn.revisions)
        let isPossible = revision.map { $0 <= keyring.revision + KeyringRequirements.farthestRevision } ?? false
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
            // Keys have numbers above that of every reseal: the next one gets a number that no title went through.
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

    /// Copies what can be right. A class, an hour or a state that cannot be is set right: it says nothing of a key. A row
    /// whose numbers cannot be is left out, and what hangs on it.
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

    /// So many values that are missing are looked past: behind more, damage to the file could hide.
    private static let mostFaults = 100_000

    private static func requireBackup(_ path: String, _ keyring: Keyring) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] { try PlainFile.require(path + suffix) }
        do {
            try IndexError.translating {
                let database = try DatabaseQueue(path: path, configuration: configuration(readOnly: true))
                defer { try? database.close() }
                try database.read { db in
                    try requireKind(db, IndexSchema.catalog)
                    _ = try ownRow(db, keyring)
                    // Rows that say what cannot be are left out one by one, or set right.
                    try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                    let faults = try String.fetchAll(db, sql: "PRAGMA quick_check(\(mostFaults))")
                    guard faults.count < mostFaults,
                        faults.allSatisfy({ $0 == "ok" || $0.hasPrefix("NULL value in ") })
                    else { throw IndexError.damaged }
                }
            }
        } catch let error as VaultError where [.integrity, .noVault].contains(error.code) {
            throw VaultError(
                .integrity,
                "catalog.backup is damaged, and nothing can be made from it; restore the vault's folder from a copy")
        }
    }

    /// Whether every row that can be checked is right: nothing would be won by making this index anew.
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

    /// How many segments there are of which a catalog backup does not know what they are.
    func segmentCount(unknownTo backup: String) throws -> Int {
        try checkOpen()
        return try IndexError.translating {
            try database.writeWithoutTransaction { db in
                try db.execute(sql: "ATTACH DATABASE ? AS backup", arguments: [backup])
                defer { try? db.execute(sql: "DETACH DATABASE backup") }
                // A view in the place of a table would be asked for ever.
                try SchemaCheck.require(IndexSchema.catalog, of: "backup", db)
                return try Int.fetchOne(
                    db,
                    sql: "SELECT count(*) FROM segment WHERE representation NOT IN (SELECT id FROM backup.representation)"
                ) ?? 0
            }
        }
    }

    /// Serves representations that the backup knew only as being filled, and that are all a resource has by now.
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
