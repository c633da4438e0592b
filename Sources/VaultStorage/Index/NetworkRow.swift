import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// The row of `network`: the settings that say how origins are reached.
///
/// They may be large, and the other settings are sealed again whenever bytes are stored, so they have a row of their own.
enum NetworkRow {
    /// What the row holds.
    enum Content {
        /// There is none.
        case missing
        /// It does not open.
        case unreadable
        /// Its members.
        case members(JSONObject)
    }

    /// Returns whether a database has the table, which older vaults lack.
    static func hasTable(of schema: String = "main", _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM \(schema).sqlite_master WHERE type = 'table' AND name = 'network'")
        return try Bool.fetchOne(statement) ?? false
    }

    /// Opens the row of a vault.
    static func fetch(_ id: VaultID, under key: borrowing SecretKey, _ db: Database) throws -> Content {
        guard try hasTable(db),
            let row = try Row.fetchOne(db, sql: "SELECT record FROM network WHERE id = ?", arguments: [id.data])
        else { return .missing }
        guard let record: Data = try? row.column("record"),
            let members = SealedDocument.open(record.array, key: key, associatedData: recordData(id))
        else { return .unreadable }
        return .members(members)
    }

    /// Seals and writes the row of a vault.
    static func write(_ members: JSONObject, of id: VaultID, under key: borrowing SecretKey, _ db: Database) throws {
        // An owner that had no space for the table when it opened the vault may have space now.
        try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.network))
        let record = try SealedDocument.seal(members, key: key, associatedData: recordData(id))
        try db.execute(sql: "INSERT OR REPLACE INTO network VALUES (?, ?)", arguments: [id.data, record.data])
    }

    private static func recordData(_ id: VaultID) -> [UInt8] {
        SealedDocument.associatedData("network", "record", id.bytes)
    }
}

extension VaultIndex {
    /// Adds what the row of the network has to settings that were opened without it.
    func addNetwork(to settings: inout VaultSettings, locator: Int, _ db: Database) throws {
        guard let key = try keyring.indexKey(locator: locator) else { return }
        // A row that is missing, or older than the settings, is not what was set.
        switch try NetworkRow.fetch(keyring.vaultID, under: key.secret, db) {
        case .missing where settings.networkRevision == 0: break
        case .members(let members) where members["revision"] == .integer(settings.networkRevision):
            settings.network = NetworkMembers(ofRow: members)
        case .missing, .unreadable, .members: settings.network = NetworkMembers(ofRow: nil)
        }
    }

    /// Writes the members to their row if they were changed, or if the row is to be under another locator.
    func write(_ network: NetworkMembers, locator: Int, _ db: Database) throws {
        guard network.isChanged, let members = network.members, let key = try keyring.indexKey(locator: locator)
        else { return }
        try NetworkRow.write(members, of: keyring.vaultID, under: key.secret, db)
    }
}
