import GRDB
import Testing
import VaultModel

@testable import VaultStorage

extension VaultStore {
    /// Returns the resource keys that a generation wraps, as they are stored.
    func wrappedKeys(of generation: Int) throws -> [ResourceKeyRow] {
        try index.read { db in try ResourceKeyRow.fetch(wrappedBy: generation, limit: 5000, db) }
    }

    /// Begins a new representation with the same information as the old one, and serves it.
    func replaceRepresentation(of resource: inout StoredResource) throws {
        try resources.begin(NewRepresentation(try #require(resource.serving).info.information), of: &resource)
        try resources.serve(&resource)
    }

    /// Expects that closing a segment throws. (A writer cannot be consumed inside the closure of `#expect`.)
    func expectRefusal(
        toClose writer: consuming SegmentWriter, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        do {
            let segment = try segments.close(writer)
            Issue.record("closed as \(String(describing: segment))", sourceLocation: sourceLocation)
        } catch is VaultError {
        }
    }

    /// Changes the index without any checks, as a program without the key could.
    func damage(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws {
        try index.database.withoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
            try db.execute(sql: sql, arguments: arguments)
            try db.execute(sql: "PRAGMA ignore_check_constraints = OFF; PRAGMA foreign_keys = ON")
        }
    }
}
