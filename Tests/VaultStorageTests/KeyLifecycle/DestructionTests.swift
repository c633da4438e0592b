import GRDB
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The destruction of a vault")
struct DestructionTests {
    @Test("It deletes all rows except those of the vault, its generations, and what is to be erased")
    func everyTable() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let film = try store.addMedia("film", length: 40_000)
        _ = try store.store(Array(repeating: 7, count: 40_000), at: 0, of: film)
        let kept: Set = ["vault", "generation", "doomed", "owed", "erased"]
        try store.index.write { db in
            for table in ["accessGrant", "download", "network", "subscription", "viewer", "position"] {
                try db.execute(sql: "INSERT INTO \(table) VALUES (zeroblob(16), x'00')")
            }
            try db.execute(
                sql: """
                    INSERT INTO erased VALUES ('viewer', zeroblob(16));
                    INSERT INTO part SELECT id, id FROM resource;
                    INSERT INTO share SELECT id, x'00' FROM resource;
                    INSERT INTO packedPart SELECT zeroblob(32), id, x'00' FROM resource;
                    INSERT INTO badBlock SELECT id, 0 FROM segment;
                    INSERT INTO cover SELECT id, x'00' FROM resource
                    """)
        }
        for (table, count) in try Self.counts(store) where !kept.contains(table) {
            #expect(count > 0, "\(table) is empty before, so this test proves nothing of it")
        }
        #expect(try store.index.resources.removeAll() == 1)
        for (table, count) in try Self.counts(store) { #expect((count > 0) == kept.contains(table), "\(table)") }
        try store.close()
    }

    private static func counts(_ store: VaultStore) throws -> [String: Int] {
        try store.index.read { db in
            try IndexSchema.tableNames.reduce(into: [:]) { counts, table in
                counts[table] = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
            }
        }
    }
}
