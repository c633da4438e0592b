import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultStorage

/// A vault with rows of every kind, and copies of it.
final class RecordVault: Sendable {
    /// The member that distinguishes the present state of a record from the previous one.
    static let mark = "mark"

    let place: VaultPlace
    let unlock: Unlock
    private let folder: TemporaryFolder
    /// The folder with the former states of the index.
    private let states: String
    /// The ids of the damaged titles, and of the intact ones.
    let (damaged, spared): ([ResourceID], [ResourceID])

    /// The bytes of a title.
    static let length: Int64 = 20
    /// The damaged titles: one with everything that a title can have, and one of another file.
    static let names = ["film", "series"]
    /// A title that is given another name, and one that is shredded.
    static let (other, shredded) = ("other", "shredded")

    static func reference(_ name: String) throws -> MediaReference {
        MediaReference(try MediaURL("http://origin.example/\(name)"))
    }

    private init(
        in folder: TemporaryFolder, states: String? = nil, _ damaged: [ResourceID] = [], _ spared: [ResourceID] = []
    ) {
        (self.folder, self.damaged, self.spared) = (folder, damaged, spared)
        self.states = states ?? folder.path
        place = VaultPlace(folder: folder.path + "/vault", keyring: folder.path + "/keys/keyring.json")
        unlock = .keyFile(path: folder.path + "/keys/key")
    }

    /// Copies the files that change. Segment files are hard links.
    func copy() throws -> RecordVault {
        let copy = RecordVault(in: try TemporaryFolder(), states: states, damaged, spared)
        let files = FileManager.default
        let walk = files.enumerator(atPath: folder.path)
        while let name = walk?.nextObject() as? String {
            let (from, to) = (folder.path + "/" + name, copy.folder.path + "/" + name)
            // The folder also has former states, and SQLite's side files for them while other copies read them.
            guard name.hasPrefix("vault") || name.hasPrefix("keys") else { continue }
            if walk?.fileAttributes?[.type] as? FileAttributeType == .typeDirectory {
                try files.createDirectory(
                    atPath: to, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } else if name.hasPrefix("vault/segments/") {
                try files.linkItem(atPath: from, toPath: to)
            } else {
                try files.copyItem(atPath: from, toPath: to)
            }
        }
        return copy
    }

    /// The files in which rows are damaged.
    private static let damagedFiles = ["index.sqlite", "catalog.backup"]

    /// The file before any damage, because several cells damage one copy and count its rows.
    private func original(_ file: String) -> String { states + "/original-" + file }

    func open() async throws -> Vault {
        var options = VaultOptions(mode: .offline)
        options.isSelfMaintaining = false
        return try await Vault.open(place, unlock: unlock, options: options)
    }

    func keyring() throws -> Keyring {
        try KeyringReader.unlock(KeyringFile.read(place.keyring), with: unlock.secret())
    }

    /// The contents of the index, its backup, and the previous backup.
    func contents() throws -> (index: RecordContents, backup: RecordContents, former: RecordContents) {
        let (keyring, backup) = (try keyring(), place.folder + "/catalog.backup")
        return (
            try RecordContents(of: place.folder + "/index.sqlite", keyring, isIndex: true),
            try RecordContents(of: backup, keyring, isIndex: false),
            try RecordContents(of: backup + ".1", keyring, isIndex: false)
        )
    }

    // MARK: Making one

    /// Makes a vault with two rows of every kind that can have them. Each row has had two earlier values: one under a
    /// generation that has since been retired, and one under the present generation.
    static func make() async throws -> RecordVault {
        let made = RecordVault(in: try TemporaryFolder())
        _ = try await Vault.initialize(made.place, unlock: made.unlock)
        let vault = try await made.open()
        var ids: [ResourceID] = []
        for (number, name) in names.enumerated() {
            try await write(name, number: number, to: vault)
            ids.append(try await vault.titles.id(of: reference(name)))
        }
        let spared = try [other, shredded].map { try title($0, in: vault.store).id }
        #expect(try await vault.titles.id(of: reference(shredded)) == spared[1], "premise: the same names")
        try vault.store.catalogBackup.write()
        try vault.store.index.database.truncateLog()
        try made.keep("retired")
        _ = try await vault.keys.rotate()
        for try await _ in vault.keys.rewrap() {}
        _ = try await vault.keys.retire(1)
        try vault.store.index.database.truncateLog()
        try made.keep("older")
        try change(vault.store)
        await vault.close()
        let contents = try made.contents()
        #expect(contents.index.unopened.isEmpty && contents.backup.unopened.isEmpty, "premise: all opens")
        #expect(contents.index.opened == contents.backup.opened, "premise: the backup is current")
        #expect(Set(contents.former.opened.keys) == Set(contents.backup.opened.keys), "premise: so was the one before")
        // There are many copies, so their owners create the reserve and the segment folders that they need.
        let (files, folders) = (FileManager.default, made.place.folder + "/segments/")
        try files.removeItem(atPath: made.place.folder + "/reserve")
        for name in try files.contentsOfDirectory(atPath: folders)
        where try files.contentsOfDirectory(atPath: folders + name).isEmpty {
            try files.removeItem(atPath: folders + name)
        }
        for file in damagedFiles {
            try files.copyItem(atPath: made.place.folder + "/" + file, toPath: made.original(file))
        }
        return RecordVault(in: made.folder, ids, spared)
    }

    /// Saves the current state of the index.
    private func keep(_ name: String) throws {
        try FileManager.default.copyItem(atPath: place.folder + "/index.sqlite", toPath: folder.path + "/" + name)
    }

    private static func title(_ name: String, in store: VaultStore) throws -> StoredResource {
        let resource = try store.addMedia(name, length: length, resourceClass: .download)
        _ = try store.store(Array(repeating: 7, count: Int(length)), at: 0, of: resource)
        return try #require(try store.index.resources.find(resource.id))
    }

    /// Writes a record of every kind, and a title of every form. The tests fail for a new kind until it is written
    /// here.
    private static func write(_ name: String, number: Int, to vault: Vault) async throws {
        let store = vault.store
        var film = try title(name, in: store)
        try store.covers.set(Array(repeating: 9, count: 100), of: &film)
        let id = TitleID(of: film.id)
        try store.changeSettings { settings in
            settings.mode = .offline
            var network = NetworkSettings()
            network.proxy = try ProxyAddress("http://me:hunter3@proxy.example:3128")
            settings.setNetwork(network)
        }
        _ = try await vault.access.createToken(.read, name: "kiosk \(number)")
        let download = QueuedDownload(
            try SecureRandom.identifier("download id"), DownloadOrder(url: "https://media.example/\(name).mp4"),
            title: id, added: 1_700_000_000, position: Int64(number))
        try store.downloads.write([download], isDurable: true)
        try store.subscriptions.write(
            MediaSubscription(
                try SecureRandom.identifier("subscription id"), .feed("https://media.example/\(name)"),
                MediaSubscription.Choices(), added: 1_700_000_000))
        let viewer = Viewer(
            id: try SecureRandom.identifier("viewer id"), name: "Anna \(number)", created: 1_700_000_000,
            sharesAll: false)
        try store.viewers.write(viewer)
        try store.viewers.write([film.id: TitleShare(title: id, viewers: [viewer.id])])
        var positions = PlaybackPositions()
        positions.note(
            try #require(PlaybackPosition(title: id, position: 1234, duration: 9999, changed: 1_700_000_000)))
        try store.viewers.write([viewer.id: positions])
        try writePack(of: "http://origin.example/\(name)", number: number, to: store)
    }

    /// Writes a pack with two files of a title.
    private static func writePack(of title: String, number: Int, to store: VaultStore) throws {
        let pack = try store.resources.addPack(of: Array(title.utf8), url: title, resourceClass: .download)
        var writer = try store.segments.begin(at: 0, of: pack)
        var waiting: [PackedPart] = []
        for part in 0..<2 {
            let url = "http://origin.example/\(number)/\(part).ts"
            var metadata = ResourceMetadata(url: url, cacheKey: Array(url.utf8), created: 1)
            metadata.serving = try SecureRandom.identifier("representation id")
            let information = ContentInformation(
                length: length, type: "video/mp2t", validators: Validators(entityTag: EntityTag(strong: "v1")),
                supportsRanges: true)
            let id = try #require(store.keyring.resourceID(cacheKey: Array(url.utf8), locator: store.index.locator))
            let info = RepresentationInfo(sequence: 1, information: information, retrieved: 1)
            waiting.append(try #require(PackedPart(id, metadata, info, at: writer.end)))
            try writer.append(Array(repeating: UInt8(part), count: Int(length))[...])
        }
        #expect(try store.segments.close(writer, recording: &waiting, in: pack.id).isEmpty && waiting.isEmpty)
    }

    /// Changes every record, and the metadata of every title.
    private static func change(_ store: VaultStore) throws {
        try store.index.write { db in
            let keys = try store.index.recordKeys(db)
            for table in SealedTable.all {
                for id in try Data.fetchAll(db, sql: "SELECT id FROM \(table.name)") {
                    guard case .members(var members) = try table.content(of: id.array, keys, db) else { continue }
                    members[mark] = .string("newer")
                    try table.replace(table.seal(members, of: id.array, keys), of: id.array, db)
                }
            }
        }
        for (id, resource) in try store.index.resources.page(after: nil, limit: 100) {
            var metadata = try #require(resource).metadata
            metadata.members[mark] = .string("newer")
            try store.index.resources.write(metadata, of: try #require(try store.index.resources.find(id)))
        }
        store.noteChange()
    }

    // MARK: Damage

    /// Damages a row of the index or of the backup, as a program without the key would.
    ///
    /// - Returns: whether the file has changed.
    func inflict(
        _ damage: RecordDamage, on row: Int, _ column: RecordKind.Column?, of kind: RecordKind, in file: String
    ) throws -> Bool {
        let row = try change(path: original(file)) { try rows(of: kind, $0)[row] }
        return try change(file) { db in
            let state = [.older, .retired].contains(damage) ? damage.rawValue : nil
            if let state {
                try db.execute(sql: "ATTACH DATABASE ? AS \(state)", arguments: [states + "/" + state])
            }
            let isDone = try PlantedVault.takingNulls(damage == .null, db) {
                try damage.inflict(on: row, column, of: kind, db)
            }
            if let state { try db.execute(sql: "DETACH DATABASE \(state)") }
            return isDone
        }
    }

    /// The number of rows of a kind that can be damaged.
    func rowCount(of kind: RecordKind) throws -> Int { try change("index.sqlite") { try rows(of: kind, $0).count } }

    /// Returns the rows of a kind: those of titles first, and without those of intact titles.
    private func rows(of kind: RecordKind, _ db: Database) throws -> [RecordKind.RowKey] {
        try kind.rows(first: damaged.map(\.data), without: spared.map(\.data), db)
    }

    /// Changes a file without any checks, as a program without the key could.
    private func change<Result>(_ file: String, _ body: (Database) throws -> Result) throws -> Result {
        try change(path: place.folder + "/" + file, body)
    }

    private func change<Result>(path: String, _ body: (Database) throws -> Result) throws -> Result {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        // Copies of one vault are made side by side.
        configuration.busyMode = .timeout(60)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF")
            return try body(db)
        }
    }
}
