import CFile
import GRDB
import GRDBSQLite
import VaultModel

/// The index file, accessed through the file that SQLite itself has open.
///
/// A descriptor of our own would not do, because closing it would release SQLite's locks on the file.
@safe struct IndexFile {
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
    /// - Returns: the number of the page to continue with; nil if no pages are left.
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

/// Finds the unused parts of a page of an SQLite file, which may hold copies of former rows.
///
/// SQLite leaves these copies when it moves rows to another page, and `secure_delete` wipes only deleted rows.
enum PageWipe {
    /// The page count from which a page outside any tree could begin with the same byte as a page of a tree.
    static let mostPages: Int64 = 0x0200_0000

    /// Returns the ranges of a page that belong to no cell.
    ///
    /// Returns no ranges if the page is not part of a tree or its header is invalid. An invalid free block ends the
    /// search.
    ///
    /// - Parameters:
    ///   - page: all bytes of the page.
    ///   - isFirst: whether this is the first page, which begins with the file's header.
    ///   - usable: the number of the page's bytes that the tree may use.
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
        // An offset of 0 means 65 536.
        let content = number(header + 5) == 0 ? 65_536 : number(header + 5)
        guard pointersEnd <= content, content <= usable else { return [] }
        var ranges = [pointersEnd..<content]
        var block = number(header + 1)
        var end = content
        while block != 0 {
            // Free blocks are in ascending order. Each begins with the offset of the next one and its own size.
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
