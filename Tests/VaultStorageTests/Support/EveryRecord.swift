import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

/// A title, and a record of every kind that an index has.
enum EveryRecord {
    /// The names of all kinds, as arguments of tests.
    static let kinds = SealedTable.all.map(\.name)

    /// Returns the table of a kind.
    static func table(_ kind: String) throws -> SealedTable {
        try #require(SealedTable.all.first { $0.name == kind })
    }

    /// Writes a record of every kind. The tests of a new kind fail until it is written here.
    ///
    /// - Returns: the title that one of them belongs to.
    @discardableResult
    static func write(to store: VaultStore) throws -> ResourceID {
        let film = try store.addMedia("film", length: 40_000).id
        let title = TitleID(of: film)
        try store.changeSettings { settings in
            settings.mode = .offline
            var network = NetworkSettings()
            network.proxy = try ProxyAddress("http://me:hunter3@proxy.example:3128")
            settings.setNetwork(network)
        }
        let grant = AccessGrant(
            id: try SecureRandom.identifier("grant id"), kind: .token(.read), name: "kiosk", created: 1_700_000_000,
            expires: nil, era: [1, 2, 3])
        try store.grants.add(grant, removing: [])
        let download = QueuedDownload(
            try SecureRandom.identifier("download id"), DownloadOrder(url: "https://media.example/film.mp4"),
            title: title, added: 1_700_000_000, position: 1)
        try store.downloads.write([download], isDurable: true)
        let subscription = MediaSubscription(
            try SecureRandom.identifier("subscription id"), .feed("https://media.example/feed"),
            MediaSubscription.Choices(), added: 1_700_000_000)
        try store.subscriptions.write(subscription)
        let viewer = Viewer(
            id: try SecureRandom.identifier("viewer id"), name: "Anna", created: 1_700_000_000, sharesAll: false)
        try store.viewers.write(viewer)
        try store.viewers.write([film: TitleShare(title: title, viewers: [viewer.id])])
        var positions = PlaybackPositions()
        positions.note(
            try #require(PlaybackPosition(title: title, position: 1234, duration: 9999, changed: 1_700_000_000)))
        try store.viewers.write([viewer.id: positions])
        for kind in SealedTable.all {
            #expect(try store.index.read { try kind.rowCount($0) } > 0, "no record of \(kind.title) was written")
        }
        return film
    }

    /// Returns the sealed records of a kind with their ids.
    static func rows(_ kind: String, _ db: Database) throws -> [(id: [UInt8], sealed: [UInt8])] {
        let table = try table(kind)
        return try Row.fetchAll(db, sql: "SELECT id, \(table.column) AS record FROM \(kind)").map { row in
            ((row["id"] as Data).array, (row["record"] as Data).array)
        }
    }

    /// Returns the number of records of a kind that a keyring opens in an index.
    static func opened(_ kind: String, in store: VaultStore, by keyring: Keyring) throws -> Int {
        let table = try table(kind)
        return try store.index.read { db in
            let keys = try RecordKeys(keyring, db)
            return try rows(kind, db).count { try table.open($0.sealed, of: $0.id, keys) != nil }
        }
    }

    /// Gives the records of a vault the form that format version 5 wrote, in its index and in its backup.
    static func makeFormer(_ vault: TemporaryVault) throws {
        let key = try #require(try vault.keyring.formerRecordKey(locator: vault.keyring.newestLocator))
        for file in ["index.sqlite", "catalog.backup"] {
            let queue = try DatabaseQueue(path: vault.folder + "/" + file)
            try queue.writeWithoutTransaction { db in
                let keys = RecordKeys(vault.keyring, locator: vault.keyring.newestLocator)
                for table in SealedTable.all {
                    for row in try rows(table.name, db) {
                        let members = try #require(try table.open(row.sealed, of: row.id, keys))
                        let former = try SealedDocument.seal(
                            members, key: key.secret, associatedData: table.recordData(row.id))
                        try table.replace(former, of: row.id, db)
                    }
                }
                try db.execute(sql: "DROP TABLE IF EXISTS erased; PRAGMA user_version = 5")
            }
            try queue.close()
        }
    }

    /// Makes a vault with every record, and a catalog of it.
    ///
    /// - Returns: the vault, its store, and the title that one of the records belongs to.
    static func backedUp() throws -> (vault: TemporaryVault, store: VaultStore, film: ResourceID) {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let film = try write(to: store)
        try store.catalogBackup.write()
        return (vault, store, film)
    }

    /// Makes a vault with every record, and changes it like an owner that is killed before it writes the next catalogs.
    ///
    /// - Returns: the vault, the title that the catalogs have, and what the change returns.
    static func aheadOfCatalogs<Result>(
        _ change: (VaultStore, ResourceID) throws -> Result
    ) throws -> (vault: TemporaryVault, known: ResourceID, result: Result) {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let known = try write(to: store)
        try store.catalogBackup.write(forgetting: true)
        let catalog = try PosixFileSystem().contents(of: vault.folder + "/catalog.backup", atMost: 1 << 24)
        let result = try change(store, known)
        try store.close()
        for name in ["catalog.backup", "catalog.backup.1"] {
            try PosixFileSystem().replace(vault.folder + "/" + name, with: catalog)
        }
        return (vault, known, result)
    }

    /// Rebuilds the index of a vault that is found damaged.
    @discardableResult
    static func rebuild(_ vault: TemporaryVault) throws -> IndexRebuild.Counts {
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        return try rebuild.finish()
    }
}
