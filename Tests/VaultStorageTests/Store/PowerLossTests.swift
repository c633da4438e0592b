import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A power loss costs only unsynced data, as shown by a simulated file system")
struct PowerLossTests {
    /// The ranges that the store has reported as held.
    private final class Promises: Sendable {
        let held = Mutex<[ResourceID: ByteRanges]>([:])

        func note(_ resource: ResourceID, _ ranges: ByteRanges) { held.withLock { $0[resource] = ranges } }
    }

    private static let bytes = SeededGenerator.bytes(400_000, seed: 41)

    /// Opens a copy of the disk, and checks that all held bytes are right and that all promised ranges are held.
    private static func check(
        _ copy: String, _ keyring: Keyring, promised: [ResourceID: ByteRanges], _ comment: Comment
    ) throws {
        let store = try VaultStore.open(at: copy + "/vault", keyring: keyring, access: .owner)
        for entry in try store.index.resources.page(after: nil, limit: 100) {
            let resource = try #require(entry.resource, comment)
            for run in try store.read(resource) {
                let first = Int(run.start)
                #expect(run.bytes == Array(bytes[first..<(first + run.bytes.count)]), comment)
            }
        }
        for (id, ranges) in promised {
            let held = try store.index.resources.find(id)?.serving?.held ?? ByteRanges()
            #expect(ranges.subtracting(held).isEmpty, comment)
        }
        #expect(try SegmentRows(store.index).openSegments().isEmpty, comment)
        #expect(try store.index.resources.totals().pendingDeletions == 0, comment)
        let files = try TemporaryFolder.files(below: copy + "/vault/segments")
        #expect(files.count == (try store.index.resources.totals().segments), "a file has no row: \(comment)")
        try store.close()
    }

    @Test(
        "After a power loss at any point of a fetch, all promised ranges are held and all bytes are right"
    )
    func everyPoint() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let promises = Promises()
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        let points = Mutex(0)
        @Sendable func losePower(_ what: String) {
            let point = points.withLock {
                $0 += 1
                return $0
            }
            let promised = promises.held.withLock { $0 }
            for outcome in UInt64(0)..<4 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "power loss \(point) \(what), seed \(seed), outcome \(outcome)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ UInt64(point)) << 2 | outcome, into: copy)
                    try Self.check(copy, vault.keyring, promised: promised, comment)
                } catch {
                    Issue.record(error, comment)
                }
                try? Self.remove(copy)
            }
        }
        disk.observe { losePower("before \($0.operation)") }

        var resource = try store.addMedia("film", length: 400_000)
        let id = resource.id
        _ = try store.store(Array(Self.bytes[200_000..<300_001]), at: 200_000, of: resource)
        promises.note(id, ByteRanges(200_000..<300_001))
        var writer = try store.segments.begin(at: 0, of: resource)
        try writer.append(Self.bytes[..<90_000])
        try writer.checkpoint(in: store)
        promises.note(id, ByteRanges([0..<65_536, 200_000..<300_001]))
        try writer.append(Self.bytes[90_000..<150_000])
        _ = try store.segments.close(writer)
        promises.note(id, ByteRanges([0..<150_000, 200_000..<300_001]))
        losePower("after the fill")
        // Stores the same bytes in a new representation. The old one is served until the new one takes over.
        resource = try #require(try store.index.resources.find(id))
        try store.resources.begin(NewRepresentation(try #require(resource.serving).info.information), of: &resource)
        _ = try store.store(Array(Self.bytes[..<50_000]), at: 0, of: resource)
        promises.note(id, ByteRanges(0..<50_000))
        try store.resources.serve(&resource)
        disk.observe(nil)
        losePower("after the end")
        #expect(points.withLock { $0 } > 25)
    }

    @Test("Bytes of a failed sync are never reported as held after a power loss")
    func failedSync() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let resource = try store.addMedia("film", length: 400_000)
        var writer = try store.segments.begin(at: 0, of: resource)
        try writer.append(Self.bytes[..<100_000])
        disk.fail(.synchronize, of: "/segments/", with: FileFailure(.other(5), "fdatasync: Input/output error"))
        #expect(throws: VaultError.self) { try writer.checkpoint(in: store) }
        try store.expectRefusal(toClose: writer)
        let copies = try TemporaryFolder()
        for seed in UInt64(0)..<8 {
            let copy = copies.path + "/\(seed)"
            try disk.loseEverythingUnsynced(tearing: seed, into: copy)
            let opened = try VaultStore.open(at: copy + "/vault", keyring: vault.keyring, access: .reader)
            #expect(try opened.index.resources.find(resource.id)?.serving?.held.isEmpty == true)
        }
    }

    @Test("A vault after a power loss during its creation is either complete or not a vault")
    func creation() throws {
        let above = try TemporaryFolder()
        let disk = SimulatedFileSystem(root: above.path)
        let copies = try TemporaryFolder()
        let keyring = try TestKeyring.make()
        let made = Mutex(0)
        let isMade = Mutex(false)
        @Sendable func losePower(_ name: String) {
            for seed in UInt64(0)..<4 {
                let copy = copies.path + "/\(name)-\(seed)"
                do {
                    try disk.loseEverythingUnsynced(tearing: seed, into: copy)
                    if VaultStore.exists(at: copy + "/vault") {
                        let store = try VaultStore.open(at: copy + "/vault", keyring: keyring, access: .owner)
                        let resource = try store.addMedia("film", length: 400_000)
                        #expect(try store.store(Array(Self.bytes[..<1000]), at: 0, of: resource) != nil)
                        try store.close()
                        made.withLock { $0 += 1 }
                    } else {
                        #expect(!isMade.withLock { $0 }, "the created vault is gone: \(name), seed \(seed)")
                    }
                } catch {
                    Issue.record(error, "\(name), seed \(seed)")
                }
                try? Self.remove(copy)
            }
        }
        disk.observe { call in
            guard !call.path.contains("/segments/") else { return }
            losePower("\(call.operation)")
        }
        try VaultStore.create(at: above.path + "/vault", keyring: keyring, fileSystem: disk)
        disk.observe(nil)
        isMade.withLock { $0 = true }
        losePower("at the end")
        #expect(made.withLock { $0 } >= 4)
    }

    @Test("A power loss during a backup leaves the old backup or the new one")
    func backup() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        _ = try store.addMedia("one", length: 1)
        try store.catalogBackup.write()
        _ = try store.addMedia("two", length: 2)
        let copies = try TemporaryFolder()
        let counts = Mutex<Set<Int>>([])
        disk.observe { call in
            for seed in UInt64(0)..<8 {
                let copy = copies.path + "/\(call.operation)-\(seed)"
                do {
                    try disk.loseEverythingUnsynced(tearing: seed, into: copy)
                    // Between two renames, the newest copy has the name of the previous one.
                    let copies = CatalogFiles(in: copy + "/vault")
                    let count = try CatalogBackupTests.resourceCount(
                        #require(copies.all.first { PosixFileSystem().exists($0) }))
                    #expect(count == 1 || count == 2)
                    counts.withLock { _ = $0.insert(count) }
                } catch {
                    Issue.record(error, "before \(call.operation), seed \(seed)")
                }
                try? Self.remove(copy)
            }
        }
        try store.catalogBackup.write()
        disk.observe(nil)
        #expect(counts.withLock { $0 } == [1, 2])
    }

    private static func remove(_ path: String) throws {
        try TemporaryFolder.remove(path)
    }
}
