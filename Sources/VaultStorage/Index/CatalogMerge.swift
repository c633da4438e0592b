import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// Takes over from a catalog what a database does not open, or lacks although nobody erased it, if that catalog opens it.
///
/// It works in both directions: a new backup keeps what the former one alone still has, and an index gets back what only
/// its backup has. Each resource and each record stands alone: one that cannot be copied leaves the others.
struct CatalogMerge {
    private let index: VaultIndex
    /// The database that is mended. The catalog is attached to it, too.
    private let db: Database
    /// The catalog on a connection of its own.
    private let catalog: Database
    private let keys: RecordKeys
    private let catalogKeys: RecordKeys
    /// Whether each deletion since the catalog was written is known, so that what the database lacks was lost.
    private let knowsErasures: Bool
    /// Whether resources have the same ids in both.
    private let hasSameLocator: Bool
    /// Whether it may give back what lets somebody in: a former copy may give more than was left to them since.
    private let givesRights: Bool

    /// The kinds of records that let somebody in.
    static let rights = [SealedTable.shares, .viewers, .grants].map(\.name)
    /// The name under which the catalog is attached.
    private static let schema = "former"

    /// Takes over what is lost. Call it outside a transaction.
    ///
    /// - Parameters:
    ///   - folder: that of the vault, whose catalogs are asked, the newest first. Without one that can be read, nothing
    ///     is lost.
    ///   - db: the database that is mended.
    ///   - erased: an SQL query for what was deleted on purpose: the columns of `erased`.
    static func run(
        fromBackupIn folder: String, into db: Database, erased: String, _ index: VaultIndex
    ) throws -> Restored {
        var taken = Restored()
        var isFirst = true
        let files = CatalogFiles(in: folder)
        // The copy before may have a row that is damaged in the newest, too.
        for path in files.all where FileManager.default.fileExists(atPath: path) {
            do {
                let more = try IndexDatabase.reading(path, .ofCatalog) { [isFirst] catalog in
                    try attached(path, .ofCatalog, to: db, erased: erased) {
                        try CatalogMerge(
                            into: db, from: catalog, isNewest: path == files.newest, givesRights: isFirst, index)
                    }
                }
                taken = taken + more
                isFirst = false
            } catch let error as VaultError where [.integrity, .noVault, .storage].contains(error.code) {
                // A backup that cannot be read has nothing that could be lost.
                continue
            }
        }
        return taken
    }

    /// Takes over from another index of the vault what is lacking. Call it outside a transaction.
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
        taken.resources = try byItself(takeResources)
        taken.rows = try byItself(takeParts) + byItself(takeCovers)
        var tables: Set<String> = []
        for table in SealedTable.all where givesRights || !Self.rights.contains(table.name) {
            let count = try byItself { try takeRecords(of: table) }
            taken.records += count
            if count > 0 { tables.insert(table.name) }
        }
        if !tables.isDisjoint(with: [SealedTable.settings.name, SealedTable.network.name]) {
            _ = try byItself {
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
        // Earlier versions noted no deletions, and those before the newest catalog are noted no more.
        hasSameLocator = try VaultRow.locator(db) == VaultRow.locator(of: Self.schema, db)
        knowsErasures = try isNewest && Int.fetchOne(catalog, sql: "PRAGMA user_version") ?? 0 >= 6
    }

    /// Takes over one kind of rows in a transaction of its own: SQLite commits nothing more in one that has met a page that
    /// cannot be read.
    private func byItself(_ take: () throws -> Int) throws -> Int {
        var count = 0
        do {
            try db.inTransaction(.deferred) {
                count = try take()
                return .commit
            }
            return count
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            return 0
        }
    }

    private func wasErased(_ record: String, _ id: Data) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM temp.ordered WHERE record = ? AND id IN (?, ?) LIMIT 1")
        return try Bool.fetchOne(statement, arguments: [record, id, ErasedRow.all]) ?? false
    }

    /// Returns whether a resource opens. A disk that cannot be read, or no memory, does not make it one that is lost.
    private func opens(_ id: ResourceID, _ db: Database) throws -> Bool {
        do {
            return try IndexError.translating { try index.opens(id, db) }
        } catch let error as VaultError where error.code == .integrity {
            return false
        }
    }

    // MARK: Resources

    /// Takes over each resource whose keys, metadata or information differ, if the catalog alone opens it.
    private func takeResources() throws -> Int {
        guard hasSameLocator else { return 0 }
        var count = 0
        let ids = try Data.fetchAll(
            db,
            sql: """
                SELECT id FROM (
                    SELECT id FROM former.resource AS was
                        WHERE \(PlainColumn.isSealed("metadata", upTo: ResourceRow.maxBytes))
                        AND NOT EXISTS (SELECT 1 FROM main.resource AS now
                            WHERE now.id = was.id AND now.key = was.key AND \(PlainColumn.isSame("metadata")))
                    UNION SELECT resource FROM former.resourceKey AS was
                        WHERE \(PlainColumn.isSealed("wrapped", upTo: ResourceKeyRow.wrappedBytes))
                        AND NOT EXISTS (SELECT 1 FROM main.resourceKey AS now WHERE now.resource = was.resource
                            AND now.number = was.number AND now.generation = was.generation
                            AND \(PlainColumn.isSame("wrapped")))
                    UNION SELECT resource FROM main.resourceKey AS now
                        WHERE resource IN (SELECT id FROM former.resource)
                        AND NOT EXISTS (SELECT 1 FROM former.resourceKey AS was WHERE was.resource = now.resource
                            AND was.number = now.number)
                    UNION SELECT resource FROM former.representation AS was
                        WHERE \(PlainColumn.isSealed("info", upTo: RepresentationRow.maxBytes))
                        AND NOT EXISTS (SELECT 1 FROM main.representation AS now
                            WHERE now.id = was.id AND now.resource = was.resource AND \(PlainColumn.isSame("info")))
                ) AS lost WHERE typeof(id) = 'blob' AND length(id) = \(ResourceKind.byteCount)
                    AND NOT EXISTS (SELECT 1 FROM former.resourceKey AS key WHERE key.resource = lost.id
                        AND key.generation NOT IN (SELECT number FROM main.generation))
                """)
        for bytes in ids {
            guard let id = ResourceID(bytes), try !opens(id, db),
                try knowsErasures || ResourceRow.exists(id, db), try !wasErased(ErasedRow.resource, bytes),
                try opens(id, catalog), try !wentWithTitles(id), try !areOthers(id)
            else { continue }
            count += try take { try copyResource(id) }
        }
        return count
    }

    /// Returns whether each title that a resource is a part of was erased: then it would have gone with them.
    private func wentWithTitles(_ id: ResourceID) throws -> Bool {
        guard let locator = try VaultRow.locator(db), let metadata = try index.opened(id, catalog)?.metadata,
            !metadata.partOf.isEmpty
        else { return false }
        return try metadata.partOf.allSatisfy { key in
            guard let title = index.keyring.resourceID(cacheKey: key, locator: locator) else { return false }
            return try !ResourceRow.exists(title, db) && wasErased(ErasedRow.resource, title.data)
        }
    }

    /// Returns whether another resource has a representation by now that was this one's, and opens it.
    private func areOthers(_ id: ResourceID) throws -> Bool {
        try representations(of: id).contains { representation in
            guard let row = try RepresentationRow.fetch(representation, db), let owner = row.resource, owner != id,
                let key = try index.opened(owner, db)?.metadataKey
            else { return false }
            return row.openInfo(of: owner, under: key.secret) != nil
        }
    }

    /// Returns the representations of a resource that open in the catalog. A row that does not may be another's.
    private func representations(of id: ResourceID) throws -> [RepresentationID] {
        guard let key = try index.opened(id, catalog)?.metadataKey else { return [] }
        return try Data.fetchAll(
            catalog,
            sql: "SELECT id FROM representation WHERE resource = ? AND \(RepresentationRow.isPossible)",
            arguments: [id.data]
        ).compactMap { RepresentationID($0) }.filter { representation in
            try RepresentationRow.fetch(representation, catalog)?.openInfo(of: id, under: key.secret) != nil
        }
    }

    /// Copies the rows of a resource. The rows that segments belong to stay, because they hold bytes.
    private func copyResource(_ id: ResourceID) throws {
        // A key that opens stays: a reseal may have sealed segments under it since.
        for row in try Row.fetchAll(
            db, sql: "SELECT \(ResourceKeyRow.columns) FROM main.resourceKey WHERE resource = ?", arguments: [id.data])
        {
            if let key = try? ResourceKeyRow(row), try key.key(index.keyring) != nil { continue }
            try db.execute(
                sql: "DELETE FROM main.resourceKey WHERE resource = ? AND number = ?",
                arguments: [id.data, row["number"] as DatabaseValue])
        }
        try db.execute(
            literal: """
                INSERT INTO main.resource SELECT \(sql: ResourceRow.corrected(now: WallClock.now()))
                    FROM former.resource WHERE id = \(id.data)
                ON CONFLICT (id) DO UPDATE SET key = excluded.key, metadata = excluded.metadata
                """)
        try db.execute(
            literal: """
                INSERT INTO main.resourceKey SELECT * FROM former.resourceKey
                    WHERE resource = \(id.data) AND \(sql: PlainColumn.isResourceKey)
                        AND length(wrapped) = \(ResourceKeyRow.wrappedBytes)
                ON CONFLICT (resource, number) DO NOTHING
                """)
        for representation in try representations(of: id) {
            try db.execute(
                literal: """
                    INSERT INTO main.representation SELECT \(sql: RepresentationRow.corrected)
                        FROM former.representation WHERE id = \(representation.data)
                    ON CONFLICT (id) DO UPDATE SET resource = excluded.resource, info = excluded.info
                    """)
        }
    }

    /// Takes over each file of a pack whose row does not open, if the catalog's opens under the pack's key.
    private func takeParts() throws -> Int {
        guard knowsErasures, hasSameLocator else { return 0 }
        var count = 0
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, pack FROM former.packedPart AS was
                WHERE \(PackedPartRow.isPossible) AND NOT EXISTS (SELECT 1 FROM main.packedPart AS now
                        WHERE now.id = was.id AND now.pack = was.pack AND \(PlainColumn.isSame("entry")))
                ORDER BY pack
                """)
        var pack: (id: ResourceID, key: SharedKey?)?
        for row in rows {
            guard let id = ResourceID(try row.column("id") as Data),
                let packID = ResourceID(try row.column("pack") as Data),
                try !wasErased(ErasedRow.packedPart, id.data + packID.data), try !ResourceRow.exists(id, db)
            else { continue }
            if pack?.id != packID { pack = (packID, try index.opened(packID, db)?.metadataKey) }
            guard let key = pack?.key, try PackedPartRow.fetch(id, in: packID, db)?.open(under: key.secret) == nil,
                let former = try PackedPartRow.fetch(id, in: packID, catalog), former.open(under: key.secret) != nil
            else { continue }
            count += try take { try former.insert(db) }
        }
        return count
    }

    /// Takes over each cover that the metadata of its resource name and the database does not open.
    private func takeCovers() throws -> Int {
        guard try CoverRow.hasTable(of: Self.schema, db), try CoverRow.hasTable(db) else { return 0 }
        var count = 0
        let ids = try Data.fetchAll(
            db,
            sql: """
                SELECT DISTINCT resource FROM former.cover AS was
                WHERE \(CoverRow.isPossible) AND NOT EXISTS (
                    SELECT 1 FROM main.cover AS now
                    WHERE now.resource = was.resource AND \(PlainColumn.isSame("picture")))
                """)
        for id in ids.compactMap({ ResourceID($0) }) {
            guard let opened = try index.opened(id, db), let tag = opened.metadata.cover,
                try CoverRow.fetch(tag, of: id, under: opened.metadataKey.secret, db) == nil,
                let picture = try CoverRow.fetch(tag, of: id, under: opened.metadataKey.secret, catalog)
            else { continue }
            count += try take { try CoverRow.write(picture, tag, of: id, under: opened.metadataKey.secret, db) }
        }
        return count
    }

    // MARK: Records

    /// Takes over each record of a kind that does not open, if the catalog's opens.
    private func takeRecords(of table: SealedTable) throws -> Int {
        guard try isComparable(table) else { return 0 }
        var count = 0
        let ids = try Data.fetchAll(
            db,
            sql: """
                SELECT was.id FROM former.\(table.name) AS was LEFT JOIN main.\(table.name) AS now ON now.id = was.id
                WHERE \(table.isPossible(of: "was")) AND NOT \(PlainColumn.isSame(table.column))
                """)
        for id in ids {
            guard try isLost(id, table),
                case .members(let members) = try table.content(of: id.array, catalogKeys, in: Self.schema, db),
                try !table.isOfResource || ResourceID(id).map({ try ResourceRow.exists($0, db) }) ?? false
            else { continue }
            let sealed = try table.seal(current(members, of: table), of: id.array, keys)
            count += try take { try table.restore(sealed, of: id.array, db) }
        }
        return count
    }

    /// Lets the settings count the row of the network that is there, because one of the two has come back: each is valid
    /// with the other alone.
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

    /// Returns members as they are taken over: older settings must not make the next reseal one that resources have
    /// seen.
    private func current(_ members: JSONObject, of table: SealedTable) throws -> JSONObject {
        guard table.name == SealedTable.settings.name, var settings = VaultSettings(members) else { return members }
        let last = try Int64.fetchOne(
            db, sql: "SELECT max(number) FROM main.resourceKey WHERE \(PlainColumn.isResourceKey)")
        settings.lastResealRun = max(settings.lastResealRun, last ?? 0)
        // A reseal that was under way then may have ended since, so it begins again, with a receipt of its own.
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

    /// Returns whether a record does not open in the database, and nobody deleted it.
    ///
    /// One of a generation that the keyring merely lacks is not lost: another keyring opens it.
    private func isLost(_ id: Data, _ table: SealedTable) throws -> Bool {
        switch try table.content(of: id.array, keys, db) {
        case .members: false
        case .unreadable: try !wasErased(table.name, id) && !table.isOfLackedGeneration(id.array, index.keyring, db)
        case .missing: try knowsErasures && !wasErased(table.name, id)
        }
    }

    /// Makes a change by itself; one that fails leaves everything as it was.
    ///
    /// - Returns: the number of changes: one or none.
    private func take(_ change: () throws -> Void) throws -> Int {
        do {
            try db.inSavepoint {
                try change()
                return .commit
            }
            return 1
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            // Its generation is gone, or what it belongs to.
            return 0
        }
    }
}

/// What came back from a catalog.
package struct Restored: Hashable, Sendable {
    package var resources = 0
    /// Rows of files in packs, and of covers.
    package var rows = 0
    package var records = 0

    package var total: Int { resources + rows + records }

    static func + (one: Restored, other: Restored) -> Restored {
        Restored(
            resources: one.resources + other.resources, rows: one.rows + other.rows,
            records: one.records + other.records)
    }
}
