import Foundation
import GRDB
import VaultCrypto
import VaultModel

@testable import VaultStorage

/// The rows of an index or a backup that a keyring opens, and those that it does not.
///
/// They are read row by row according to the format, and not through the code that reads a vault.
struct RecordContents: Sendable {
    /// A title, a part of a pack, a cover, or a record.
    struct Item: Hashable, Sendable, CustomStringConvertible {
        let kind: String
        let id: [UInt8]

        var description: String { "\(kind) \(Hex.encode(Array(id.prefix(4))))" }
    }

    /// The value of each item, without the parts that an act of the test changes.
    private(set) var opened: [Item: [UInt8]] = [:]
    /// The number of rows that do not open, or belong to nothing, by their table.
    private(set) var unopened: [String: Int] = [:]

    private let keyring: Keyring
    /// Whether an invalid class or hour counts. In a backup, neither does, because a rebuild corrects both.
    private let isIndex: Bool

    /// Reads a file; an unreadable file counts as empty.
    init(of path: String, _ keyring: Keyring, isIndex: Bool) throws {
        (self.keyring, self.isIndex) = (keyring, isIndex)
        guard FileManager.default.fileExists(atPath: path) else { return }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        try queue.read { db in try readAll(db) }
    }

    private mutating func readAll(_ db: Database) throws {
        let keys = try RecordKeys(keyring, db)
        var settings: VaultSettings?
        for table in SealedTable.all where try table.exists(db) {
            for row in try Row.fetchAll(db, sql: "SELECT id, \(table.column) AS record FROM \(table.name)") {
                guard let id = try? row.column("id") as Data, let record = try? row.column("record") as Data,
                    let members = try table.open(record.array, of: id.array, keys)
                else {
                    unopened[table.name, default: 0] += 1
                    continue
                }
                if table.name == SealedTable.settings.name { settings = VaultSettings(members) }
                // The two are valid only together.
                if table.name == SealedTable.network.name, settings?.wereWritten(with: members) == false {
                    unopened[table.name, default: 0] += 1
                    continue
                }
                opened[Item(kind: table.name, id: id.array)] = Self.lasting(members, of: table)
            }
        }
        try readResources(db)
        try countStray(db)
    }

    /// Returns the part of a record that no act changes.
    private static func lasting(_ members: JSONObject, of table: SealedTable) -> [UInt8] {
        guard table.name == SealedTable.settings.name else { return JSONValue.object(members.members).canonical }
        // Key operations and counters change the others.
        let lasting = members.members.filter { ["mode", RecordVault.mark].contains($0.key) }
        return JSONValue.object(lasting).canonical
    }

    /// Returns the value of a resource without the members that distinguish its present metadata from earlier metadata.
    static func unmarked(_ value: [UInt8]) -> [UInt8] {
        let mark = [JSONValue.null, .string("newer")].map { JSONValue.array([$0]).canonical }
            .first { value.reversed().starts(with: $0.reversed()) }
        return Array(value.dropLast(mark?.count ?? 0))
    }

    private mutating func readResources(_ db: Database) throws {
        var packs: [ResourceID: SharedKey] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT * FROM resource") {
            guard let row = try? ResourceRow(row), let resource = try? OpenedResource(row, keyring, db),
                !isIndex || (row.resourceClass != nil && row.accessed != nil),
                let info = try information(of: resource, db)
            else {
                unopened["resource", default: 0] += 1
                continue
            }
            let metadata = resource.metadata
            packs[row.id] = resource.metadataKey
            opened[Item(kind: "resource", id: row.id.bytes)] =
                Array(metadata.url.utf8) + metadata.cacheKey + info
                + JSONValue.array([metadata.members[RecordVault.mark] ?? .null]).canonical
            guard let tag = metadata.cover else { continue }
            if let picture = try CoverRow.fetch(tag, of: row.id, under: resource.metadataKey.secret, db) {
                opened[Item(kind: "cover", id: row.id.bytes)] = picture
            } else {
                unopened["cover", default: 0] += 1
            }
        }
        for row in try Row.fetchAll(db, sql: "SELECT * FROM packedPart") {
            guard let id = (try? row.column("id") as Data).flatMap({ ResourceID($0) }),
                let pack = (try? row.column("pack") as Data).flatMap({ ResourceID($0) }), let key = packs[pack],
                let part = try PackedPartRow.fetch(id, in: pack, db)?.open(under: key.secret)
            else {
                unopened["packedPart", default: 0] += 1
                continue
            }
            opened[Item(kind: "packedPart", id: id.bytes + pack.bytes)] =
                Array("\(part.metadata.url) \(part.range)".utf8)
        }
    }

    /// Returns the information about what a resource serves; nil if it does not open.
    private func information(of resource: OpenedResource, _ db: Database) throws -> [UInt8]? {
        guard let serving = resource.metadata.serving else { return [] }
        guard let row = try? RepresentationRow.fetch(serving, db), row.resource == resource.id,
            let info = row.openInfo(of: resource.id, under: resource.metadataKey.secret).flatMap({
                RepresentationInfo($0)
            })
        else { return nil }
        let information = info.information
        return Array("\(information.length ?? -1) \(information.type ?? "") \(serving.hex)".utf8)
    }

    /// Counts rows that belong to no resource.
    private mutating func countStray(_ db: Database) throws {
        let shares = SealedTable.own.filter(\.isOfResource).map { ($0.name, "id") }
        for (table, column) in [("resourceKey", "resource"), ("representation", "resource"), ("cover", "resource")]
            + shares
        {
            let count = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM \(table) WHERE \(column) NOT IN (SELECT id FROM resource)")
            if let count, count > 0 { unopened["\(table) of nothing", default: 0] += count }
        }
    }
}
