import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

extension VaultFixture {
    /// Returns a fixture with a fully held title of two segments and a closed vault.
    static func filled(length: Int64 = 400_000, entityTag: String? = "\"v1\"") async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: length, entityTag: entityTag))
        let vault = try await fixture.open()
        let middle = length / 2
        _ = try await fixture.read(vault, .closed(first: 0, last: middle - 1))
        _ = try await fixture.read(vault, .from(middle))
        await vault.close()
        return fixture
    }

    /// Returns the segment files in the order of their ranges.
    func files() throws -> [String] {
        try index { db in
            try Data.fetchAll(db, sql: "SELECT id FROM segment ORDER BY start").compactMap {
                SegmentID(bytes: Array($0)).map(path(of:))
            }
        }
    }

    func path(of id: SegmentID) -> String { place.folder + "/segments/\(id.hex.prefix(2))/\(id.hex)" }

    /// Changes the bytes of a file.
    func change(_ path: String, _ body: (inout [UInt8]) -> Void) throws {
        var bytes = Array(try Data(contentsOf: URL(filePath: path)))
        body(&bytes)
        try Data(bytes).write(to: URL(filePath: path))
    }

    /// Changes the index without any checks, as a program without the key could.
    @discardableResult
    func index<Value>(_ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: place.folder + "/index.sqlite", configuration: configuration)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            return try body(db)
        }
    }

    /// Verifies the vault, as a reader or as an owner that repairs.
    func verify(repairs: Bool = false, sample: Double? = nil) async throws -> VerifyReport {
        let vault = try await open(repairs ? .owner : .reader)
        let report = try await Self.report(of: vault.checks.verify(VerifyOptions(repairs: repairs, sample: sample)))
        let stored = try SegmentRows(vault.store.index).fileBytes()
        #expect(try vault.store.bytesUsed() == stored, "the bytes used are counted correctly")
        await vault.close()
        return report
    }

    static func report(of verification: ProgressSequence<VerifyProgress>) async throws -> VerifyReport {
        var last: VerifyReport?
        for try await step in verification { last = step.report }
        return try #require(last)
    }

    /// Expects that the whole title plays without its origin.
    func expectWholeOffline(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let vault = try await open(mode: .offline)
        #expect(try await read(vault) == 0..<media.length, sourceLocation: sourceLocation)
        await vault.close()
    }

    /// The file names in `quarantine/`.
    var quarantined: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: place.folder + "/quarantine").sorted()) ?? []
    }
}
