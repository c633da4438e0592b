import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

/// A vault of four titles, and copies of it in which an unencrypted column has an invalid value.
final class PlantedVault: Sendable {
    /// An unencrypted column, and which of its rows are changed.
    struct Column: CustomTestStringConvertible, Sendable {
        let table: String
        let name: String

        var testDescription: String { "\(table).\(name)" }
        /// Whether the whole vault depends on the column, rather than one title.
        var isOfVault: Bool { table == "vault" }

        static let all = [
            "vault.keyringRevision", "vault.locator", "generation.number", "generation.state", "resource.key",
            "resource.class", "resource.accessed", "resourceKey.number", "resourceKey.generation",
            "representation.state", "segment.key", "segment.blockSize", "segment.start", "segment.length",
            "segment.state", "segment.accessed", "badBlock.block",
        ].map { name in
            let parts = name.split(separator: ".").map(String.init)
            return Column(table: parts[0], name: parts[1])
        }

        /// Values that the column cannot hold, and values that it can hold but should not.
        var values: [String] {
            let ends = ["NULL", "-9223372036854775808", "9223372036854775807", "'x'"]
            switch table {
            case "segment", "badBlock": return ends + ["-1", "4503599627370496", "9223372036846387199", "1e300"]
            default: return ends + ["4294967296", "9007199254740992"]
            }
        }

        /// The values in the order in which a test tries them. Each column begins with a different one, so that a few
        /// for each column cover all of them.
        var order: [String] {
            let first = (Self.all.firstIndex { $0.testDescription == testDescription } ?? 0) % values.count
            return Array(values.dropFirst(first) + values.prefix(first))
        }

        /// Returns the statement that writes a value into the rows of all titles except those with the given ids.
        func statement(_ value: String, sparing ids: [ResourceID]) -> String {
            let spared = ids.map { "x'\($0.hex)'" }.joined(separator: ", ")
            let representations = "SELECT id FROM representation WHERE resource NOT IN (\(spared))"
            return switch table {
            case "vault": "UPDATE vault SET \(name) = \(value)"
            case "generation":
                name == "state"
                    ? "UPDATE generation SET state = \(value)"
                    : "INSERT OR IGNORE INTO generation VALUES (\(value), 'active')"
            case "resource": "UPDATE resource SET \(name) = \(value) WHERE id NOT IN (\(spared))"
            case "badBlock":
                "INSERT OR IGNORE INTO badBlock SELECT id, \(value) FROM segment WHERE representation IN (\(representations))"
            case "segment": "UPDATE segment SET \(name) = \(value) WHERE representation IN (\(representations))"
            default: "UPDATE OR IGNORE \(table) SET \(name) = \(value) WHERE resource NOT IN (\(spared))"
            }
        }
    }

    let origin: ScriptedOrigin
    let place: VaultPlace
    let unlock: Unlock
    let backup: String
    private let folder: TemporaryFolder
    private let media: PseudoRandomMedia

    /// The damaged title; one that must play; one that is removed; one that is shredded.
    let (title, other, removed, shredded): (MediaReference, MediaReference, MediaReference, MediaReference)
    static let length: Int64 = 90_000

    init() async throws {
        let resource = ScriptedResource(length: Self.length)
        media = resource.media
        origin = try ScriptedOrigin(resource)
        let names = ["/film", "/other", "/removed", "/shredded"].map { [origin] in MediaReference(origin.url($0)) }
        (title, other, removed, shredded) = (names[0], names[1], names[2], names[3])
        folder = try TemporaryFolder()
        place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keys/keyring.json")
        unlock = .keyFile(path: folder.path + "/keys/key")
        backup = folder.path + "/backup.json"
        _ = try await Vault.initialize(place, unlock: unlock)
        let vault = try await open()
        for url in names.dropFirst() { for try await _ in vault.download(url) {} }
        // Two segments, so that a sum can go wrong; played and not downloaded, so that it may be evicted.
        for range in [RequestedRange.from(40_000), .closed(first: 0, last: 39_999)] {
            let reader = try await vault.read(title, range: range)
            while try await reader.next() != nil {}
        }
        try await vault.keys.backUp(to: backup, for: NewSlot(Self.passphrase, strength: .least))
        await vault.close()
    }

    static var passphrase: Unlock {
        get throws { .passphrase(try Passphrase(copying: Array("drawer".utf8))) }
    }

    /// Creates a copy of a vault by copying its files.
    private init(copying template: PlantedVault) throws {
        folder = try TemporaryFolder()
        (origin, media) = (template.origin, template.media)
        (title, other, removed, shredded) = (template.title, template.other, template.removed, template.shredded)
        for name in ["vault", "keys", "backup.json"] {
            try FileManager.default.copyItem(
                atPath: template.folder.path + "/" + name, toPath: folder.path + "/" + name)
        }
        place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keys/keyring.json")
        unlock = .keyFile(path: folder.path + "/keys/key")
        backup = folder.path + "/backup.json"
    }

    func copy() throws -> PlantedVault { try PlantedVault(copying: self) }

    func open(_ access: VaultOptions.Access = .owner) async throws -> Vault {
        try await Vault.open(place, unlock: unlock, options: VaultOptions(access: access))
    }

    /// Writes a value without any checks, as a program without the key could.
    ///
    /// - Returns: Whether the column accepted the value.
    @discardableResult
    func plant(_ column: Column, _ value: String, in vault: Vault) async throws -> Bool {
        var ids: [ResourceID] = []
        for url in [other, removed, shredded] { ids.append(try await vault.name(url).id) }
        let statement = column.statement(value, sparing: ids)
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: place.folder + "/index.sqlite", configuration: configuration)
        defer { try? queue.close() }
        return try await queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            return try Self.takingNulls(value == "NULL", db) {
                do {
                    try db.execute(sql: statement)
                } catch let error as DatabaseError
                    where [.SQLITE_MISMATCH, .SQLITE_CONSTRAINT].contains(error.resultCode)
                {
                    // Any writer must store an integer row id, and a value in each part of a key.
                    return false
                }
                return db.changesCount > 0
            }
        }
    }

    /// The names of the segment files.
    var segmentNames: Set<String> {
        get throws {
            let names = try FileManager.default.subpathsOfDirectory(atPath: place.folder + "/segments")
            return Set(names.filter { $0.count > 30 })
        }
    }

    /// Changes the index as a program without the key would.
    func write(_ sql: String) async throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: place.folder + "/index.sqlite", configuration: configuration)
        defer { try? queue.close() }
        try await queue.writeWithoutTransaction { db in try db.execute(sql: sql) }
    }

    /// Runs a change while the tables accept NULL, which a single flipped bit of a row can produce.
    static func takingNulls(_ isWanted: Bool, _ db: Database, _ body: () throws -> Bool) throws -> Bool {
        guard isWanted else { return try body() }
        let tables = try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        func write(_ change: (String) -> String) throws {
            try db.execute(sql: "PRAGMA writable_schema = ON")
            for table in tables {
                try db.execute(
                    sql: "UPDATE sqlite_master SET sql = ? WHERE name = ?",
                    arguments: [change(table["sql"]), table["name"] as String])
            }
            let version = try Int.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
            try db.execute(sql: "PRAGMA schema_version = \(version + 1); PRAGMA writable_schema = RESET")
        }
        try write { $0.replacingOccurrences(of: " NOT NULL", with: "") }
        let result = Result(catching: body)
        try write(\.self)
        return try result.get()
    }

    /// Expects that the whole title plays.
    func expect(_ url: MediaReference, in vault: Vault, _ what: Comment, at location: SourceLocation = #_sourceLocation)
        async
    {
        do {
            var position: Int64 = 0
            let reader = try await vault.read(url)
            while let bytes = try await reader.next() {
                guard media.matches(bytes, at: position) else { break }
                position += Int64(bytes.count)
            }
            #expect(position == Self.length, what, sourceLocation: location)
        } catch {
            Issue.record(error, what, sourceLocation: location)
        }
    }

    /// Reads as much of a title as possible, and expects that each byte is right.
    func read(_ url: MediaReference, in vault: Vault, _ what: Comment) async throws {
        var position: Int64 = 0
        let reader = try await vault.read(url)
        while let bytes = try await reader.next() {
            #expect(media.matches(bytes, at: position), what)
            position += Int64(bytes.count)
        }
    }
}
