import Foundation
import GRDB
import VaultModel

/// `catalog.backup`: the rows of the index without which no segment could be opened again.
package final class CatalogBackup: Sendable {
    private let index: VaultIndex
    private let folder: String
    private let fileSystem: any FileSystem
    private let state = Locked(State())
    /// Held while a backup is written.
    private let writing = Locked(())

    private struct State {
        /// Changes that the file does not have yet.
        var changes = 0
        /// Not a time of the wall clock, which may be set back.
        var last = ContinuousClock.now
    }

    init(_ index: VaultIndex, vault folder: String, fileSystem: any FileSystem) {
        self.index = index
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// Whether the file lacks changes.
    var isBehind: Bool { state.withLock { $0.changes > 0 } }

    func noteChanges(_ count: Int = 1) { state.withLock { $0.changes += count } }

    /// Forgets the changes: nothing is left that the file could back up.
    func discardChanges() { state.withLock { $0.changes = 0 } }

    /// Writes a new backup if the file is 10 minutes or 1 000 changes behind.
    func writeIfDue(now: ContinuousClock.Instant) throws {
        let isDue = state.withLock { state in
            state.changes >= 1000 || (state.changes > 0 && now - state.last >= .seconds(600))
        }
        if isDue { try write(now: now) }
    }

    /// Writes a new backup beside the index.
    func write(now: ContinuousClock.Instant = .now) throws {
        // One at a time: two would remove each other's half-written file.
        try writing.withLock { _ in
            let changes = state.withLock { $0.changes }
            try replaceFile()
            state.withLock { state in
                state.changes -= changes
                state.last = now
            }
        }
    }

    /// Writes the file under a temporary name, syncs and renames it; then the folder is synced.
    private func replaceFile() throws {
        let path = folder + "/catalog.backup"
        let temporary = path + ".new"
        do {
            try fileSystem.remove(temporary)
            // Created here with the vault's mode: SQLite would leave the mode to the umask.
            _ = try fileSystem.create(temporary)
            try copyRows(to: temporary)
            try fileSystem.open(temporary, writable: true).synchronize()
            try fileSystem.rename(temporary, to: path)
            try fileSystem.synchronizeDirectory(folder)
        } catch {
            // An incomplete backup would only take space.
            try? fileSystem.remove(temporary)
            guard let failure = error as? FileFailure else { throw error }
            throw failure.vaultError("the catalog backup cannot be written")
        }
    }

    /// Copies the rows as they are at one moment.
    ///
    /// The copy has a connection of its own, so that no reader or writer of the index waits for it.
    private func copyRows(to path: String) throws {
        try index.database.checkOpen()
        try IndexError.translating {
            var configuration = IndexDatabase.configuration(readOnly: false)
            // The references were checked when the rows were written.
            configuration.foreignKeysEnabled = false
            let backup = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? backup.close() }
            try backup.writeWithoutTransaction { db in
                // A row with an impossible value must not keep other rows out of the backup.
                try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                // The file is synced once it is complete, and discarded otherwise.
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = MEMORY;
                        PRAGMA synchronous = OFF;
                        PRAGMA application_id = \(IndexSchema.applicationID);
                        PRAGMA user_version = \(IndexSchema.versions.upperBound);
                        """)
                try db.execute(sql: "ATTACH DATABASE ? AS vaultIndex", arguments: [index.database.path])
                // Any other kind of transaction would block writes to the index until this one ends.
                try db.inTransaction(.deferred) {
                    for statement in IndexSchema.catalog + IndexSchema.laterCatalog { try db.execute(sql: statement) }
                    let hasPacks = try PackedPartRow.hasTable(of: "vaultIndex", db)
                    let hasGrants = try GrantRow.hasTable(of: "vaultIndex", db)
                    let hasQueue = try DownloadRow.hasTable(of: "vaultIndex", db)
                    let hasNetwork = try NetworkRow.hasTable(of: "vaultIndex", db)
                    let hasSubscriptions = try SubscriptionRow.hasTable(of: "vaultIndex", db)
                    let hasCovers = try CoverRow.hasTable(of: "vaultIndex", db)
                    let later = [
                        ("packedPart", hasPacks), ("accessGrant", hasGrants), ("download", hasQueue),
                        ("network", hasNetwork), ("subscription", hasSubscriptions), ("cover", hasCovers),
                    ]
                    for table in try SealedTable.all.filter({ try $0.exists(in: "vaultIndex", db) }) {
                        try db.execute(
                            sql: """
                                INSERT INTO main.\(table.name) SELECT id, record FROM vaultIndex.\(table.name)
                                    WHERE \(table.isPossible)
                                """)
                    }
                    for table in IndexSchema.catalogTables + later.filter(\.1).map(\.0) {
                        let possible = [
                            "network": " WHERE \(NetworkRow.isPossible)", "cover": " WHERE \(CoverRow.isPossible)",
                        ]
                        try db.execute(
                            sql: "INSERT INTO main.\(table) SELECT * FROM vaultIndex.\(table)\(possible[table] ?? "")")
                    }
                    return .commit
                }
                try db.execute(sql: "DETACH DATABASE vaultIndex")
                try db.inTransaction {
                    try keepGoodRows(db)
                    return .commit
                }
            }
        }
    }

    // MARK: Damage

    private static let pageSize = 500

    /// Replaces the rows of each resource that the index does not open any more by those of the present backup, if that
    /// opens it: damage to the index must not reach its only copy.
    private func keepGoodRows(_ db: Database) throws {
        // Without a backup that can be read there is nothing to keep.
        try? IndexDatabase.reading(backupIn: folder) { former in
            var last: Data? = Data()
            while let after = last {
                last = try Data.fetchAll(
                    db, sql: "SELECT id FROM resource WHERE id > ? ORDER BY id LIMIT ?",
                    arguments: [after, Self.pageSize]
                ).last
                guard let last else { return }
                let (now, before) = (
                    try Self.sealedValues(after, last, db), try Self.sealedValues(after, last, former)
                )
                for (id, values) in now where before[id].map({ $0 != values }) ?? false {
                    guard let resource = ResourceID(id), (try? index.opens(resource, db)) != true,
                        (try? index.opens(resource, former)) == true
                    else { continue }
                    // All of its rows or none: one that cannot be copied leaves it as it is in the index.
                    try? db.inSavepoint {
                        try Self.copyRows(of: resource, from: former, to: db)
                        return .commit
                    }
                }
            }
        }
    }

    /// Returns the sealed values of the resources in a range of ids.
    private static func sealedValues(_ after: Data, _ last: Data, _ db: Database) throws -> [Data: Set<DatabaseValue>] {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT id, metadata FROM resource WHERE id > :after AND id <= :last
                UNION ALL SELECT resource, wrapped FROM resourceKey WHERE resource > :after AND resource <= :last
                UNION ALL SELECT resource, info FROM representation WHERE resource > :after AND resource <= :last
                """, arguments: ["after": after, "last": last])
        var values: [Data: Set<DatabaseValue>] = [:]
        while let row = try rows.next() {
            guard let id = Data.fromDatabaseValue(row[0]) else { continue }
            values[id, default: []].insert(row[1])
        }
        return values
    }

    private static func copyRows(of resource: ResourceID, from former: Database, to db: Database) throws {
        let covers = try CoverRow.hasTable(former) ? [("cover", "resource")] : []
        for (table, column) in covers + [
            ("representation", "resource"), ("resourceKey", "resource"), ("resource", "id"),
        ] {
            try db.execute(sql: "DELETE FROM \(table) WHERE \(column) = ?", arguments: [resource.data])
            for row in try Row.fetchAll(
                former, sql: "SELECT * FROM \(table) WHERE \(column) = ?", arguments: [resource.data])
            {
                let places = databaseQuestionMarks(count: row.count)
                try db.execute(
                    sql: "INSERT INTO \(table) VALUES (\(places))", arguments: StatementArguments(row.databaseValues))
            }
        }
    }
}
