import GRDB
package import VaultCrypto
package import VaultModel

/// A description of the keyring that a vault's index needs, which can be read without opening a keyring.
package struct KeyringRequirements: Sendable {
    package let vaultID: VaultID
    /// The highest keyring revision that the index has recorded.
    package let keyringRevision: Int64
    package let locator: Int
    /// The generations that the index names.
    package let generations: Set<Int>
    /// The number of resource keys that each generation wraps.
    package let resources: [Int: Int]
    /// The number of records that each generation seals.
    package let records: [Int: Int]
    private let row: VaultRow
    private let samples: [ResourceKeyRow]

    /// The number of resource keys that are tried for each generation.
    private static let samplesPerGeneration = 8

    /// Reads the index of a vault, or `catalog.backup` if the index cannot be read. Blocks.
    ///
    /// - Throws: ``VaultError`` with code `noVault` or `integrity` if neither can be read.
    package static func read(vault folder: String) throws -> KeyringRequirements {
        guard VaultStore.exists(at: folder) || VaultStore.hasLostIndex(at: folder) else {
            throw VaultStore.absence(at: folder)
        }
        do {
            return try KeyringRequirements(file: folder + "/index.sqlite", .ofIndex)
        } catch let failure {
            do {
                return try CatalogFiles(in: folder).trying { path in
                    try KeyringRequirements(file: path, .ofCatalog)
                }
            } catch {
                throw VaultStore.exists(at: folder) ? failure : error
            }
        }
    }

    private init(file: String, _ contents: IndexSchema.Contents) throws {
        self = try IndexDatabase.reading(file, contents) { try KeyringRequirements($0) }
    }

    private init(_ db: Database) throws {
        // If there is more than one row, it is unknown which one is this vault's.
        let rows = try Row.fetchAll(db, sql: "SELECT \(VaultRow.columns) FROM vault LIMIT 2").map(VaultRow.init)
        guard rows.count == 1, let id = rows[0].id, let revision = rows[0].keyringRevision,
            let locator = rows[0].locator, rows[0].settings != nil
        else { throw IndexError.damaged }
        (row, vaultID, keyringRevision, self.locator) = (rows[0], id, revision, locator)
        let known = Set(try GenerationRow.fetchAll(db).map(\.number))
        generations = known
        // A number that no generation has is a sign of damage, so its records do not count.
        records = try SealedTable.allRecordCounts(db).filter { known.contains($0.key) }
        var resources: [Int: Int] = [:]
        var samples: [ResourceKeyRow] = []
        for row in try Row.fetchAll(
            db,
            sql: """
                SELECT generation, COUNT(*) AS count FROM resourceKey WHERE \(PlainColumn.isResourceKey) \
                GROUP BY generation
                """)
        {
            let generation: Int = try row.column("generation")
            resources[generation] = try row.column("count")
            samples += try ResourceKeyRow.fetch(wrappedBy: generation, limit: Self.samplesPerGeneration, db)
        }
        self.resources = resources
        self.samples = samples
    }

    /// Returns the generations of which a keyring opens at least one sampled resource key.
    package func generations(openedBy keyring: Keyring) throws -> Set<Int> {
        var opened: Set<Int> = []
        for sample in samples where !opened.contains(sample.generation) {
            if try sample.key(keyring) != nil { opened.insert(sample.generation) }
        }
        return opened
    }

    /// Whether the vault's settings are sealed under a generation, rather than as in format versions up to 5.
    package var sealsRecordsByGeneration: Bool {
        if case .generation? = row.settings.flatMap({ RecordForm($0) }) { true } else { false }
    }

    /// Returns whether a keyring opens the vault's settings, which is the only possible test if the vault is empty.
    package func areSettingsOpened(by keyring: Keyring) throws -> Bool {
        try row.settingsObject(of: vaultID, locator: locator, keyring) != nil
    }
}
