import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// Creates an index without segments from a catalog backup, or from the rows of another index that a backup would also
/// have.
struct BackupRestore {
    private let backup: String
    private let keyring: Keyring
    /// Whether the rows come from another index.
    private let isIndex: Bool
    private let contents: IndexSchema.Contents

    init(_ backup: String, _ keyring: Keyring) {
        self.backup = backup
        self.keyring = keyring
        isIndex = false
        contents = .ofCatalog
    }

    init(index: String, _ keyring: Keyring) {
        backup = index
        self.keyring = keyring
        isIndex = true
        contents = .ofIndex
    }

    /// Creates the index.
    ///
    /// The file at `path` must exist and be empty. Writes are not synced until the index is closed, because the index
    /// is synced as a whole before anything uses it.
    ///
    /// - Returns: the index, and whether the backup's settings did not open, in which case the index has those of a new
    ///   vault.
    func restore(to path: String, now: @escaping @Sendable () -> Int64) throws -> (
        index: VaultIndex, areSettingsLost: Bool
    ) {
        try requireBackup()
        let areSettingsLost = try IndexDatabase.creating(at: path) { db in
            var areSettingsLost = false
            try db.execute(sql: "ATTACH DATABASE ? AS backup", arguments: [backup])
            try db.inTransaction {
                // The schema is checked again, because the file may have been replaced since the first check.
                try SchemaCheck.require(contents.required, optional: contents.optional, of: "backup", db)
                try IndexDatabase.createSchema(db) {
                    areSettingsLost = try copyVault(db)
                    try copyRows(now: now(), db)
                }
                return .commit
            }
            try db.execute(sql: "DETACH DATABASE backup")
            return areSettingsLost
        }
        let index = try VaultIndex.open(at: path, keyring: keyring, readOnly: false, now: now)
        try index.database.withoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        return (index, areSettingsLost)
    }

    /// Copies the vault's own row.
    ///
    /// A revision or locator with an invalid value is corrected from the keyring, because nothing would open with it.
    ///
    /// - Returns: whether the settings did not open and were therefore replaced with those of a new vault.
    private func copyVault(_ db: Database) throws -> Bool {
        let row = try VaultRow.require(keyring, of: "backup", db)
        let stated = row.locator.flatMap { number in keyring.locators.first { $0 == number } }
        let candidates = [stated].compactMap(\.self) + keyring.locators.reversed()
        let opening = try candidates.first { try row.openSettings(locator: $0, keyring) != nil }
        try row.requireNoOlderCopy(keyring)
        let locator = opening ?? stated ?? keyring.newestLocator
        var settings = row.settings
        if opening == nil {
            var fresh = VaultSettings()
            // Key numbers are above the run numbers of all reseals, so the next reseal gets a number that no resource
            // has seen.
            let last = try Int64.fetchOne(
                db, sql: "SELECT max(number) FROM backup.resourceKey WHERE \(PlainColumn.isResourceKey)")
            fresh.lastResealRun = last ?? 0
            settings = try VaultRow.seal(fresh, keyring)
        }
        guard let settings else { throw IndexError.damaged }
        let revision = row.isRevisionPossible(for: keyring) ? row.keyringRevision : nil
        try VaultRow.insert(
            keyring.vaultID, revision: revision ?? keyring.revision, locator: locator, settings: settings, db)
        return opening == nil
    }

    /// Copies the rows with valid ids.
    ///
    /// An invalid class, hour or state is corrected, because no key depends on it. Any other invalid value is left
    /// empty and its row kept: another catalog may have the value, but a restore fills only rows that exist.
    private func copyRows(now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.generation
                    SELECT \(GenerationRow.corrected) FROM backup.generation WHERE \(GenerationRow.isPossible);
                """)
        // Add the generations that the keyring gained after the backup was written.
        for number in keyring.activeGenerations { try GenerationRow.insert(number, db) }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO main.resource
                    SELECT \(ResourceRow.corrected(now: now)) FROM backup.resource WHERE \(ResourceRow.hasID);
                INSERT OR IGNORE INTO main.resourceKey SELECT * FROM backup.resourceKey
                    WHERE \(PlainColumn.isResourceKey) AND length(wrapped) = 60
                        AND resource IN (SELECT id FROM main.resource)
                        AND generation IN (SELECT number FROM main.generation);
                INSERT OR IGNORE INTO main.representation
                    SELECT \(RepresentationRow.corrected) FROM backup.representation
                    WHERE \(RepresentationRow.isPossible)
                        AND resource IN (SELECT id FROM main.resource);
                """)
        for table in try SealedTable.own.filter({ try $0.exists(in: "backup", db) }) {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO main.\(table.name) SELECT \(table.corrected) FROM backup.\(table.name)
                        WHERE \(table.hasID())
                            \(table.isOfResource ? "AND id IN (SELECT id FROM main.resource)" : "");
                    """)
        }
        if try CoverRow.hasTable(of: "backup", db) {
            try db.execute(
                sql: """
                    INSERT INTO main.cover SELECT resource, picture FROM backup.cover
                        WHERE \(CoverRow.isPossible) AND resource IN (SELECT id FROM main.resource);
                    """)
        }
        // An older version of the program may have written the backup, so some of its records may still have to be
        // migrated.
        try PendingMigration.record(db)
        if isIndex, try IndexSchema.hasTable("erased", of: "backup", db) {
            try db.execute(
                sql: """
                    INSERT INTO main.erased SELECT record, id FROM backup.erased
                        WHERE typeof(record) = 'text' AND typeof(id) = 'blob'
                    """)
        }
        guard try PackedPartRow.hasTable(of: "backup", db) else { return }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO main.packedPart SELECT \(PackedPartRow.corrected) FROM backup.packedPart
                    WHERE \(PackedPartRow.hasIDs) AND pack IN (SELECT id FROM main.resource);
                """)
    }

    /// Deletes the rows of a new index whose content no catalog had: empty records, empty entries of packs, and
    /// resources without metadata or without a key.
    static func dropEmptyRows(of index: VaultIndex) throws {
        try index.write { db in
            for table in SealedTable.own where try table.exists(db) {
                try db.execute(sql: "DELETE FROM \(table.name) WHERE length(\(table.column)) = 0")
            }
            try db.execute(sql: "DELETE FROM packedPart WHERE length(entry) = 0")
            let empty = """
                SELECT id FROM resource WHERE length(metadata) = 0
                    OR NOT EXISTS (SELECT 1 FROM resourceKey WHERE resourceKey.resource = resource.id)
                """
            try db.execute(sql: "DELETE FROM representation WHERE resource IN (\(empty))")
            try db.execute(sql: "DELETE FROM resource WHERE id IN (\(empty))")
        }
    }

    private func requireBackup() throws {
        for suffix in ["", "-wal", "-shm", "-journal"] { try RegularFile.require(backup + suffix) }
        do {
            try IndexError.translating {
                let database = try DatabaseQueue(
                    path: backup, configuration: IndexDatabase.configuration(readOnly: true))
                defer { try? database.close() }
                try database.read { db in
                    try SchemaCheck.requireKind(db, contents.required, optional: contents.optional)
                    try ValueSizes.require(contents, db)
                    _ = try VaultRow.require(keyring, db)
                    // Impossible values are no reason to refuse the backup, because their rows are left out or
                    // corrected one by one.
                    try PageCheck.require(db)
                }
            }
        } catch let error as VaultError where [.integrity, .noVault].contains(error.code) {
            throw VaultError(
                .integrity,
                "catalog.backup is damaged, so the index cannot be rebuilt; restore the vault's folder from a copy")
        }
    }
}
