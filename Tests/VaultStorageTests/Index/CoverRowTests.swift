import Foundation
import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The covers in the index")
struct CoverRowTests {
    private static let picture = SeededGenerator.bytes(70_000, seed: 101)
    private static let other = SeededGenerator.bytes(5000, seed: 102)

    private let vault: TemporaryVault
    private let store: VaultStore
    private let id: ResourceID

    /// A title with a cover.
    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
        var film = try store.addMedia("film", length: 9)
        try store.covers.set(Self.picture, of: &film)
        id = film.id
    }

    private func film(in store: VaultStore? = nil) throws -> StoredResource {
        try #require(try (store ?? self.store).index.resources.find(id))
    }

    private func cover(in store: VaultStore? = nil) throws -> [UInt8]? {
        let store = store ?? self.store
        return try store.covers.picture(of: film(in: store))
    }

    /// The sealed pictures as they are stored.
    private func sealed() throws -> [Data] {
        try store.index.read { try Data.fetchAll($0, sql: "SELECT picture FROM cover") }
    }

    /// Returns the files that have some bytes.
    private func files(with bytes: some Sequence<UInt8>) throws -> [String] {
        let needle = Data(bytes)
        return try ["index.sqlite", "index.sqlite-wal", "catalog.backup"].filter { name in
            let path = vault.folder + "/" + name
            guard FileManager.default.fileExists(atPath: path) else { return false }
            return try Data(contentsOf: URL(filePath: path)).range(of: needle) != nil
        }
    }

    @Test("A cover is read as it was written, also by a reader and after a restart, and another one takes its place")
    func roundTrip() throws {
        #expect(try cover() == Self.picture)
        let tag = try #require(try film().coverTag)
        try store.close()
        let reader = try vault.open(.reader)
        #expect(try cover(in: reader) == Self.picture && film(in: reader).coverTag == tag)
        try reader.close()
        let owner = try vault.open()
        var film = try film(in: owner)
        try owner.covers.set(Self.other, of: &film)
        #expect(try cover(in: owner) == Self.other && film.coverTag != nil && film.coverTag != tag)
        #expect(try owner.index.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM cover") } == 1)
        try owner.covers.set(nil, of: &film)
        #expect(try cover(in: owner) == nil && film.coverTag == nil)
        #expect(try owner.index.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM cover") } == 0)
        try owner.close()
    }

    @Test("Nothing of a cover is readable in the files, its length shows in steps only, and a removed one is erased")
    func unreadable() throws {
        let sealed = try #require(try sealed().first)
        #expect(sealed.count == 5 * 16_384 + 28)
        try store.catalogBackup.write()
        #expect(
            try files(with: sealed.prefix(64)).contains("catalog.backup"), "premise: the search finds what is there")
        for part in stride(from: 0, to: Self.picture.count - 16, by: 4096) {
            #expect(try files(with: Self.picture[part..<part + 16]) == [])
        }
        var film = try film()
        try store.covers.set(nil, of: &film)
        try store.erasure.carryOut()
        #expect(try files(with: sealed.prefix(64)) == [])
        try store.close()
        #expect(try files(with: sealed.suffix(64)) == [])
    }

    @Test(
        "A picture that was changed, exchanged, taken away or made too large is none, and is found damaged",
        arguments: [
            "UPDATE cover SET picture = zeroblob(70000) WHERE resource = :one",
            "UPDATE cover SET picture = (SELECT picture FROM cover WHERE resource = :two) WHERE resource = :one",
            "UPDATE cover SET picture = zeroblob(3000000) WHERE resource = :one",
            "UPDATE cover SET picture = 'text' WHERE resource = :one", "DELETE FROM cover WHERE resource = :one",
            "UPDATE cover SET picture = x'' WHERE resource = :one", "DROP TABLE cover",
        ])
    func damaged(sql: String) throws {
        var two = try store.addMedia("two", length: 9)
        try store.covers.set(Self.other, of: &two)
        #expect(try !store.covers.lacksPicture(film()))
        try store.index.write { db in
            if sql.contains("DROP") { return try db.execute(sql: sql) }
            try db.execute(
                sql: sql, arguments: sql.contains(":two") ? ["one": id.data, "two": two.id.data] : ["one": id.data])
        }
        #expect(try cover() == nil && store.covers.lacksPicture(film()))
        // Another one heals it.
        var film = try film()
        try store.covers.set(Self.other, of: &film)
        #expect(try cover() == Self.other && !store.covers.lacksPicture(film))
        try store.close()
    }

    @Test("An earlier picture of the same title cannot take the place of the one in use")
    func earlier() throws {
        let former = try #require(try sealed().first)
        var film = try film()
        try store.covers.set(Self.other, of: &film)
        try store.index.write { db in
            try db.execute(sql: "INSERT INTO cover VALUES (?, ?)", arguments: [id.data, former])
        }
        #expect(try cover() == Self.other, "a row beside it does not hide it")
        try store.index.write { db in
            try db.execute(sql: "UPDATE cover SET picture = ?", arguments: [former])
        }
        #expect(try cover() == nil)
        try store.close()
    }

    @Test("What is no picture by its size is refused: none, more than 1 MiB, or more than 256 MiB of all titles")
    func limits() throws {
        var film = try film()
        for bytes in [[], Array(repeating: 7, count: ResourceMetadata.maxCoverBytes + 1)] as [[UInt8]] {
            let error = #expect(throws: VaultError.self) { try store.covers.set(bytes, of: &film) }
            #expect(error?.code == .invalidArgument)
        }
        let largest = Array(repeating: 7, count: ResourceMetadata.maxCoverBytes) as [UInt8]
        try store.covers.set(largest, of: &film)
        #expect(try cover() == largest)
        let others = try store.addMedia("others", length: 9).id
        try store.index.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 255)
                    INSERT INTO cover SELECT ?, zeroblob(1048576) FROM number
                    """, arguments: [others.data])
        }
        let error = #expect(throws: VaultError.self) { try store.covers.set(largest, of: &film) }
        #expect(error?.code == .invalidArgument && error?.message.contains("all titles") == true)
        #expect(try cover() == largest, "the one in use stays")
        try store.covers.set(Self.other, of: &film)
        try store.close()
    }

    @Test("Pictures of feeds leave half of the room to those that people give")
    func roomOfFeeds() throws {
        var film = try film()
        let others = try store.addMedia("others", length: 9).id
        try store.index.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 128)
                    INSERT INTO cover SELECT ?, zeroblob(1048576) FROM number
                    """, arguments: [others.data])
        }
        try store.covers.set(nil, of: &film)
        let error = #expect(throws: VaultError.self) { try store.covers.set(Self.other, isOfFeed: true, of: &film) }
        #expect(error?.code == .invalidArgument && film.metadata.cover == nil && !film.metadata.hasFeedCover)
        try store.covers.set(Self.other, of: &film)
        #expect(try cover() == Self.other)
        try store.close()
    }

    // MARK: Changes

    @Test("A reseal seals the cover under the new key, once")
    func resealed() throws {
        let (before, tag) = (try sealed(), try film().coverTag)
        var film = try film()
        _ = try SegmentReseal(store).begin(&film, run: 1)
        #expect(try SegmentReseal(store).finish(&film))
        #expect(try cover() == Self.picture && film.coverTag == tag && film.keyNumber == 2)
        #expect(try sealed() != before && sealed().count == 1)
        try store.erasure.carryOut()
        #expect(try files(with: #require(before.first).prefix(64)) == [])
        try store.close()
    }

    @Test("A change of the locator seals the cover for the new id of its title")
    func renamed() throws {
        let tag = try film().coverTag
        _ = try LocatorChange(store).run(
            noting: vault.log(of: store), queued: { _, _ in nil }, principals: { _, _ in [:] })
        #expect(try store.index.resources.find(id) == nil)
        let renamed = try #require(
            try store.index.resources.page(after: nil, limit: 2).first?.resource, "the title has another id")
        #expect(try store.covers.picture(of: renamed) == Self.picture && renamed.coverTag == tag)
        try store.close()
    }

    @Test("A cover goes with its title: removed, shredded or evicted")
    func gone() throws {
        for name in ["shredded", "evicted"] {
            var title = try store.addMedia(name, length: 9)
            try store.covers.set(Self.other, of: &title)
        }
        _ = try store.resources.remove(id)
        #expect(try sealed().count == 2)
        let shredded = try #require(
            store.keyring.resourceID(
                cacheKey: Array("http://origin.example/shredded".utf8), locator: store.index.locator))
        _ = try Shreds(store).shred(shredded, isQuick: true, noting: vault.log(of: store))
        #expect(try sealed().count == 1)
        let evicted = try #require(try store.index.resources.page(after: nil, limit: 2).first?.id)
        let unit = try #require(try EvictionRows(store.index).unit(evicted))
        let victim = EvictionPlan.Victim(
            resource: evicted, accessed: unit.accessed, segments: unit.segments, isWhole: true, parts: unit.parts)
        #expect(try EvictionRows(store.index).evict([victim], forget: { _ in true }).resources == 1)
        #expect(try sealed().isEmpty)
        try store.close()
    }

    @Test("A rebuilt index has the covers of the backup, but for those of titles that it does not have")
    func rebuilt() throws {
        try store.close()
        let queue = try DatabaseQueue(path: vault.folder + "/catalog.backup", configuration: .withoutForeignKeys)
        try queue.write { db in
            try db.execute(sql: "INSERT INTO cover VALUES (zeroblob(32), x'00'), ((SELECT id FROM resource), 5)")
        }
        try queue.close()
        try TemporaryFolder.remove(vault.folder + "/index.sqlite")
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let again = try vault.open()
        #expect(try cover(in: again) == Self.picture)
        #expect(try again.index.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM cover") } == 1)
        try again.close()
    }

    @Test("A vault without the table opens for readers as it is, and an owner adds the table")
    func older() throws {
        var film = try film()
        try store.covers.set(nil, of: &film)
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let queue = try DatabaseQueue(path: vault.folder + "/" + name)
            try queue.write { try $0.execute(sql: "DROP TABLE cover; PRAGMA user_version = 4") }
            try queue.close()
        }
        let reader = try vault.open(.reader)
        #expect(try cover(in: reader) == nil)
        try reader.close()
        let owner = try vault.open()
        film = try self.film(in: owner)
        try owner.covers.set(Self.other, of: &film)
        #expect(try cover(in: owner) == Self.other)
        #expect(try owner.index.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 6)
        try owner.close()
    }
}

extension Configuration {
    /// Written as by a program without the key.
    fileprivate static var withoutForeignKeys: Configuration {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        return configuration
    }
}
