import Foundation
import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A wrong keyring or a damaged index is reported by a clear error")
struct DamagedIndexTests {
    private static func code(_ body: () throws -> Void) -> VaultError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? VaultError)?.code
        }
    }

    /// A vault with one title, whose index the test changes with plain SQL.
    private static func vaultWithTitle() throws -> (vault: TemporaryVault, id: ResourceID) {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 100)
        _ = try store.store(SeededGenerator.bytes(100, seed: 1), at: 0, of: resource)
        try store.close()
        return (vault, resource.id)
    }

    private static func change(_ vault: TemporaryVault, _ sql: String) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: vault.folder + "/index.sqlite", configuration: configuration)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try db.execute(sql: sql)
            #expect(db.totalChangesCount > 0, "\(sql) did not change any row")
        }
        try queue.close()
    }

    @Test("Another vault's keyring is refused as foreign", arguments: [VaultStore.Access.owner, .reader])
    func foreignKeyring(access: VaultStore.Access) throws {
        let vault = try TemporaryVault()
        #expect(
            Self.code { _ = try VaultStore.open(at: vault.folder, keyring: TestKeyring.make(), access: access) }
                == .foreignKeyring)
        #expect(Self.code { try vault.open().close() } == nil)
    }

    @Test("A keyring older than the one last used is refused", arguments: [VaultStore.Access.owner, .reader])
    func olderKeyring(access: VaultStore.Access) throws {
        let vault = try TemporaryVault()
        try Self.change(vault, "UPDATE vault SET keyringRevision = 2")
        #expect(Self.code { _ = try vault.open(access) } == .olderKeyring)
    }

    @Test("The owner remembers the newest keyring it has seen")
    func newerKeyring() throws {
        let vault = try TemporaryVault()
        try Self.change(vault, "UPDATE vault SET keyringRevision = 0")
        let store = try vault.open()
        #expect(try store.index.read { try Int.fetchOne($0, sql: "SELECT keyringRevision FROM vault") } == 1)
    }

    @Test("A folder without an index is not a vault", arguments: [VaultStore.Access.owner, .reader])
    func noVault(access: VaultStore.Access) throws {
        let folder = try TemporaryFolder()
        for path in [folder.path, folder.path + "/nothing"] {
            #expect(
                Self.code { _ = try VaultStore.open(at: path, keyring: TestKeyring.make(), access: access) } == .noVault
            )
        }
        #expect(try TemporaryFolder.files(below: folder.path).isEmpty, "a failed opening must leave no file behind")
    }

    @Test("An index with random content is reported by a clear error", arguments: [VaultStore.Access.owner, .reader])
    func garbage(access: VaultStore.Access) throws {
        let vault = try TemporaryVault()
        let path = vault.folder + "/index.sqlite"
        // SQLite treats a file of a few bytes as an empty database.
        for (size, code) in [(0, VaultError.Code.noVault), (1, .noVault), (100, .integrity), (40_960, .integrity)] {
            try TemporaryFolder.remove(path)
            try PosixFileSystem().create(path).write(SeededGenerator.bytes(size, seed: UInt64(size)), at: 0)
            #expect(Self.code { _ = try vault.open(access) } == code, "\(size) bytes")
        }
    }

    @Test("Another program's database is not a vault and is not changed")
    func otherDatabase() throws {
        let vault = try TemporaryVault()
        let path = vault.folder + "/index.sqlite"
        try TemporaryFolder.remove(path)
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "CREATE TABLE photo (id INTEGER)") }
        try queue.close()
        let before = try PosixFileSystem().contents(of: path)
        #expect(Self.code { _ = try vault.open() } == .noVault)
        #expect(try PosixFileSystem().contents(of: path) == before)
    }

    @Test("A vault of a newer version is not changed")
    func newerVersion() throws {
        let vault = try TemporaryVault()
        let queue = try DatabaseQueue(path: vault.folder + "/index.sqlite")
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 7") }
        try queue.close()
        #expect(Self.code { _ = try vault.open() } == .noVault)
    }

    @Test(
        "A flipped bit in a sealed column is reported as damage, not as a crash or an empty cache",
        arguments: [
            ("resource", "metadata"), ("resourceKey", "wrapped"), ("representation", "info"), ("vault", "settings"),
        ])
    func flipped(table: String, column: String) throws {
        let (vault, id) = try Self.vaultWithTitle()
        let size = try vault.open(.reader).index.read {
            try Int.fetchOne($0, sql: "SELECT length(\(column)) FROM \(table)") ?? 0
        }
        #expect(size >= 60)
        // Nonce, ciphertext, tag.
        for offset in [0, 11, 12, size / 2, size - 16, size - 1] {
            let sealed = try vault.open(.reader).index.read {
                try Data.fetchOne($0, sql: "SELECT \(column) FROM \(table)") ?? Data()
            }
            var changed = Array(sealed)
            changed[offset] ^= 1
            try Self.change(vault, "UPDATE \(table) SET \(column) = x'\(Hex.encode(changed))'")
            try Self.expectDamage(vault, id, "\(table).\(column) byte \(offset)")
            try Self.change(vault, "UPDATE \(table) SET \(column) = x'\(sealed.map { Hex.encode([$0]) }.joined())'")
        }
        #expect(try vault.open().index.resources.find(id)?.serving?.held == ByteRanges(0..<100))
    }

    private static func expectDamage(_ vault: TemporaryVault, _ id: ResourceID, _ what: Comment) throws {
        let store = try vault.open()
        let code = Self.code {
            _ = try store.index.resources.find(id)
            _ = try store.bytesFetched()
        }
        #expect(code == .integrity, what)
        try? store.close()
    }

    @Test("Rows that are exchanged between two titles fail authentication")
    func exchanged() throws {
        let (vault, id) = try Self.vaultWithTitle()
        let store = try vault.open()
        let other = try store.addMedia("other", length: 100)
        try store.close()
        for (table, column, key) in [
            ("resource", "metadata", "id"), ("resourceKey", "wrapped", "resource"),
            ("representation", "info", "resource"),
        ] {
            let exchange = """
                CREATE TEMP TABLE kept AS SELECT \(key) AS name, \(column) AS value FROM \(table);
                UPDATE \(table) SET \(column) = (SELECT value FROM kept WHERE name <> \(table).\(key));
                DROP TABLE kept
                """
            try Self.change(vault, exchange)
            let index = try vault.open(.reader).index
            for id in [id, other.id] {
                #expect(Self.code { _ = try index.resources.find(id) } == .integrity, "\(table).\(column)")
            }
            try Self.change(vault, exchange)
        }
        #expect(Self.code { _ = try vault.open(.reader).index.resources.find(id) } == nil)
    }

    @Test(
        "Values that the schema excludes cause an error or a gap, never a crash or wrong bytes",
        arguments: [
            "UPDATE segment SET start = 'x'", "UPDATE segment SET length = 'x'", "UPDATE segment SET blockSize = 'x'",
            "UPDATE segment SET start = -1", "UPDATE segment SET start = 9223372036854775807",
            "UPDATE segment SET length = 9223372036854775807", "UPDATE segment SET length = -1",
            "UPDATE segment SET length = 1e300",
            "UPDATE segment SET blockSize = 0", "UPDATE segment SET blockSize = 9223372036854775807",
            "UPDATE segment SET key = 'x'", "UPDATE segment SET key = 77", "UPDATE segment SET id = x'00'",
            "UPDATE segment SET id = 5", "UPDATE segment SET id = 'text'",
            "UPDATE segment SET state = 'open', key = 'x'",
            "UPDATE segment SET state = 'open', start = 9223372036854775807",
            "UPDATE segment SET state = 'open', key = 9",
            "UPDATE segment SET start = 1", "UPDATE segment SET length = 99", "UPDATE segment SET length = 200",
            "UPDATE segment SET blockSize = 4096", "UPDATE segment SET representation = x'01'",
            "INSERT INTO badBlock SELECT id, -9223372036854775808 FROM segment",
            "INSERT INTO badBlock SELECT id, 9223372036854775807 FROM segment",
            "INSERT INTO badBlock SELECT id, 'x' FROM segment", "INSERT INTO badBlock VALUES (7, 0)",
            "INSERT INTO doomed VALUES (x'00')", "INSERT INTO doomed VALUES ('x')",
            "UPDATE resource SET key = 'x'", "UPDATE resource SET key = 2", "UPDATE resource SET class = 'x'",
            "UPDATE resource SET class = 3", "UPDATE resource SET accessed = 'x'", "UPDATE resource SET metadata = 'x'",
            "UPDATE resource SET metadata = x''", "UPDATE resource SET metadata = 7",
            "UPDATE resourceKey SET wrapped = x''", "UPDATE resourceKey SET wrapped = 7",
            "UPDATE resourceKey SET generation = 'x'", "UPDATE resourceKey SET number = 'x'",
            "UPDATE resourceKey SET generation = 99", "DELETE FROM resourceKey", "DELETE FROM representation",
            "UPDATE representation SET info = x''", "UPDATE representation SET info = 7",
            "UPDATE vault SET settings = x''", "UPDATE vault SET settings = 7", "UPDATE vault SET locator = 'x'",
            "UPDATE vault SET locator = 9", "UPDATE vault SET keyringRevision = 'x'", "UPDATE vault SET id = 7",
            "DELETE FROM vault", "DELETE FROM generation",
        ])
    func impossible(sql: String) throws {
        let (vault, id) = try Self.vaultWithTitle()
        try Self.change(vault, sql)
        let bytes = SeededGenerator.bytes(100, seed: 1)
        do {
            let store = try vault.open()
            defer { try? store.close() }
            _ = try store.index.resources.totals()
            _ = try store.bytesFetched()
            guard let resource = try store.index.resources.find(id) else { return }
            for run in try store.read(resource) {
                #expect(run.bytes == Array(bytes[Int(run.start)...].prefix(run.bytes.count)))
            }
            _ = try store.addMedia("other", length: 1)
        } catch is VaultError {
        } catch is SegmentFailure {
        }
    }
}
