import Foundation
import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Representations hold ranges and replace each other")
struct RepresentationTests {
    private static let bytes = SeededGenerator.bytes(100_000, seed: 61)

    @Test(
        "Two segments never hold the same byte, and the newer one is refused",
        arguments: [0..<100, 0..<1, 40..<60, 99..<200, 50..<150] as [ByteRange])
    func overlap(range: ByteRange) throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 100_000)
        let first = try #require(try store.store(Array(Self.bytes[0..<100]), at: 0, of: resource))
        let error = #expect(throws: VaultError.self) {
            _ = try store.store(
                Array(Self.bytes[Int(range.lowerBound)..<Int(range.upperBound)]), at: range.lowerBound, of: resource)
        }
        #expect(error?.code == .integrity)
        #expect(try store.index.resources.find(resource.id)?.serving?.segments == [first])
        #expect(try TemporaryFolder.files(below: vault.folder + "/segments").count == 1)
    }

    @Test("Adjacent segments form one held range")
    func neighbours() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 100_000)
        for start in [200, 0, 100] {
            _ = try store.store(Array(Self.bytes[start..<(start + 100)]), at: Int64(start), of: resource)
        }
        let serving = try #require(try store.index.resources.find(resource.id)?.serving)
        #expect(serving.held == ByteRanges(0..<300))
        #expect(serving.segments.map(\.start) == [0, 100, 200])
    }

    @Test("A distant range is kept, and the gap before it is reported")
    func farRange() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 100_000)
        _ = try store.store(Array(Self.bytes[0..<101]), at: 0, of: resource)
        _ = try store.store(Array(Self.bytes[150..<201]), at: 150, of: resource)
        let held = try #require(try store.index.resources.find(resource.id)?.serving?.held)
        #expect(held.gaps(in: 0..<201) == [101..<150])
    }

    @Test("Representations of different titles do not mix")
    func titles() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        var own: [ResourceID: ByteRanges] = [:]
        for (number, name) in ["one", "two", "three"].enumerated() {
            let resource = try store.addMedia(name, length: 100_000)
            for start in [2000, Int64(number)] {
                _ = try store.store(Array(Self.bytes[..<1000]), at: start, of: resource)
            }
            own[resource.id] = ByteRanges([Int64(number)..<Int64(number) + 1000, 2000..<3000])
        }
        #expect(try store.index.resources.totals().segments == 6)
        #expect(try store.index.resources.totals().bytes == 6000)
        let page = try store.index.resources.page(after: nil, limit: 2)
        let rest = try store.index.resources.page(after: page.last?.id, limit: 2)
        #expect(Set((page + rest).compactMap { $0.resource?.metadata.url }).count == 3)
        for (id, resource) in page + rest { #expect(resource?.serving?.held == own[id]) }
        #expect(rest.count == 1)
    }

    @Test("Segments are kept if the length is unknown, and the length can be set later")
    func unknownLength() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        var resource = try store.addMedia("radio", length: nil, supportsRanges: false)
        _ = try store.store(Array(Self.bytes[..<5000]), at: 0, of: resource)
        var information = try #require(try store.index.resources.find(resource.id)?.serving?.info.information)
        #expect(information.length == nil)
        #expect(!information.supportsRanges)
        information.length = 5000
        try store.resources.update(information, of: &resource)
        let stored = try #require(try store.index.resources.find(resource.id)?.serving)
        #expect(stored.info.information.length == 5000)
        #expect(stored.held == ByteRanges(0..<5000), "a newly known length must not cost held bytes")
    }

    @Test("The metadata of a title is stored unchanged, each member with its own type")
    func information() throws {
        let vault = try TemporaryVault()
        let first = try vault.open()
        let informations = [
            ContentInformation(length: nil, type: nil, validators: Validators(), supportsRanges: false),
            ContentInformation(
                length: 0, type: "audio/mpeg", validators: Validators(entityTag: EntityTag("W/\"weak\"")),
                supportsRanges: true),
            ContentInformation(
                length: (1 << 53) - 1, type: "video/mp4; codecs=\"ü/\\\"",
                validators: Validators(
                    entityTag: EntityTag(strong: "ta'g"), lastModified: "Sat, 21 Nov 2026 10:00:00 GMT"),
                supportsRanges: true),
        ]
        for (number, information) in informations.enumerated() {
            var resource = try first.addMedia("film\(number)", length: 7)
            try first.resources.begin(NewRepresentation(information), of: &resource)
            try first.resources.serve(&resource)
        }
        try first.close()
        let again = try vault.open()
        for (number, information) in informations.enumerated() {
            let url = "http://origin.example/film\(number)"
            let id = try #require(vault.keyring.resourceID(cacheKey: Array(url.utf8), locator: again.index.locator))
            let resource = try #require(try again.index.resources.find(id))
            #expect(resource.serving?.info.information == information)
            #expect(resource.serving?.info.sequence == 2)
            #expect(resource.metadata.url == url)
            #expect(resource.metadata.cacheKey == Array(url.utf8))
        }
    }

    @Test("When a new representation is served, the old one's segments and files are removed")
    func replaced() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let added = try store.addMedia("film", length: 100_000)
        let old = try (0..<3).map { number in
            try #require(try store.store(Array(Self.bytes[..<1000]), at: Int64(number) * 1000, of: added))
        }
        var resource = try #require(try store.index.resources.find(added.id))
        let previous = try #require(resource.serving)
        try store.resources.begin(NewRepresentation(previous.info.information), of: &resource)
        #expect(resource.serving?.id != previous.id)
        #expect(resource.serving?.info.sequence == previous.info.sequence + 1)
        let new = try #require(try store.store([1, 2, 3], at: 500, of: resource), "new bytes never mix with old ones")
        let meanwhile = try #require(try store.index.resources.find(added.id)?.serving)
        #expect(meanwhile.id == previous.id)
        #expect(meanwhile.segments == old, "the old representation must be served until the new one takes over")

        try store.resources.serve(&resource)
        for segment in old { #expect(!PosixFileSystem().exists(vault.path(of: segment.id))) }
        let stored = try #require(try store.index.resources.find(added.id)?.serving)
        #expect(stored.id == resource.serving?.id)
        #expect(stored.segments == [new])
        #expect(try store.index.resources.totals().segments == 1)
    }

    @Test("A damaged title is listed, and the others stay readable")
    func damagedInList() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let ids = try ["one", "two", "three"].map { try store.addMedia($0, length: 1).id }
        try store.index.write { db in
            try db.execute(sql: "UPDATE resource SET metadata = zeroblob(284) WHERE id = ?", arguments: [ids[1].data])
        }
        let page = try store.index.resources.page(after: nil, limit: 10)
        #expect(Set(page.map(\.id)) == Set(ids))
        #expect(page.filter { $0.resource == nil }.map(\.id) == [ids[1]])
    }

    @Test("An open segment of the old representation can no longer be committed")
    func lateCommit() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        var resource = try store.addMedia("film", length: 100_000)
        var writer = try store.segments.begin(at: 0, of: resource)
        try writer.append(Self.bytes[..<70_000])
        try store.replaceRepresentation(of: &resource)
        let error = #expect(throws: VaultError.self) { try writer.checkpoint(in: store) }
        #expect(error?.code == .changed)
        try store.expectRefusal(toClose: writer)
        #expect(try store.index.resources.find(resource.id)?.serving?.held.isEmpty == true)
        #expect(try TemporaryFolder.files(below: vault.folder + "/segments").isEmpty)
    }

    @Test("Bytes without a representation are refused with a clear error, never dropped silently")
    func noRepresentation() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let id = try #require(vault.keyring.resourceID(cacheKey: [1], locator: store.index.locator))
        let resource = try store.resources.add(
            id, url: "http://origin.example/x", cacheKey: [1], resourceClass: .pinned)
        #expect(throws: VaultError.self) { _ = try store.segments.begin(at: 0, of: resource) }
        #expect(try store.index.resources.find(id)?.resourceClass == .pinned)
        #expect(throws: VaultError.self, "adding the same resource twice must be refused") {
            _ = try store.resources.add(id, url: "http://origin.example/x", cacheKey: [1], resourceClass: .cache)
        }
    }

    @Test("Fetched bytes are counted across sessions, with and without a commit")
    func counting() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let first = try vault.open(fileSystem: disk)
        let resource = try first.addMedia("film", length: 100_000)
        first.countFetched(40_000)
        #expect(try first.bytesFetched() == 40_000)
        _ = try first.store(Array(Self.bytes[..<40_000]), at: 0, of: resource)
        first.countFetched(5)
        try first.close()
        let second = try vault.open(fileSystem: disk)
        #expect(try second.bytesFetched() == 40_005)
        second.countFetched(1000)
        // A failed commit must not lose the count.
        let error = #expect(throws: VaultError.self) { _ = try second.store([1], at: 0, of: resource) }
        #expect(error?.code == .integrity)
        #expect(try second.bytesFetched() == 41_005)
        disk.fail(.synchronize, of: "/segments/", with: FileFailure(.other(5), "fdatasync: Input/output error"))
        #expect(throws: VaultError.self) { _ = try second.store([1], at: 90_000, of: resource) }
        try second.flushCounters()
        #expect(try vault.open(.reader).bytesFetched() == 41_005)
    }

    @Test("Last-access times are rounded to the hour")
    func accessed() throws {
        let vault = try TemporaryVault()
        let clock = TestClock(at: 1_700_003_599)
        let store = try vault.open(now: { clock.now })
        let resource = try store.addMedia("film", length: 1)
        #expect(resource.accessed == 1_700_003_599 - 1_700_003_599 % 3600)
        try store.index.resources.touch([resource.id], now: clock.now + 7200)
        #expect(try store.index.resources.find(resource.id)?.accessed == resource.accessed + 7200)
        try store.index.resources.touch([resource.id], now: clock.now)
        #expect(
            try store.index.resources.find(resource.id)?.accessed == resource.accessed + 7200,
            "the last-access time must never go back")
        #expect(resource.accessed.isMultiple(of: 3600))
    }
}
