import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// The row of `network`: the settings that say how origins are reached.
///
/// They may be large, and the other settings are sealed again whenever bytes are stored, so they have a row of their own.
enum NetworkRow {
    /// The largest sealed record, in bytes: no writer writes a larger one. All settings at their limits take a fourth.
    static let maxBytes = 4 << 20

    /// The SQL condition for a record that is read.
    static let isPossible = "(typeof(record) = 'blob' AND length(record) <= \(maxBytes))"

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
            // A search by key would read the whole row to compare it, however large it is; `+id` is no such search.
            let row = try Row.fetchOne(
                db, sql: "SELECT CASE WHEN \(isPossible) THEN record END AS record FROM network WHERE +id = ?",
                arguments: [id.data])
        else { return .missing }
        guard let record: Data = try? row.column("record"),
            let members = SealedDocument.open(record.array, key: key, associatedData: recordData(id))
        else { return .unreadable }
        return .members(members)
    }

    /// Seals and writes the row of a vault.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if it would be larger than what is read.
    static func write(_ members: JSONObject, of id: VaultID, under key: borrowing SecretKey, _ db: Database) throws {
        // An owner that had no space for the table when it opened the vault may have space now.
        try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.network))
        let record = try SealedDocument.seal(members, key: key, associatedData: recordData(id))
        guard record.count <= maxBytes else {
            throw VaultError(.invalidArgument, "the network settings are too large; leave some out")
        }
        // The table has no other row, and to find one by its key would read it, however large it is.
        try db.execute(sql: "DELETE FROM network")
        try db.execute(sql: "INSERT INTO network VALUES (?, ?)", arguments: [id.data, record.data])
    }

    private static func recordData(_ id: VaultID) -> [UInt8] {
        SealedDocument.associatedData("network", "record", id.bytes)
    }
}

extension VaultIndex {
    /// Adds what the row of the network has to settings that were opened without it.
    func addNetwork(to settings: inout VaultSettings, locator: Int, _ db: Database) throws {
        guard let key = try keyring.indexKey(locator: locator) else { return }
        // A row that is missing, or was written with other settings, is not what was set.
        switch try NetworkRow.fetch(keyring.vaultID, under: key.secret, db) {
        case .missing where settings.networkRevision == 0: break
        case .members(let members) where settings.wereWritten(with: members):
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
