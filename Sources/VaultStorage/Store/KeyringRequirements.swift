import Foundation
import GRDB
package import VaultCrypto
package import VaultModel

/// The keyring that a vault's index needs, described without opening a keyring.
package struct KeyringRequirements: Sendable {
    package let vaultID: VaultID
    /// The highest revision of the keyring that the index has recorded.
    package let keyringRevision: Int64
    package let locator: Int
    /// The generations that the index names.
    package let generations: Set<Int>
    /// The number of resource keys that each generation wraps.
    package let resources: [Int: Int]
    private let settings: [UInt8]
    private let samples: [Sample]

    /// A resource key as the index stores it.
    private struct Sample: Sendable {
        let resource: ResourceID
        let number: Int
        let generation: Int
        let wrapped: [UInt8]
    }

    /// The number of keys that are tried for each generation.
    private static let samplesPerGeneration = 8

    /// Reads the index of a vault, or `catalog.backup` if the index cannot be read. Blocks.
    ///
    /// - Throws: ``VaultError`` with code `noVault` or `integrity` if neither can be read.
    package static func read(vault folder: String) throws -> KeyringRequirements {
        guard VaultStore.exists(at: folder) || VaultStore.hasLostIndex(at: folder) else {
            throw VaultStore.absence(at: folder)
        }
        do {
            return try KeyringRequirements(
                file: folder + "/index.sqlite", IndexSchema.first, optional: IndexSchema.later)
        } catch let failure {
            do {
                return try KeyringRequirements(
                    file: folder + "/catalog.backup", IndexSchema.catalog)
            } catch {
                throw VaultStore.exists(at: folder) ? failure : error
            }
        }
    }

    private init(file: String, _ statements: [String], optional: [String] = []) throws {
        try RegularFile.require(file)
        self = try IndexError.translating {
            let database = try DatabaseQueue(path: file, configuration: VaultIndex.configuration(readOnly: true))
            defer { try? database.close() }
            return try database.read { db in
                try SchemaCheck.require(statements, optional: optional, db)
                return try KeyringRequirements(db)
            }
        }
    }

    private init(_ db: Database) throws {
        // With more than one row, it is unknown which is this vault's.
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM vault LIMIT 2")
        guard rows.count == 1, let row = rows.first,
            let id = VaultID(bytes: Array(try row.column("id") as Data))
        else { throw IndexError.damaged }
        vaultID = id
        keyringRevision = try row.column("keyringRevision", in: PlainColumn.revisions)
        locator = try row.column("locator", in: PlainColumn.numbers)
        settings = Array(try row.column("settings") as Data)
        generations = Set(
            try Int.fetchAll(db, sql: "SELECT number FROM generation").filter(PlainColumn.numbers.contains))
        var resources: [Int: Int] = [:]
        var samples: [Sample] = []
        for row in try Row.fetchAll(
            db,
            sql: """
                SELECT generation, COUNT(*) AS count FROM resourceKey WHERE \(PlainColumn.isResourceKey) \
                GROUP BY generation
                """)
        {
            let generation: Int = try row.column("generation")
            resources[generation] = try row.column("count")
            samples += try Row.fetchAll(
                db, sql: "SELECT * FROM resourceKey WHERE generation = ? AND \(PlainColumn.isResourceKey) LIMIT ?",
                arguments: [generation, Self.samplesPerGeneration]
            ).compactMap(Self.sample)
        }
        self.resources = resources
        self.samples = samples
    }

    private static func sample(_ row: Row) throws -> Sample? {
        guard let resource = ResourceID(bytes: Array(try row.column("resource") as Data)) else { return nil }
        return Sample(
            resource: resource, number: try row.column("number"), generation: try row.column("generation"),
            wrapped: Array(try row.column("wrapped") as Data))
    }

    /// Returns the generations of which a keyring opens at least one sampled resource key.
    package func generations(openedBy keyring: Keyring) throws -> Set<Int> {
        var opened: Set<Int> = []
        for sample in samples where !opened.contains(sample.generation) {
            let key = try keyring.unwrap(
                sample.wrapped, resource: sample.resource, number: sample.number, generation: sample.generation)
            if key != nil { opened.insert(sample.generation) }
        }
        return opened
    }

    /// Returns whether a keyring opens the vault's settings: the only test if the vault is empty.
    package func areSettingsOpened(by keyring: Keyring) throws -> Bool {
        guard let key = try keyring.indexKey(locator: locator) else { return false }
        return SealedDocument.open(settings, key: key.secret, associatedData: VaultIndex.settingsData(vaultID)) != nil
    }
}
