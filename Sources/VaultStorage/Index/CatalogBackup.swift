import Foundation
import GRDB
import VaultModel

/// Writes `catalog.backup`: the index rows without which no segment could be opened, and every sealed record.
///
/// A new backup keeps everything in the old one that the index no longer opens, so it is never worse than the old one.
package final class CatalogBackup: Sendable {
    private let index: VaultIndex
    private let files: CatalogFiles
    private let fileSystem: any FileSystem
    private let state = Locked(State())
    /// The lock that is held while a backup is being written.
    private let writing = Locked(())

    private struct State {
        /// The number of changes that the file does not contain yet.
        var changes = 0
        /// The time of the last attempt to write the file. It is not wall-clock time, because that may be set back.
        var last = ContinuousClock.now
        /// The number of failed writes since the last successful one.
        var failures = 0
    }

    /// The number of failures after which a copy that cannot be read is skipped, because a backup without its content
    /// is better than none.
    private static let mostFailures = 5

    init(_ index: VaultIndex, vault folder: String, fileSystem: any FileSystem) {
        self.index = index
        files = CatalogFiles(in: folder)
        self.fileSystem = fileSystem
    }

    /// Whether there are changes that the file does not contain yet.
    var isBehind: Bool { state.withLock { $0.changes > 0 } }

    func noteChanges(_ count: Int = 1) { state.withLock { $0.changes += count } }

    /// Resets the number of pending changes, because nothing is left to back up.
    func discardChanges() { state.withLock { $0.changes = 0 } }

    /// Writes a new backup if 1 000 changes are pending, or if any are pending 10 minutes after the last write. After a
    /// failure, it retries a minute later.
    package func writeIfDue(now: ContinuousClock.Instant = .now) throws {
        let isDue = state.withLock { state in
            guard state.changes > 0 else { return false }
            return state.changes >= 1000 && state.failures == 0
                || now - state.last >= .seconds(state.failures > 0 ? 60 : 600)
        }
        if isDue { try write(now: now) }
    }

    /// Writes a new backup beside the index.
    ///
    /// - Parameter forgetting: whether to replace the previous copy, too, so that nothing erased remains in either.
    package func write(forgetting: Bool = false, now: ContinuousClock.Instant = .now) throws {
        // Only one write runs at a time, because two would remove each other's half-written file.
        try writing.withLock { _ in
            let (changes, failures) = state.withLock { ($0.changes, $0.failures) }
            do {
                try replaceFile(forgetting: forgetting, passingOverUnread: failures >= Self.mostFailures)
            } catch {
                state.withLock { ($0.last, $0.failures) = (now, failures + 1) }
                throw error
            }
            state.withLock { state in
                state.changes -= changes
                (state.last, state.failures) = (now, 0)
            }
        }
    }

    /// Writes the file under a temporary name, syncs it, renames it, and syncs the folder.
    private func replaceFile(forgetting: Bool, passingOverUnread passesOverUnread: Bool) throws {
        let temporary = files.newest + CatalogFiles.unfinished
        do {
            try fileSystem.remove(temporary)
            // The file is created here with the vault's mode, because SQLite would leave the mode to the umask.
            _ = try fileSystem.create(temporary)
            let (erased, unread) = try copyRows(to: temporary, passingOverUnread: passesOverUnread)
            try fileSystem.open(temporary, writable: true).synchronize()
            try files.put(temporary, forgetting: forgetting, unread: unread, fileSystem)
            // If these rows cannot be removed for lack of space, the next backup reads the same erasures again.
            if erased > 0 { try? index.writeWithoutSync { db in try ErasedRow.remove(upTo: erased, db) } }
        } catch {
            // An incomplete backup would only take up space.
            try? fileSystem.remove(temporary)
            guard let failure = error as? FileFailure else { throw error }
            throw failure.vaultError("the catalog backup cannot be written")
        }
    }

    /// Copies a snapshot of the rows, and adds the resources and records that open only in the existing backup.
    ///
    /// The copy uses its own connection, so that no reader or writer of the index waits for it.
    ///
    /// - Returns: the number of the last `erased` row in the snapshot, and the paths of the copies that were skipped.
    private func copyRows(
        to path: String, passingOverUnread passesOverUnread: Bool
    ) throws -> (erased: Int64, unread: Set<String>) {
        try index.database.checkOpen()
        try index.database.catchUp()
        return try IndexError.translating {
            var configuration = IndexDatabase.configuration(readOnly: false)
            // Foreign keys were already checked when the rows were written.
            configuration.foreignKeysEnabled = false
            let backup = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? backup.close() }
            return try backup.writeWithoutTransaction { db in
                // A row with an invalid value must not keep other rows out of the backup.
                try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                // These writes need not survive a crash, because the file is synced once it is complete, and
                // discarded otherwise.
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = MEMORY;
                        PRAGMA synchronous = OFF;
                        PRAGMA temp_store = MEMORY;
                        PRAGMA application_id = \(IndexSchema.applicationID);
                        PRAGMA user_version = \(IndexSchema.versions.upperBound);
                        """)
                try db.execute(sql: "ATTACH DATABASE ? AS vaultIndex", arguments: [index.database.path])
                var last: Int64 = 0
                // Any other kind of transaction would block writes to the index until this one ends.
                try db.inTransaction(.deferred) {
                    for statement in IndexSchema.catalog + IndexSchema.laterCatalog { try db.execute(sql: statement) }
                    try Self.copyTables(now: index.now(), db)
                    try db.execute(sql: "CREATE TEMP TABLE erasedThen AS SELECT record, id FROM vaultIndex.erased")
                    last = try ErasedRow.last(of: "vaultIndex", db)
                    return .commit
                }
                try db.execute(sql: "DETACH DATABASE vaultIndex")
                let restored = try CatalogMerge.run(
                    fromBackupIn: files.folder, into: db, erased: "SELECT record, id FROM temp.erasedThen",
                    passingOverUnread: passesOverUnread, index)
                return (last, restored.unread)
            }
        }
    }

    /// Copies the index rows that belong in a backup.
    ///
    /// If a row has an invalid value, the row is copied with that value left empty, so that it does not open. If the
    /// row were left out, it would count as deleted.
    private static func copyTables(now: Int64, _ db: Database) throws {
        // A row without a valid id is left out, because nothing can refer to it and it would only keep other rows from
        // being restored. SQLite assumes that a NOT NULL column is never null, so the conditions check types instead.
        let rows = [
            "generation": """
            SELECT \(GenerationRow.corrected) FROM vaultIndex.generation WHERE \(GenerationRow.isPossible)
            """,
            "resource": """
            SELECT \(ResourceRow.corrected(now: now)) FROM vaultIndex.resource
            WHERE \(ResourceRow.hasID)
            """,
            "resourceKey": "SELECT * FROM vaultIndex.resourceKey WHERE \(PlainColumn.isResourceKey)",
            "representation": """
            SELECT \(RepresentationRow.corrected) FROM vaultIndex.representation
            WHERE \(RepresentationRow.isPossible)
            """,
        ]
        for table in IndexSchema.catalogTables {
            try copy(into: table, rows[table] ?? "SELECT * FROM vaultIndex.\(table)", db)
        }
        for table in try SealedTable.own.filter({ try $0.exists(in: "vaultIndex", db) }) {
            try copy(
                into: table.name, "SELECT \(table.corrected) FROM vaultIndex.\(table.name) WHERE \(table.hasID())", db)
        }
        if try PackedPartRow.hasTable(of: "vaultIndex", db) {
            try copy(
                into: "packedPart",
                "SELECT \(PackedPartRow.corrected) FROM vaultIndex.packedPart WHERE \(PackedPartRow.hasIDs)", db)
        }
        if try CoverRow.hasTable(of: "vaultIndex", db) {
            try copy(into: "cover", "SELECT * FROM vaultIndex.cover WHERE \(CoverRow.isPossible)", db)
        }
    }

    /// Copies the rows that a query finds, and ignores duplicates, because a damaged index may have a row twice.
    private static func copy(into table: String, _ rows: String, _ db: Database) throws {
        try db.execute(sql: "INSERT OR IGNORE INTO main.\(table) \(rows)")
    }
}
