import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// A row of `download`: an entry of the download queue, sealed like the vault's settings.
struct DownloadRow: Sendable {
    let id: DownloadID
    let record: [UInt8]

    /// The largest sealed record, in bytes: no writer writes a larger one.
    static let maxBytes = 1 << 20

    /// Opens the record; nil if it does not open, or is not what a writer writes.
    func open(under key: borrowing SecretKey) -> QueuedDownload? {
        SealedDocument.open(record, key: key, associatedData: Self.recordData(id)).flatMap { QueuedDownload(id, $0) }
    }

    /// Seals an entry.
    static func sealing(_ download: QueuedDownload, under key: borrowing SecretKey) throws -> DownloadRow {
        let record = try SealedDocument.seal(
            download.object, key: key, associatedData: recordData(download.id))
        guard record.count <= maxBytes else {
            throw VaultError(.invalidArgument, "the request fields of a download are too long; leave some out")
        }
        return DownloadRow(id: download.id, record: record)
    }

    private static func recordData(_ id: DownloadID) -> [UInt8] {
        SealedDocument.associatedData("download", "record", id.bytes)
    }

    // MARK: Rows

    /// Returns whether a database has the table, which older vaults lack.
    static func hasTable(of schema: String = "main", _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM \(schema).sqlite_master WHERE type = 'table' AND name = 'download'")
        return try Bool.fetchOne(statement) ?? false
    }

    /// Adds the row, or replaces it.
    func insert(_ db: Database) throws {
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO main.download VALUES (?, ?)")
        try statement.execute(arguments: [id.data, record.data])
    }

    static func delete(_ id: DownloadID, _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "DELETE FROM download WHERE id = ?")
        try statement.execute(arguments: [id.data])
    }
}

// The download queue.
extension VaultIndex {
    private static let downloadPage = 500

    /// Returns the entries of the queue in no particular order, and the ids of those that do not open.
    package func queuedDownloads() throws -> (downloads: [QueuedDownload], damaged: [DownloadID]) {
        var found: (downloads: [QueuedDownload], damaged: [DownloadID]) = ([], [])
        var last = Data()
        // Page by page, so that other work runs in between.
        while found.downloads.count + found.damaged.count < 2 * QueuedDownload.most {
            let isWhole = try read { db in
                guard try DownloadRow.hasTable(db) else { return true }
                let key = try downloadKey(db)
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT id, CASE WHEN length(record) <= \(DownloadRow.maxBytes) THEN record END AS record
                        FROM download WHERE id > ? ORDER BY id LIMIT \(Self.downloadPage)
                        """, arguments: [last])
                for row in rows {
                    let bytes: Data = try row.column("id")
                    last = bytes
                    guard let id = DownloadID(bytes) else { continue }
                    let record: Data? = try? row.column("record")
                    if let record, let opened = DownloadRow(id: id, record: record.array).open(under: key.secret) {
                        found.downloads.append(opened)
                    } else {
                        found.damaged.append(id)
                    }
                }
                return rows.count < Self.downloadPage
            }
            if isWhole { break }
        }
        return found
    }

    /// Writes entries of the queue, in one transaction.
    ///
    /// - Parameter isDurable: whether they must survive a power loss.
    package func write(_ downloads: [QueuedDownload], isDurable: Bool) throws {
        let body = { (db: Database) in
            let key = try self.downloadKey(db)
            // An owner that had no space for the table when it opened the vault may have space now.
            if try !DownloadRow.hasTable(db) { try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.download)) }
            for download in downloads { try DownloadRow.sealing(download, under: key.secret).insert(db) }
        }
        if isDurable { try write(body) } else { try writeWithoutSync(body) }
    }

    /// Deletes entries of the queue, in one transaction.
    ///
    /// - Parameter isForgotten: whether copies of them are to be erased, too, and the deletion must survive a power
    ///   loss. An entry that comes back after its title was fetched costs nothing.
    package func removeDownloads(_ ids: [DownloadID], isForgotten: Bool) throws {
        let body = { (db: Database) in
            guard try DownloadRow.hasTable(db) else { return }
            for id in ids { try DownloadRow.delete(id, db) }
            if isForgotten { try PendingErasure.record(db) }
        }
        if isForgotten { try write(body) } else { try writeWithoutSync(body) }
    }

    /// Seals the entries of the queue under the key of another locator. One that does not open stays as it is.
    func resealDownloads(from old: Int, to new: Int, _ db: Database) throws {
        guard try DownloadRow.hasTable(db), let oldKey = try keyring.indexKey(locator: old),
            let newKey = try keyring.indexKey(locator: new)
        else { return }
        // The ids first, because rows are replaced meanwhile.
        for bytes in try Data.fetchAll(db, sql: "SELECT id FROM download") {
            guard let id = DownloadID(bytes),
                let record = try Data.fetchOne(
                    db, sql: "SELECT record FROM download WHERE id = ? AND length(record) <= \(DownloadRow.maxBytes)",
                    arguments: [bytes]),
                let opened = DownloadRow(id: id, record: record.array).open(under: oldKey.secret)
            else { continue }
            try DownloadRow.sealing(opened, under: newKey.secret).insert(db)
        }
    }

    /// Returns the key of the locator that the vault's row names.
    private func downloadKey(_ db: Database) throws -> SharedKey {
        guard let locator = try VaultRow.fetch(db)?.locator, let key = try keyring.indexKey(locator: locator) else {
            throw VaultError(
                .foreignKeyring, "the keyring lacks the key of this vault's download queue; use the newer keyring")
        }
        return key
    }
}
