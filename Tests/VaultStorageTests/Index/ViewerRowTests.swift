import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The viewers in the index")
struct ViewerRowTests {
    private let vault: TemporaryVault
    private let store: VaultStore
    private let film: ResourceID
    private let title: TitleID

    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
        film = try store.addMedia("film", length: 40_000).id
        title = TitleID(of: film)
    }

    private static func viewer(_ name: String) throws -> Viewer {
        Viewer(
            id: try SecureRandom.identifier("viewer id"), name: "Secret \(name)", created: 1_700_000_000,
            sharesAll: false)
    }

    private func positions(_ title: TitleID) throws -> PlaybackPositions {
        var positions = PlaybackPositions()
        positions.note(
            try #require(PlaybackPosition(title: title, position: 1234, duration: 9999, changed: 1_700_000_000)))
        return positions
    }

    /// Writes a viewer with a share and positions of their own and of the owner.
    private func fill() throws -> Viewer {
        let viewer = try Self.viewer("Anna")
        try store.viewers.write(viewer)
        try store.viewers.write([film: TitleShare(title: title, viewers: [viewer.id])])
        try store.viewers.write([viewer.id: positions(title), nil: positions(title)])
        return viewer
    }

    private func expect(_ viewer: Viewer, _ resource: ResourceID, _ store: VaultStore) throws {
        let found = try store.viewers.all()
        #expect(found.viewers == [viewer] && found.unreadable == 0)
        #expect(found.shares == [resource: TitleShare(title: title, viewers: [viewer.id])])
        #expect(try found.positions == [viewer.id: positions(title), nil: positions(title)])
    }

    @Test("All is read as it was written, also by a reader and after a restart")
    func roundTrip() throws {
        let viewer = try fill()
        try store.close()
        for access in [VaultStore.Access.reader, .owner] {
            let again = try vault.open(access)
            try expect(viewer, film, again)
            try again.close()
        }
    }

    @Test("Nothing of it is readable in the files, also not in what a removed viewer leaves")
    func sealed() throws {
        let (viewer, other) = (try fill(), try Self.viewer("Berta"))
        try store.viewers.write(other)
        try store.viewers.remove(viewer.id, changing: [film: TitleShare(title: title, viewers: [])])
        let found = try store.viewers.all()
        #expect(found.viewers == [other] && found.shares.isEmpty)
        #expect(Set(found.positions.keys) == [nil])
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let bytes = try Data(contentsOf: URL(filePath: vault.folder + "/" + name))
            for text in ["Secret", "Anna", "Berta", title.description, "position\"", "9999"] {
                #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text) in \(name)")
            }
        }
    }

    @Test("A removed title takes its share along, and a share of a title that is gone is not written")
    func removedTitle() throws {
        let viewer = try fill()
        _ = try store.resources.remove(film)
        #expect(try store.viewers.all().shares.isEmpty)
        try store.viewers.write([film: TitleShare(title: title, viewers: [viewer.id])])
        #expect(try store.viewers.all().shares.isEmpty)
        #expect(try store.index.resources.missing(among: [film]) == [film])
        try store.close()
    }

    @Test("A change of the locator seals all under the new key, and shares under the new ids of their titles")
    func locator() throws {
        let viewer = try fill()
        _ = try LocatorChange(store).run(
            noting: vault.log(of: store), queued: { _, _ in nil }, principals: { _, _ in [:] })
        let renamed = try #require(try store.index.titleIDs.resources(title).first).id
        #expect(renamed != film && store.index.locator == 2)
        try expect(viewer, renamed, store)
        try store.close()
    }

    @Test("A rebuilt index has all of it")
    func rebuilt() throws {
        let viewer = try fill()
        try store.close()
        try FileManager.default.removeItem(atPath: vault.folder + "/index.sqlite")
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let again = try vault.open()
        try expect(viewer, film, again)
        try again.close()
    }

    @Test(
        "A row that was changed, exchanged or made too large counts as unreadable",
        arguments: [
            "UPDATE viewer SET record = x'00'", "UPDATE viewer SET record = zeroblob(100000)",
            "UPDATE viewer SET record = (SELECT record FROM share)", "UPDATE share SET record = 'text'",
            "UPDATE share SET record = (SELECT record FROM position)", "UPDATE viewer SET id = zeroblob(16)",
        ])
    func damaged(sql: String) throws {
        _ = try fill()
        try store.index.write { try $0.execute(sql: sql) }
        let found = try store.viewers.all()
        #expect(found.unreadable == 1 && (found.viewers.isEmpty || found.shares.isEmpty))
        try store.close()
    }

    @Test("Two rows that were exchanged within their table open neither", arguments: ["viewer", "share", "position"])
    func exchanged(table: String) throws {
        let (viewer, other) = (try fill(), try store.addMedia("other", length: 9).id)
        try store.viewers.write(try Self.viewer("Berta"))
        try store.viewers.write([other: TitleShare(title: TitleID(of: other), viewers: [viewer.id])])
        try store.index.write { db in
            let rows = try Row.fetchAll(db, sql: "SELECT id, record FROM \(table)")
            #expect(rows.count == 2, "premise")
            for (one, two) in [(rows[0], rows[1]), (rows[1], rows[0])] {
                try db.execute(
                    sql: "UPDATE \(table) SET record = ? WHERE id = ?",
                    arguments: [two["record"] as Data, one["id"] as Data])
            }
        }
        let found = try store.viewers.all()
        #expect(found.unreadable == 2)
        #expect([found.viewers.count, found.shares.count, found.positions.count].sorted() == [0, 2, 2])
        try store.close()
    }

    @Test("A vault without the tables opens to read and to write, and gets them")
    func older() throws {
        try store.close()
        let path = vault.folder + "/index.sqlite"
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction {
            try $0.execute(
                sql: "DROP TABLE viewer; DROP TABLE share; DROP TABLE position; PRAGMA user_version = 4")
        }
        try queue.close()
        let reader = try vault.open(.reader)
        let found = try reader.viewers.all()
        #expect(found.viewers.isEmpty && found.unreadable == 0)
        try reader.close()
        let owner = try vault.open()
        let viewer = try Self.viewer("Anna")
        try owner.viewers.write(viewer)
        #expect(try owner.viewers.all().viewers == [viewer])
        #expect(try owner.index.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 6)
        try owner.close()
    }
}
