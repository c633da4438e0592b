import Foundation
import GRDB
import Testing
import VaultTestSupport

@testable import VaultStorage

@Suite("Checks of plain columns cost what the rows cost that they check")
struct PlainColumnTests {
    @Test("A page of keys is found by its resources, not by a number that nearly every row has")
    func pages() throws {
        let store = try TemporaryVault().open()
        let plan = try store.index.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    EXPLAIN QUERY PLAN SELECT generation, count(*) FROM resourceKey
                    WHERE resource > ? AND resource <= ? AND \(PlainColumn.isResourceKey) GROUP BY generation
                    """, arguments: [Data(), Data(repeating: 255, count: 32)]
            ).map { $0["detail"] as String }
        }
        #expect(plan.contains { $0.contains("PRIMARY KEY (resource>? AND resource<?)") }, "\(plan)")
        try store.close()
    }
}
