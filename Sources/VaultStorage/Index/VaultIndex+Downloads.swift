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

    /// The SQL condition for a row whose id is possible.
    static let hasID = "(typeof(id) = 'blob' AND length(id) = 16)"

    static func delete(_ id: DownloadID, _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "DELETE FROM download WHERE id = ?")
        try statement.execute(arguments: [id.data])
    }
}

// The download queue.
extension VaultIndex {
    private static let downloadPage = 500

    /// Returns the entries of the queue in no particular order, and the number of rows that do not open.
    package func queuedDownloads() throws -> (downloads: [QueuedDownload], damaged: Int) {
        var downloads: [QueuedDownload] = []
        var (rowCount, last) = (0, Data())
        // Page by page, so that other work runs in between.
        while downloads.count < 2 * QueuedDownload.most {
            let isWhole = try read { db in
                guard try DownloadRow.hasTable(db) else { return true }
                if last.isEmpty { rowCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM download") ?? 0 }
                let key = try downloadKey(db)
                // A cursor holds one record at a time.
                let rows = try Row.fetchCursor(
                    db,
                    sql: """
                        SELECT id, CASE WHEN length(record) <= \(DownloadRow.maxBytes) THEN record END AS record
                        FROM download WHERE \(DownloadRow.hasID) AND id > ? ORDER BY id LIMIT \(Self.downloadPage)
                        """, arguments: [last])
                var count = 0
                while let row = try rows.next() {
                    count += 1
                    last = try row.column("id")
                    let record: Data? = try? row.column("record")
                    guard let id = DownloadID(last), let record,
                        let opened = DownloadRow(id: id, record: record.array).open(under: key.secret)
                    else { continue }
                    downloads.append(opened)
                }
                return count < Self.downloadPage
            }
            if isWhole { break }
        }
        // Rows that were added meanwhile open.
        return (downloads, max(0, rowCount - downloads.count))
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

    /// Deletes the whole queue with the rows that do not open, in one transaction; copies of them are to be erased.
    package func removeAllDownloads() throws {
        try write { db in
            guard try DownloadRow.hasTable(db) else { return }
            try db.execute(sql: "DELETE FROM download")
            try PendingErasure.record(db)
        }
    }

    /// Seals the entries of the queue under the key of another locator, and gives them the ids that their titles have
    /// under it. One that does not open stays as it is.
    ///
    /// - Parameters:
    ///   - stored: the resources before the change: their titles keep their ids.
    ///   - resource: returns the resource of an order under a locator, held or not; nil if it names none.
    /// - Returns: the titles that have another id, with that id.
    func resealDownloads(
        from old: Int, to new: Int, stored: Set<ResourceID>, resource: (DownloadOrder, _ locator: Int) -> ResourceID?,
        _ db: Database
    ) throws -> [TitleID: TitleID] {
        var titles: [TitleID: TitleID] = [:]
        guard try DownloadRow.hasTable(db), let oldKey = try keyring.indexKey(locator: old),
            let newKey = try keyring.indexKey(locator: new)
        else { return titles }
        // The ids first, because rows are replaced meanwhile.
        for bytes in try Data.fetchAll(db, sql: "SELECT id FROM download WHERE \(DownloadRow.hasID)") {
            guard let id = DownloadID(bytes),
                let record = try DatabaseValue.fetchOne(
                    db, sql: "SELECT record FROM download WHERE id = ? AND length(record) <= \(DownloadRow.maxBytes)",
                    arguments: [bytes]
                ).flatMap(Data.fromDatabaseValue),
                var opened = DownloadRow(id: id, record: record.array).open(under: oldKey.secret)
            else { continue }
            // What is stored keeps its id; what is not will be stored under the new one.
            if let former = resource(opened.order, old), TitleID(of: former) == opened.title,
                !stored.contains(former), let renamed = resource(opened.order, new)
            {
                titles[opened.title] = TitleID(of: renamed)
                opened.title = TitleID(of: renamed)
            }
            try DownloadRow.sealing(opened, under: newKey.secret).insert(db)
        }
        return titles
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
