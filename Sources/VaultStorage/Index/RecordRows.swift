import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// The records of all tables, which are sealed under a generation.
package struct RecordRows {
    private let index: VaultIndex

    init(_ index: VaultIndex) { self.index = index }

    /// Takes a table's next records that are not yet sealed under the current generation, and seals them under it.
    ///
    /// A power loss may undo this without harm, because both forms open, and no generation is removed before the log is
    /// emptied.
    func seal(
        of table: SealedTable, after last: Data, limit: Int
    ) throws -> (last: Data?, sealed: Int, unopened: Int) {
        try index.writeWithoutSync { db in
            let page = try table.seal(
                under: index.keyring.currentGeneration, after: last, limit: limit, index.keyring, index.recordKeys(db),
                db)
            if page.sealed > 0 { try PendingErasure.record(db) }
            return page
        }
    }

    /// Seals records under the current generation if an earlier format version may have sealed them otherwise.
    ///
    /// If this is interrupted, the next owner continues.
    func sealFormer() throws {
        guard index.keyring.hasRecordKeys, try index.read({ db in try PendingMigration.isDue(db) }) else { return }
        do {
            try sealAll()
        } catch let error as VaultError where error.code == .integrity {
            // A damaged page is no reason to refuse the vault. The records stay marked as still to be sealed.
            return
        }
        try index.write { db in try PendingMigration.remove(db) }
    }

    /// Takes every record that opens and is not yet sealed under the current generation, and seals it under that
    /// generation.
    func sealAll() throws {
        for table in SealedTable.all {
            var last: Data? = Data()
            while let after = last { last = try seal(of: table, after: after, limit: 500).last }
        }
    }

    /// Returns the number of records sealed under each generation.
    package func use() throws -> [Int: Int] { try index.read { db in try SealedTable.allRecordCounts(db) } }
}
