import Foundation
import GRDB
import VaultCrypto
import VaultModel

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
        let isPossible = revision.map { $0 <= keyring.revision + IndexNeeds.farthestRevision } ?? false
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
