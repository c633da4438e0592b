import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// Restores resources and records from a catalog in which they open, if a database does not open them, or lacks them
/// although they were not erased.
///
/// It works in both directions: a new backup keeps what only the previous backup still has, and an index recovers what
/// only its backup has. Each resource and each record is restored separately, so that one that cannot be copied does
/// not affect the others.
struct CatalogMerge {
    let index: VaultIndex
    /// The database to repair, to which the catalog is also attached.
    let db: Database
    /// The catalog, opened on its own connection.
    let catalog: Database
    private let keys: RecordKeys
    private let catalogKeys: RecordKeys
    /// Whether every deletion since the catalog was written is known, so that anything else that the database lacks
    /// must have been lost.
    let knowsErasures: Bool
    /// Whether resources have the same ids in both databases.
    let hasSameLocator: Bool
    /// Whether to restore records that grant access. An old copy may grant more access than its holders still have.
    private let givesRights: Bool

    /// The names of the tables whose records grant access.
    static let rights = [SealedTable.shares, .viewers, .grants].map(\.name)
    /// The name under which the catalog is attached.
    private static let schema = "former"

    /// Restores what was lost. Call this outside a transaction.
    ///
    /// - Parameters:
    ///   - folder: the vault folder. Its catalogs are searched, the newest first. If none can be read, nothing is
    ///     restored.
    ///   - db: the database to repair.
    ///   - erased: an SQL query that lists what was deleted on purpose, with the columns of the table `erased`.
    ///   - passesOverUnread: whether to skip a catalog that cannot be read at present. The caller must then not treat
    ///     the contents of that catalog as lost.
    /// - Throws: ``VaultError`` with code `storage` if a catalog cannot be read at present and is not skipped.
    static func run(
        fromBackupIn folder: String, into db: Database, erased: String,
        passingOverUnread passesOverUnread: Bool = false, _ index: VaultIndex
    ) throws -> Restored {
        let files = CatalogFiles(in: folder)
        var taken = Restored()
        // Restores from one catalog. Returns nil if the catalog is missing or damaged as a whole, so that nothing can
        // be restored from it.
        func take(from path: String, givingRights givesRights: Bool) throws -> Restored? {
            do {
                let more = try files.reading(only: path) { catalog in
                    try attached(path, .ofCatalog, to: db, erased: erased) {
                        try CatalogMerge(
                            into: db, from: catalog, isNewest: path == files.newest, givesRights: givesRights, index)
                    }
                }
                if let more { taken.add(more) }
                return more
            } catch let error as VaultError where error.code == .storage && passesOverUnread {
                taken.unread.insert(path)
                return Restored()
            }
        }
        let newest = try take(from: files.newest, givingRights: true)
        if files.areSame() { return taken }
        // A row that is damaged in the newest copy, too, may be intact in the previous one. The previous copy's access
        // records are restored only if the newest copy is missing or damaged as a whole.
        let former = try take(from: files.former, givingRights: newest == nil)
        // Some rows of a resource that was restored from the previous copy may be only in the newest copy, so the
        // newest copy is searched again.
        if let former, former.resources > 0 { _ = try take(from: files.newest, givingRights: true) }
        return taken
    }

    /// Restores what a database lacks from another index of the same vault. Call this outside a transaction.
    static func run(fromIndex path: String, into db: Database, _ index: VaultIndex) throws {
        try IndexDatabase.reading(path, .ofIndex) { rows in
            _ = try attached(path, .ofIndex, to: db, erased: "SELECT '', x'' WHERE FALSE") {
                try CatalogMerge(into: db, from: rows, isNewest: true, givesRights: true, index)
            }
        }
    }

    private static func attached(
        _ path: String, _ contents: IndexSchema.Contents, to db: Database, erased: String,
        _ merge: () throws -> CatalogMerge
    ) throws -> Restored {
        try db.execute(sql: "ATTACH DATABASE ? AS \(schema)", arguments: [path])
        defer { try? db.execute(sql: "DETACH DATABASE \(schema)") }
        try SchemaCheck.require(contents.required, optional: contents.optional, of: schema, db)
        try db.execute(
            sql: """
                CREATE TEMP TABLE ordered (record TEXT, id BLOB, PRIMARY KEY (record, id)) WITHOUT ROWID;
                INSERT OR IGNORE INTO temp.ordered \(erased)
                """)
        defer { try? db.execute(sql: "DROP TABLE temp.ordered") }
        return try merge().run()
    }

    private func run() throws -> Restored {
        var taken = Restored()
        taken.resources = try takeResources()
        taken.rows = try takeParts() + takeCovers()
        var tables: Set<String> = []
        for table in SealedTable.all where givesRights || !Self.rights.contains(table.name) {
            let count = try takeRecords(of: table)
            taken.records += count
            if count > 0 { tables.insert(table.name) }
        }
        if !tables.isDisjoint(with: [SealedTable.settings.name, SealedTable.network.name]) {
            _ = try together {
                try bindNetwork()
                return 0
            }
        }
        return taken
    }

    private init(
        into db: Database, from catalog: Database, isNewest: Bool, givesRights: Bool, _ index: VaultIndex
    ) throws {
        (self.index, self.db, self.catalog, self.givesRights) = (index, db, catalog, givesRights)
        keys = try RecordKeys(index.keyring, db)
        catalogKeys = try RecordKeys(index.keyring, of: Self.schema, db)
        hasSameLocator = try VaultRow.locator(db) == VaultRow.locator(of: Self.schema, db)
        // Format versions before 6 did not record deletions, and deletions older than the newest catalog are no longer
        // recorded.
        knowsErasures = try isNewest && Int.fetchOne(catalog, sql: "PRAGMA user_version") ?? 0 >= 6
    }

    /// Returns the rows that a query finds.
    ///
    /// - Parameters:
    ///   - candidates: a query for rows of the database to repair. If the first query meets an unreadable page, it
    ///     finds nothing beyond that page, so these rows are added for the caller to look up one by one.
    ///   - isWanted: whether to return a row that the first query finds.
    func rows(
        _ sql: String, orAllOf candidates: String, where isWanted: (Row) throws -> Bool = { _ in true }
    ) throws -> [Row] {
        var rows: [Row] = []
        for query in [sql, candidates] {
            let takesAll = query == candidates
            do {
                let cursor = try Row.fetchCursor(db, sql: query)
                while let row = try cursor.next() { if try takesAll || isWanted(row) { rows.append(row.copy()) } }
                break
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                continue
            }
        }
        return rows
    }

    /// Restores all found items in one transaction. If it meets an unreadable page, restores each item in its own
    /// transaction, because SQLite commits nothing in a transaction that has met such a page.
    ///
    /// - Returns: the number of changes.
    func takeEach<Found>(_ found: [Found], _ take: (Found) throws -> Int) throws -> Int {
        guard !found.isEmpty else { return 0 }
        if let count = try together({ try found.reduce(0) { try $0 + take($1) } }) { return count }
        return try found.reduce(0) { count, one in try count + (together { try take(one) } ?? 0) }
    }

    /// Makes changes in one transaction. Returns nil if a page that the changes need cannot be read.
    private func together(_ changes: () throws -> Int) throws -> Int? {
        var count = 0
        do {
            try db.inTransaction(.deferred) {
                count = try changes()
                return .commit
            }
            return count
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            return nil
        }
    }

    func wasErased(_ record: String, _ id: Data) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM temp.ordered WHERE record = ? AND id IN (?, ?) LIMIT 1")
        return try Bool.fetchOne(statement, arguments: [record, id, ErasedRow.all]) ?? false
    }

    // MARK: Rows

    /// Restores each packed file whose row is lost or does not open, if the catalog's row opens under the pack's key.
    private func takeParts() throws -> Int {
        guard hasSameLocator, try PackedPartRow.hasTable(of: Self.schema, db), try PackedPartRow.hasTable(db) else {
            return 0
        }
        let found = try rows(
            """
            SELECT id, pack FROM former.packedPart AS was
            WHERE \(PackedPartRow.isPossible) AND NOT EXISTS (SELECT 1 FROM main.packedPart AS now
                    WHERE now.id = was.id AND now.pack = was.pack AND \(PlainColumn.isSame("entry")))
            ORDER BY pack
            """, orAllOf: "SELECT id, pack FROM main.packedPart WHERE \(PackedPartRow.hasIDs)")
        var pack: (id: ResourceID, key: SharedKey?)?
        return try takeEach(found) { row in
            guard let id = ResourceID(try row.column("id") as Data),
                let packID = ResourceID(try row.column("pack") as Data),
                try !wasErased(ErasedRow.packedPart, id.data + packID.data), try !ResourceRow.exists(id, db)
            else { return 0 }
            if pack?.id != packID { pack = (packID, try index.resources.opened(packID, db)?.metadataKey) }
            let present = try PackedPartRow.fetch(id, in: packID, db)
            guard let key = pack?.key, knowsErasures || present != nil, present?.open(under: key.secret) == nil,
                let former = try PackedPartRow.fetch(id, in: packID, catalog), former.open(under: key.secret) != nil
            else { return 0 }
            return try take { try former.insert(db) }
        }
    }

    /// Restores each cover that its resource's metadata names but that the database does not open.
    private func takeCovers() throws -> Int {
        guard try CoverRow.hasTable(of: Self.schema, db), try CoverRow.hasTable(db) else { return 0 }
        let found = try rows(
            """
            SELECT DISTINCT resource FROM former.cover AS was
            WHERE \(CoverRow.isPossible) AND NOT EXISTS (
                SELECT 1 FROM main.cover AS now
                WHERE now.resource = was.resource AND \(PlainColumn.isSame("picture")))
            """, orAllOf: "SELECT id AS resource FROM main.resource WHERE \(ResourceRow.hasID)")
        return try takeEach(found) { row in
            guard let id = ResourceID(try row.column("resource") as Data),
                let opened = try index.resources.opened(id, db),
                let tag = opened.metadata.cover,
                try CoverRow.fetch(tag, of: id, under: opened.metadataKey.secret, db) == nil,
                let picture = try CoverRow.fetch(tag, of: id, under: opened.metadataKey.secret, catalog)
            else { return 0 }
            return try take { try CoverRow.write(picture, tag, of: id, under: opened.metadataKey.secret, db) }
        }
    }

    // MARK: Records

    /// Restores each record of one kind that is lost or does not open, if the catalog's record opens.
    private func takeRecords(of table: SealedTable) throws -> Int {
        guard try isComparable(table) else { return 0 }
        let found = try rows(
            """
            SELECT was.id FROM former.\(table.name) AS was LEFT JOIN main.\(table.name) AS now ON now.id = was.id
            WHERE \(table.isPossible(of: "was")) AND NOT \(PlainColumn.isSame(table.column))
            """, orAllOf: "SELECT id FROM main.\(table.name) WHERE \(table.hasID())")
        return try takeEach(found) { row in
            let id: Data = try row.column("id")
            guard try isLost(id, table),
                case .members(let members) = try table.content(of: id.array, catalogKeys, in: Self.schema, db),
                try !table.isOfResource || ResourceID(id).map({ try ResourceRow.exists($0, db) }) ?? false
            else { return 0 }
            let sealed = try table.seal(current(members, of: table), of: id.array, keys)
            return try take { try table.restore(sealed, of: id.array, db) }
        }
    }

    /// Binds the settings to the current network row, because one of the two was restored and each is valid only with
    /// the other.
    private func bindNetwork() throws {
        let id = index.keyring.vaultID.bytes
        guard case .members(let row) = try SealedTable.network.content(of: id, keys, db),
            case .members(let members) = try SealedTable.settings.content(of: id, keys, db),
            var settings = VaultSettings(members), !settings.wereWritten(with: row)
        else { return }
        settings.count(network: row)
        try SealedTable.settings.restore(
            SealedTable.settings.seal(settings.object, of: id, keys), of: id, db)
    }

    /// Returns the members to restore. Old settings are adjusted so that the next reseal does not reuse a number that
    /// resource keys already have.
    private func current(_ members: JSONObject, of table: SealedTable) throws -> JSONObject {
        guard table.name == SealedTable.settings.name, var settings = VaultSettings(members) else { return members }
        let last = try Int64.fetchOne(
            db, sql: "SELECT max(number) FROM main.resourceKey WHERE \(PlainColumn.isResourceKey)")
        settings.lastResealRun = max(settings.lastResealRun, last ?? 0)
        // A reseal that was in progress when the catalog was written may have ended since, so it starts again under a
        // new number and gets its own receipt.
        if let order = settings.resealOrder {
            settings.lastResealRun += 1
            settings.resealOrder = ResealOrder(
                run: settings.lastResealRun, resources: order.resources, bytesPerSecond: order.bytesPerSecond,
                after: nil)
        }
        return settings.object
    }

    private func isComparable(_ table: SealedTable) throws -> Bool {
        try table.exists(in: Self.schema, db) && table.exists(db) && (hasSameLocator || !table.isOfResource)
    }

    /// Returns whether a record is missing or does not open in the database, although it was not deleted.
    ///
    /// A record that is sealed under a generation that the keyring merely lacks is not lost, because another keyring
    /// opens it.
    private func isLost(_ id: Data, _ table: SealedTable) throws -> Bool {
        switch try table.content(of: id.array, keys, db) {
        case .members: false
        case .unreadable: try !wasErased(table.name, id) && !table.isOfLackedGeneration(id.array, index.keyring, db)
        case .missing: try knowsErasures && !wasErased(table.name, id)
        }
    }

    /// Makes one change in a savepoint; a change that fails has no effect.
    ///
    /// - Returns: 1 if the change was made, else 0.
    func take(_ change: () throws -> Void) throws -> Int {
        do {
            try db.inSavepoint {
                try change()
                return .commit
            }
            return 1
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            // The row's generation, or the row that this row belongs to, is gone.
            return 0
        } catch is NothingGained {
            return 0
        }
    }

    /// The error that a change throws in order to be undone, because the resource still does not open.
    struct NothingGained: Error {}
}

/// How much was restored from a catalog.
package struct Restored: Hashable, Sendable {
    package var resources = 0
    /// The number of restored rows of packed files and of covers.
    package var rows = 0
    package var records = 0

    /// The paths of the copies that could not be read and were skipped.
    var unread: Set<String> = []

    package init() {}

    package var total: Int { resources + rows + records }

    mutating func add(_ other: Restored) {
        resources += other.resources
        rows += other.rows
        records += other.records
    }
}
