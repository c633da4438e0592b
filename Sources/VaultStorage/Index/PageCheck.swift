import Foundation
import GRDB
import VaultModel

/// Checks that every page of a database can be read.
enum PageCheck {
    /// The number of faults at which the check stops and the database is refused, because damage to the file could
    /// remain unreported.
    private static let maxFaults = 100_000

    /// Requires that each page can be read. Rows with invalid values are no reason to refuse the database.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if a page is damaged, `storage` if the disk cannot deliver a page
    ///   at present.
    static func require(_ db: Database) throws {
        try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
        let faults = try String.fetchAll(db, sql: "PRAGMA quick_check(\(maxFaults))")
        // SQLite reports a page that the disk fails to deliver in the same list as a damaged page.
        guard !faults.contains(where: isOfDisk) else {
            throw VaultError(.storage, "a page of the file cannot be read now")
        }
        guard faults.count < maxFaults, faults.allSatisfy({ $0 == "ok" || $0.hasPrefix("NULL value in ") }) else {
            throw IndexError.damaged
        }
    }

    /// Returns whether a fault is a failed read: SQLite could not get the page, or the low byte of the fault's error
    /// code is SQLITE_IOERR or SQLITE_NOMEM.
    private static func isOfDisk(_ fault: String) -> Bool {
        if fault.contains("failed to get page") { return true }
        guard let place = fault.range(of: "error code=") else { return false }
        return Int(fault[place.upperBound...].prefix { $0.isNumber }).map { [7, 10].contains($0 & 0xFF) } ?? false
    }
}
