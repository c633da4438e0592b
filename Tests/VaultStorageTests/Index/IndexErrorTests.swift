import GRDB
import Testing
import VaultModel

@testable import VaultStorage

@Suite("What an error of SQLite means")
struct IndexErrorTests {
    private static func error(_ code: ResultCode) throws -> VaultError {
        try #require(throws: VaultError.self) {
            try IndexError.translating { throw DatabaseError(resultCode: code) }
        }
    }

    @Test(
        "Memory that ran out is named in words, and damages nothing",
        arguments: [ResultCode.SQLITE_NOMEM, .SQLITE_IOERR_NOMEM])
    func memory(_ code: ResultCode) throws {
        let error = try Self.error(code)
        #expect(error.code == .storage && error.message.contains("memory ran out"))
        #expect(!error.message.contains { $0.isNumber })
        #expect(throws: VaultError.self) {
            try IndexError.nilIfDamaged { () throws -> Int? in throw DatabaseError(resultCode: code) }
        }
    }

    @Test("Any other code is named once, by its number and its name")
    func other() throws {
        let error = try Self.error(.SQLITE_IOERR)
        #expect(error.message.ranges(of: "10").count == 1)
    }
}
