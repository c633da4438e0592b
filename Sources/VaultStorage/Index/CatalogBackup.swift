import CFile
import Foundation
import GRDB
import GRDBSQLite
import VaultModel

/// `catalog.backup`: the rows of the index without which no segment could be opened again.
package enum CatalogBackup {
    /// Writes a new backup beside the index.
    ///
    /// It is written under a temporary name, synced and renamed; then the folder is synced.
    package static func write(_ index: VaultIndex, vault folder: String, fileSystem: any FileSystem) throws {
        let path = folder + "/catalog.backup"
        let temporary = path + ".new"
        do {
            try fileSystem.remove(temporary)
            // Created here with the vault's mode: SQLite would leave the mode to the umask.
            _ = try fileSystem.create(temporary)
            try copyRows(index, to: temporary)
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
    private static func copyRows(_ index: VaultIndex, to path: String) throws {
        try index.checkOpen()
        try IndexError.translating {
            var configuration = VaultIndex.configuration(readOnly: false)
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
                        PRAGMA user_version = \(IndexSchema.version);
                        """)
                try db.execute(sql: "ATTACH DATABASE ? AS vaultIndex", arguments: [index.database.path])
                // Any other kind of transaction would block writes to the index until this one ends.
                try db.inTransaction(.deferred) {
                    for statement in IndexSchema.catalog { try db.execute(sql: statement) }
                    for table in IndexSchema.catalogTables {
                        try db.execute(sql: "INSERT INTO main.\(table) SELECT * FROM vaultIndex.\(table)")
                    }
                    return .commit
                }
                try db.execute(sql: "DETACH DATABASE vaultIndex")
            }
        }
    }
}

// Deleted data must not remain anywhere. `secure_delete` wipes deleted rows, but not the copies of them that SQLite
// leaves in the unused part of a page when it moves rows from one page to another.
extension VaultIndex {
    /// Empties the log, then wipes the unused bytes of some pages of the file.
    ///
    /// Other work on the index may run before and after each call. Wiping may be interrupted at any point, because
    /// SQLite ignores these bytes.
    ///
    /// - Parameters:
    ///   - first: the number of the first page to wipe; page numbers begin with 1.
    ///   - count: the number of pages.
    ///   - patience: how long to wait for another program that reads the log.
    /// - Returns: the page to continue with; nil if there is none.
    /// - Throws: ``VaultError`` with code `owned` if another program keeps reading the log.
    func wipeUnusedBytes(from first: Int64, count: Int64, patience: Duration) throws -> Int64? {
        try retryingWhileBusy(patience) { db in
            try Self.emptyLog(db)
            let next = try IndexFile(db).wipe(from: first, count: count)
            // Otherwise SQLite could write a cached page back as it was before the wipe.
            try db.execute(sql: "PRAGMA shrink_memory")
            return next
        }
    }

    /// Empties the log into the file, so that neither holds deleted data.
    ///
    /// - Throws: ``VaultError`` with code `owned` if another program keeps reading the log.
    func truncateLog(patience: Duration = .seconds(5)) throws {
        try retryingWhileBusy(patience) { db in try Self.emptyLog(db) }
    }

    /// Lets the next write begin again at the start of the log, unless a reader needs it. This takes no space.
    func reuseLog() throws {
        try checkOpen()
        try IndexError.translating { _ = try database.writeWithoutTransaction { db in try db.checkpoint(.passive) } }
    }

    private static func emptyLog(_ db: Database) throws {
        // A timeout of 5 ms: other work on this connection runs between the attempts of `retryingWhileBusy`.
        try db.execute(sql: "PRAGMA busy_timeout = 5")
        let isBusy = Result { try Bool.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") ?? true }
        try db.execute(sql: "PRAGMA busy_timeout = \(Int(busyTimeout * 1000))")
        guard try !isBusy.get() else {
            throw VaultError(.owned, "the index's log cannot be emptied while another program reads it")
        }
    }

    /// Runs work on the connection, and tries again while another program blocks it.
    private func retryingWhileBusy<Value>(_ patience: Duration, _ body: (Database) throws -> Value) throws -> Value {
        try checkOpen()
        let end = ContinuousClock.now + patience
        while true {
            do {
                return try IndexError.translating { try database.writeWithoutTransaction(body) }
            } catch let error as VaultError where error.code == .owned {
                guard ContinuousClock.now < end else { throw error }
                // The other program does not signal when it is done.
                Thread.sleep(forTimeInterval: 0.02)
            }
        }
    }
}

/// The index's file as SQLite has it open.
///
/// Closing a descriptor of our own would release SQLite's locks on the file.
@safe private struct IndexFile {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods
    private let pageSize: Int
    private let pageCount: Int64

    init(_ db: Database) throws {
        var file: UnsafeMutablePointer<sqlite3_file>?
        // The file belongs to SQLite and lives as long as the connection.
        unsafe try Self.require(
            withUnsafeMutablePointer(to: &file) {
                unsafe sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, $0)
            })
        guard let file = unsafe file, let methods = unsafe file.pointee.pMethods?.pointee else {
            throw IndexError.damaged
        }
        unsafe self.file = file
        self.methods = methods
        pageSize = try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0
        pageCount = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        guard pageSize >= 512, pageCount < PageWipe.mostPages else { throw IndexError.damaged }
    }

    /// Wipes the unused bytes of some pages.
    ///
    /// - Returns: the page to continue with; nil if there is none.
    func wipe(from first: Int64, count: Int64) throws -> Int64? {
        let end = min(first + count, pageCount + 1)
        guard first < end else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(end - first) * pageSize)
        let start = (first - 1) * Int64(pageSize)
        try unsafe bytes.withUnsafeMutableBytes { buffer in
            try unsafe Self.require(methods.xRead(file, buffer.baseAddress, Int32(buffer.count), start))
        }
        var isChanged = false
        for number in first..<end {
            let place = Int(number - first) * pageSize
            let page = bytes[place..<(place + pageSize)]
            let remains = PageWipe.ranges(in: page, isFirst: number == 1, usable: pageSize)
            for range in remains.map({ place + $0.lowerBound..<place + $0.upperBound })
            where bytes[range].contains(where: { $0 != 0 }) {
                try write(zeros: range.count, at: start + Int64(range.lowerBound))
                isChanged = true
            }
        }
        if isChanged { unsafe try Self.require(methods.xSync(file, SQLITE_SYNC_FULL)) }
        return end <= pageCount ? end : nil
    }

    private func write(zeros count: Int, at offset: Int64) throws {
        let zeros = [UInt8](repeating: 0, count: count)
        try unsafe zeros.withUnsafeBytes { buffer in
            try unsafe Self.require(methods.xWrite(file, buffer.baseAddress, Int32(count), offset))
        }
    }

    private static func require(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}

/// The unused parts of a page of an SQLite file, which may hold former rows.
///
/// SQLite leaves copies of rows there when it moves them to another page; `secure_delete` wipes only deleted rows.
enum PageWipe {
    /// The page count from which a page outside any tree could begin like a page of a tree.
    static let mostPages: Int64 = 0x0200_0000

    /// Returns the ranges of a page that belong to no cell.
    ///
    /// There are none if the page is not part of a tree or its header is impossible. An impossible free block ends the
    /// search.
    ///
    /// - Parameters:
    ///   - page: all bytes of the page.
    ///   - isFirst: whether it is the first page, which begins with the file's header.
    ///   - usable: the number of bytes that the tree uses.
    static func ranges(in page: ArraySlice<UInt8>, isFirst: Bool, usable: Int) -> [Range<Int>] {
        let header = isFirst ? 100 : 0
        guard usable <= page.count, header + 12 <= usable else { return [] }
        func number(_ place: Int) -> Int {
            Int(page[page.startIndex + place]) << 8 | Int(page[page.startIndex + place + 1])
        }
        let headerSize: Int
        switch page[page.startIndex + header] {
        case 2, 5: headerSize = 12
        case 10, 13: headerSize = 8
        default: return []
        }
        let pointersEnd = header + headerSize + 2 * number(header + 3)
        // 0 means 65 536.
        let content = number(header + 5) == 0 ? 65_536 : number(header + 5)
        guard pointersEnd <= content, content <= usable else { return [] }
        var ranges = [pointersEnd..<content]
        var block = number(header + 1)
        var end = content
        while block != 0 {
            // Free blocks are in ascending order; each begins with the next one's offset and its own size.
            guard block >= end, block + 4 <= usable else { return ranges }
            let size = number(block + 2)
            guard size >= 4, block + size <= usable else { return ranges }
            ranges.append(block + 4..<block + size)
            end = block + size
            block = number(block)
        }
        return ranges
    }
}
