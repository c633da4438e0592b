import CFile
import Foundation
import GRDB
import GRDBSQLite
import VaultModel

// What was deleted must stand nowhere. `secure_delete` wipes deleted rows, and not the copies of them that SQLite leaves in the
// unused part of a page when it moves rows from one page to another.
extension VaultIndex {
    /// Wipes, in some pages of the file, what belongs to no row, and empties the log before. Others read and write before it
    /// and after it. Wiping what SQLite does not look at can be broken off anywhere.
    ///
    /// - Parameters:
    ///   - first: the page to begin with; the first has the number 1.
    ///   - count: how many pages.
    ///   - patience: how long a program is waited for that reads what stands in the log.
    /// - Returns: the page to go on with; nil where there is none.
    /// - Throws: ``VaultError`` with code `owned` where somebody reads the log all the time.
    func wipeRemains(from first: Int64, count: Int64, patience: Duration) throws -> Int64? {
        try patiently(patience) { db in
            try Self.emptyLog(db)
            let next = try IndexFile(db).wipe(from: first, count: count)
            // A page that was read before it was wiped would be written again as it was.
            try db.execute(sql: "PRAGMA shrink_memory")
            return next
        }
    }

    /// Empties the log into the file, so that what was deleted stands in neither.
    ///
    /// - Throws: ``VaultError`` with code `owned` where somebody reads it all the time.
    func truncateLog(patience: Duration = .seconds(5)) throws {
        try patiently(patience) { db in try Self.emptyLog(db) }
    }

    /// Has the log begin again at its start with the next write, as far as nobody reads it: that takes no room.
    func reuseLog() throws {
        try checkOpen()
        try IndexError.translating { _ = try database.writeWithoutTransaction { db in try db.checkpoint(.passive) } }
    }

    private static func emptyLog(_ db: Database) throws {
        // Nobody waits for us while we wait for another program.
        try db.execute(sql: "PRAGMA busy_timeout = 5")
        let isBusy = Result { try Bool.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") ?? true }
        try db.execute(sql: "PRAGMA busy_timeout = \(Int(busyTimeout * 1000))")
        guard try !isBusy.get() else {
            throw VaultError(.owned, "the index's log cannot be emptied while another program reads it")
        }
    }

    /// Does something on the connection, again and again while another program is in the way.
    private func patiently<Value>(_ patience: Duration, _ body: (Database) throws -> Value) throws -> Value {
        try checkOpen()
        let end = ContinuousClock.now + patience
        while true {
            do {
                return try IndexError.translating { try database.writeWithoutTransaction(body) }
            } catch let error as VaultError where error.code == .owned {
                guard ContinuousClock.now < end else { throw error }
                // The other program tells nobody when it is done.
                Thread.sleep(forTimeInterval: 0.02)
            }
        }
    }
}

/// The index's file as SQLite has it open. Another descriptor of ours would take SQLite's locks away when it is closed.
@safe private struct IndexFile {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods
    private let pageSize: Int
    private let pageCount: Int64

    init(_ db: Database) throws {
        var file: UnsafeMutablePointer<sqlite3_file>?
        // SQLite's own file, which lives as long as the connection that lends it.
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
        guard pageSize >= 512, pageCount < PageRemains.mostPages else { throw IndexError.damaged }
    }

    /// - Returns: the page to go on with; nil where there is none.
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
            let remains = PageRemains.ranges(in: page, isFirst: number == 1, usable: pageSize)
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
