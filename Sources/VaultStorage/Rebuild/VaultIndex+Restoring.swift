import Foundation
import GRDB
import VaultCrypto
import VaultModel

extension VaultIndex {
    /// Makes an index out of a catalog backup: its rows, and no segments. The file at `path` must be there and empty.
    ///
    /// What is written until it is closed is not synced: it is not in use, and is synced as a whole before it is.
    static func restore(at path: String, from backup: String, keyring: Keyring) throws -> VaultIndex {
        try requireBackup(backup, keyring)
        try IndexError.translating {
            var configuration = configuration(readOnly: false)
            configuration.journalMode = .wal
            let database = try DatabaseQueue(path: path, configuration: configuration)
            try database.writeWithoutTransaction { db in
                try db.execute(sql: "ATTACH DATABASE ? AS backup", arguments: [backup])
                try db.inTransaction {
                    try db.execute(sql: "PRAGMA application_id = \(IndexSchema.applicationID)")
                    for statement in IndexSchema.all { try db.execute(sql: statement) }
                    for table in IndexSchema.catalogTables {
                        try db.execute(sql: "INSERT INTO main.\(table) SELECT * FROM backup.\(table)")
                    }
                    // Generations that the keyring got after the backup was written.
                    for number in keyring.activeGenerations {
                        try db.execute(
                            sql: "INSERT OR IGNORE INTO generation VALUES (?, 'active')", arguments: [number])
                    }
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
        return index
    }

    private static func requireBackup(_ path: String, _ keyring: Keyring) throws {
        do {
            try IndexError.translating {
                let database = try DatabaseQueue(path: path, configuration: configuration(readOnly: true))
                defer { try? database.close() }
                try database.read { db in
                    _ = try check(db, keyring)
                    guard try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok" else {
                        throw IndexError.damaged
                    }
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
