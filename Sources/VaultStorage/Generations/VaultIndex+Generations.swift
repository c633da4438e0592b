import Foundation
import GRDB
import VaultCrypto
package import VaultModel

// The index's side of *Two files, one law*: the keyring leads when something is added, the index when something goes.
extension VaultIndex {
    /// Takes over what the keyring got after this index was last written: its generations, and how new it is.
    ///
    /// A generation that this index has seen and has no row of was let go here; its key is still to leave the keyring.
    func catchUpWithKeyring() throws {
        try write { db in
            let row = try Row.fetchOne(db, sql: "SELECT keyringRevision FROM vault")
            guard let seen: Int64 = try row?.column("keyringRevision"), seen < keyring.revision else { return }
            // An older one that has no row was let go, whatever the keyring has counted since. A row of which the keyring
            // knows nothing says nothing of that: anybody who can write the file may have put it there.
            let active = keyring.activeGenerations
            let rows = Set(try Int.fetchAll(db, sql: "SELECT number FROM generation"))
            let newest = keyring.generationRecords.map(\.number).last { rows.contains($0) } ?? 0
            for number in active where number > newest || number == keyring.currentGeneration {
                try db.execute(sql: "INSERT OR IGNORE INTO generation VALUES (?, 'active')", arguments: [number])
            }
            try db.execute(sql: "UPDATE vault SET keyringRevision = ?", arguments: [keyring.revision])
        }
    }

    /// Sees to it that what is noted of a change of the keyring can be written, before anything depends on it: writes the
    /// same pages, and lets what comes next have that place in the log.
    ///
    /// - Throws: ``VaultError`` where they cannot be written.
    func prepareForKeyring() throws {
        try write { db in
            // A trigger could keep what is to be destroyed.
            try SchemaCheck.require(IndexSchema.first, optional: IndexSchema.later, db)
            // There and back: SQLite writes no page that nothing changes in.
            try db.execute(
                sql: """
                    UPDATE vault SET keyringRevision = keyringRevision + 1;
                    UPDATE vault SET keyringRevision = keyringRevision - 1;
                    INSERT OR IGNORE INTO generation VALUES (0, 'active');
                    DELETE FROM generation WHERE number = 0 AND NOT EXISTS (SELECT 1 FROM resourceKey WHERE generation = 0);
                    """)
        }
        try checkOpen()
        try IndexError.translating {
            _ = try database.writeWithoutTransaction { db in try db.checkpoint(.passive) }
        }
    }

    /// Adds a generation that the keyring has durably.
    func addGeneration(_ number: Int) throws {
        try write { db in
            try db.execute(sql: "INSERT OR IGNORE INTO generation VALUES (?, 'active')", arguments: [number])
        }
    }

    /// Notes that generations are on their way out, so that whoever owns the vault next goes on with it.
    func beginRetiring(_ numbers: [Int]) throws {
        try write { db in
            for number in numbers {
                try db.execute(sql: "UPDATE generation SET state = 'retiring' WHERE number = ?", arguments: [number])
            }
        }
    }

    /// Lets go of a generation: from now on no resource key can name it.
    ///
    /// - Throws: ``VaultError`` with code `inUse` where one does.
    func removeGeneration(_ number: Int) throws {
        try write { db in
            let needs = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM resourceKey WHERE generation = ?", arguments: [number])
            guard needs == 0 else {
                throw VaultError(
                    .inUse,
                    "generation \(number) still wraps \(needs ?? 0) resource keys; run keys rewrap, then retire it again"
                )
            }
            try db.execute(sql: "DELETE FROM generation WHERE number = ?", arguments: [number])
            // Receipts raise the revision, too: what the index has let go of must not look new to it.
            try db.execute(
                sql: "UPDATE vault SET keyringRevision = max(keyringRevision, ?)", arguments: [keyring.revision])
        }
    }

    /// Some resources that a generation wraps a key of.
    package func resources(wrappedBy generation: Int, limit: Int) throws -> [ResourceID] {
        try read { db in
            try Data.fetchAll(
                db, sql: "SELECT DISTINCT resource FROM resourceKey WHERE generation = ? ORDER BY resource LIMIT ?",
                arguments: [generation, limit]
            ).compactMap { ResourceID($0) }
        }
    }

    /// The generations that a resource key may name, in ascending order, and those of them that are on their way out.
    package func generations() throws -> (all: [Int], retiring: [Int]) {
        try read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT number, state FROM generation ORDER BY number")
            // A number that none can have is no generation's; a state that is none ends none.
            let known: [(Int, String)] = rows.compactMap { row in
                (try? row.column("number", in: PlainColumn.numbers)).map { ($0, (try? row.column("state")) ?? "") }
            }
            return (known.map(\.0), known.filter { $0.1 == "retiring" }.map(\.0))
        }
    }
}
