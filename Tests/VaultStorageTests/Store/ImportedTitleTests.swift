import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A title that is imported is in the index whole, or not at all")
struct ImportedTitleTests {
    private static let bytes = SeededGenerator.bytes(400_000, seed: 43)

    private static func begin(_ store: VaultStore) throws -> StoredResource {
        let cacheKey = Array("http://origin.example/film".utf8)
        let id = try #require(store.keyring.resourceID(cacheKey: cacheKey, locator: store.index.locator))
        let information = ContentInformation(
            length: 400_000, type: "video/mp4", validators: Validators(), supportsRanges: true)
        let metadata = ResourceMetadata(url: "http://origin.example/film", cacheKey: cacheKey, created: 1)
        return try store.imports.begin(id, metadata, as: .pinned, information)
    }

    /// Stores two segments.
    private static func fill(_ imported: inout StoredResource, in store: VaultStore) throws -> [SegmentID] {
        var begun: [SegmentID] = []
        for range in [0..<250_000, 250_000..<400_000] {
            var writer = try store.imports.beginSegment(at: Int64(range.lowerBound), of: imported, WriteEstimate()) {
                begun.append($0)
            }
            try writer.append(bytes[range])
            imported.serving?.segments.append(try store.imports.closeSegment(writer))
        }
        return begun
    }

    @Test("After a power loss at any point, the title is whole or unknown, and no file stays without a row")
    func powerLoss() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        let copies = try TemporaryFolder()
        let points = Mutex(0)
        let isDone = Mutex(false)
        let id = try Self.begin(store).id
        @Sendable func losePower(_ what: String) {
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for seed in UInt64(0)..<2 {
                let copy = copies.path + "/\(point)-\(seed)"
                let comment: Comment = "power loss \(point) \(what), outcome \(seed)"
                do {
                    try disk.loseEverythingUnsynced(tearing: UInt64(point) << 1 | seed, into: copy)
                    let store = try VaultStore.open(at: copy + "/vault", keyring: vault.keyring, access: .owner)
                    let resource = try store.index.resources.find(id)
                    if let resource {
                        #expect(resource.metadata.name == "A film" && resource.resourceClass == .pinned, comment)
                        #expect(try store.segments.bytes(0..<400_000, of: resource) == Self.bytes, comment)
                    } else {
                        #expect(!isDone.withLock { $0 }, comment)
                    }
                    let totals = try store.index.resources.totals()
                    #expect(totals.pendingDeletions == 0 && totals.segments == (resource == nil ? 0 : 2), comment)
                    let files = try TemporaryFolder.files(below: copy + "/vault/segments")
                    #expect(files.count == totals.segments, comment)
                    try store.close()
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        disk.observe { losePower("before \($0.operation)") }
        var imported = try Self.begin(store)
        _ = try Self.fill(&imported, in: store)
        _ = try store.imports.finish(imported) { $0.name = "A film" }
        isDone.withLock { $0 = true }
        losePower("after the end")
        disk.observe(nil)
        #expect(points.withLock { $0 } > 10)
    }

    @Test("If bytes of the title were stored meanwhile, it fails, and changes neither name nor class nor bytes")
    func storedMeanwhile() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        var imported = try Self.begin(store)
        let begun = try Self.fill(&imported, in: store)
        let resource = try store.addMedia("film", length: 400_000)
        #expect(resource.id == imported.id, "premise")
        _ = try store.store(Array(Self.bytes[..<1000]), at: 0, of: resource)
        let error = #expect(throws: VaultError.self) {
            try store.imports.finish(imported) { $0.name = "A film" }
        }
        #expect(error?.code == .inUse)
        try store.imports.drop(begun)
        let kept = try #require(try store.index.resources.find(resource.id))
        #expect(kept.metadata.name == nil && kept.resourceClass == .cache && kept.serving?.held == ByteRanges(0..<1000))
        #expect(try TemporaryFolder.files(below: vault.folder + "/segments").count == 1)
        #expect(try store.index.resources.totals().pendingDeletions == 0)
        try store.close()
    }
}
