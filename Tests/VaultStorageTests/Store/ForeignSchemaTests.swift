import Foundation
import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The vault refuses an index whose schema is not its own")
struct ForeignSchemaTests {
    private let vault: TemporaryVault
    private let id: ResourceID
    private var index: String { vault.folder + "/index.sqlite" }
    private var backup: String { vault.folder + "/catalog.backup" }

    init() throws {
        vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 100)
        _ = try store.store(SeededGenerator.bytes(100, seed: 1), at: 0, of: resource)
        try store.catalogBackup.write()
        try store.close()
        id = resource.id
    }

    /// Changes a database as another program would, without any checks.
    private func plant(_ sql: String, in path: String) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { db in try db.execute(sql: sql) }
    }

    private func refusal(_ body: () throws -> Void) -> VaultError? {
        do {
            try body()
            return nil
        } catch {
            return error as? VaultError
        }
    }

    /// Rebuilds the index from the backup, as the error advises.
    private func rebuild() throws {
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
    }

    private func expectWhole() throws {
        let store = try vault.open()
        defer { try? store.close() }
        #expect(try store.index.resources.find(id)?.serving?.held == ByteRanges(0..<100))
    }

    static let foreign = [
        // Keeps the old wrapped key next to the new one.
        """
        CREATE TRIGGER keep AFTER UPDATE ON resourceKey BEGIN
        INSERT INTO badBlock VALUES (OLD.wrapped, 0); END
        """,
        "CREATE TRIGGER hide AFTER DELETE ON resourceKey BEGIN SELECT 1; END",
        "CREATE VIEW film AS SELECT * FROM resource",
        // A view in place of a table, which would make the owner loop forever.
        """
        ALTER TABLE doomed RENAME TO aside;
        CREATE VIEW doomed AS WITH RECURSIVE row(segment) AS (
            SELECT x'00112233445566778899aabbccddeeff' UNION ALL SELECT segment FROM row LIMIT 3) SELECT * FROM row
        """,
        "CREATE INDEX resourceByClass ON resource (class)",
        "CREATE INDEX lies ON resourceKey (wrapped) WHERE abs(number) > 0",
        "CREATE TABLE former (wrapped BLOB)",
        "DROP INDEX segmentByPlace",
        "DROP INDEX segmentByPlace; CREATE INDEX segmentByPlace ON segment (start, representation)",
        "DROP INDEX segmentByPlace; CREATE UNIQUE INDEX segmentByPlace ON segment (representation, start)",
        "DROP TABLE doomed; CREATE TABLE doomed (segment BLOB PRIMARY KEY NOT NULL)",
        """
        DROP TABLE doomed;
        CREATE TABLE doomed (segment BLOB PRIMARY KEY NOT NULL, kept AS (hex(segment)) STORED) WITHOUT ROWID
        """,
        "DROP TABLE doomed",
        "ALTER TABLE doomed ADD COLUMN kept TEXT",
        "ALTER TABLE doomed RENAME COLUMN segment TO piece",
        "ANALYZE",
    ]

    @Test(
        "A planted trigger, view, index, table or column causes an integrity error that suggests an index rebuild",
        arguments: foreign)
    func planted(sql: String) throws {
        try plant(sql, in: index)
        for access in [VaultStore.Access.owner, .reader] {
            let error = refusal { try vault.open(access).close() }
            #expect(error?.code == .integrity, "\(access): \(error?.message ?? "opened")")
            #expect(error?.hint == .rebuildIndex)
        }
        try rebuild()
        try expectWhole()
    }

    @Test(
        "A backup with a foreign schema is refused", arguments: foreign.prefix(3) + ["DROP TABLE generation"]
    )
    func plantedInBackup(sql: String) throws {
        try plant(sql, in: backup)
        try? TemporaryFolder.remove(backup + ".1")
        try TemporaryFolder.remove(index)
        #expect(refusal { try rebuild() }?.code == .integrity)
        #expect(refusal { _ = try KeyringRequirements.read(vault: vault.folder) }?.code == .integrity)
    }

    @Test(
        "An endless view in the backup does not block a request to rebuild a sound index", .timeLimit(.minutes(1)))
    func endlessBackup() throws {
        try plant(
            """
            ALTER TABLE representation RENAME TO aside;
            CREATE VIEW representation AS WITH RECURSIVE row(id) AS (
                SELECT 1 UNION ALL SELECT id + 1 FROM row) SELECT id FROM row
            """, in: backup)
        #expect(refusal { try rebuild() }?.code == .invalidArgument, "a sound index must be reported as sound")
        try expectWhole()
    }

    @Test("Restoring the keyring ignores an index with a foreign schema and reads the backup of the catalog")
    func needs() throws {
        try plant("CREATE TRIGGER raise AFTER UPDATE ON vault BEGIN SELECT 1; END", in: index)
        try plant("UPDATE vault SET locator = 77", in: index)
        #expect(try KeyringRequirements.read(vault: vault.folder).locator == 1)
    }

    @Test("An index opens if its schema has another spelling, for example after renaming tables back and forth")
    func respelled() throws {
        try plant(
            """
            PRAGMA legacy_alter_table = OFF;
            ALTER TABLE resource RENAME TO moved; ALTER TABLE moved RENAME TO resource;
            ALTER TABLE doomed RENAME TO moved; ALTER TABLE moved RENAME TO doomed;
            DROP INDEX segmentByPlace;
            CREATE INDEX segmentByPlace  ON [segment]
              ( representation , start )
            """, in: index)
        let texts = try DatabaseQueue(path: index).read { db in
            try String.fetchAll(db, sql: "SELECT sql FROM sqlite_schema")
        }
        #expect(
            texts.contains { $0.contains("TABLE \"resource\"") },
            "SQLite must quote renamed tables, or this test proves nothing")
        #expect(texts.contains { $0.contains("REFERENCES \"resource\"") })
        try expectWhole()
        try vault.open(.reader).close()
    }

    @Test("An owner opens the index again after its own erasure")
    func erased() throws {
        let store = try vault.open()
        let other = try store.addMedia("other", length: 1)
        _ = try store.resources.remove(other.id)
        try store.erasure.carryOut()
        try store.close()
        try expectWhole()
    }

    @Test("A trigger that is planted while an owner runs makes it refuse to change keys")
    func beside() throws {
        let store = try vault.open()
        defer { try? store.close() }
        try plant(Self.foreign[0], in: index)
        let error = refusal { _ = try Generations(store).add(noting: vault.log(of: store)) }
        #expect(error?.code == .integrity && error?.hint == .rebuildIndex)
        #expect(store.keyring.activeGenerations == [1])
    }

    @Test("The connection does not trust functions in the schema, and no statement on it can change the schema")
    func defensive() throws {
        for access in [VaultStore.Access.owner, .reader] {
            let store = try vault.open(access)
            defer { try? store.close() }
            #expect(try store.index.read { try Int.fetchOne($0, sql: "PRAGMA trusted_schema") } == 0)
            #expect(try store.index.read { try Int.fetchOne($0, sql: "PRAGMA cell_size_check") } == 1)
            #expect(throws: (any Error).self) {
                try store.index.write { db in
                    try db.execute(sql: "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || ' '")
                }
            }
        }
    }
}
