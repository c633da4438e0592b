import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A rebuild of the index never leaves an unfinished index in place of the old one")
struct IndexRebuildTests {
    private static let bytes = SeededGenerator.bytes(300_000, seed: 71)

    /// A vault with one title in two segments, with a bad block in the second.
    private static func filled() throws -> (vault: TemporaryVault, resource: ResourceID) {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 300_000, resourceClass: .pinned)
        _ = try store.store(Array(bytes[..<150_000]), at: 0, of: resource)
        let second = try #require(try store.store(Array(bytes[150_000...]), at: 150_000, of: resource))
        try store.close()
        let file = try PosixFileSystem().open(vault.path(of: second.id), writable: true)
        try file.write([1, 2, 3], at: second.fileOffset(ofBlock: 1) + 9)
        return (vault, resource.id)
    }

    private static let held = ByteRanges([0..<182_768, 215_536..<300_000])

    private static func rebuild(
        _ folder: String, _ keyring: Keyring, on fileSystem: any FileSystem = PosixFileSystem(), force: Bool = true
    ) throws -> IndexRebuild.Counts {
        let rebuild = try IndexRebuild(at: folder, keyring: keyring, evenIfSound: force, fileSystem: fileSystem)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        return try rebuild.finish()
    }

    private static func check(_ folder: String, _ keyring: Keyring, _ id: ResourceID, _ comment: Comment) throws {
        let store = try VaultStore.open(at: folder, keyring: keyring, access: .owner)
        let resource = try #require(try store.index.resources.find(id), comment)
        #expect(resource.resourceClass == .pinned, comment)
        #expect(resource.serving?.held == held, comment)
        for run in try store.read(resource) {
            #expect(run.bytes == Array(bytes[Int(run.start)..<(Int(run.start) + run.bytes.count)]), comment)
        }
        try store.close()
    }

    @Test("A power loss leaves the old index, the complete new one, or none and everything to rebuild it from")
    func powerLoss() throws {
        let (vault, id) = try Self.filled()
        // The old index does not know the bad block; once damaged, it does not open as a vault.
        try PosixFileSystem().open(vault.folder + "/index.sqlite", writable: true).write(
            [UInt8](repeating: 0, count: 100), at: 0)
        let disk = vault.simulatedFileSystem()
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        let points = Mutex(0)
        let whole = Mutex(0)
        @Sendable func losePower(_ what: String) {
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for outcome in UInt64(0)..<4 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "power loss \(point) \(what), seed \(seed), outcome \(outcome)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ UInt64(point)) << 2 | outcome, into: copy)
                    let folder = copy + "/vault"
                    do {
                        try Self.check(folder, vault.keyring, id, comment)
                        whole.withLock { $0 += 1 }
                    } catch let error as VaultError {
                        #expect(error.code == .integrity && error.hint == .rebuildIndex, comment)
                        _ = try Self.rebuild(folder, vault.keyring, force: false)
                        try Self.check(folder, vault.keyring, id, comment)
                    }
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        disk.observe { call in
            // Listing a folder changes nothing.
            if call.operation != .list { losePower("before \(call.operation) of \(call.path.suffix(24))") }
        }
        let counts = try Self.rebuild(vault.folder, vault.keyring, on: disk, force: false)
        disk.observe(nil)
        losePower("after the end")
        #expect(counts.segments == 2 && counts.badBlocks == 1)
        #expect(points.withLock { $0 } > 12 && whole.withLock { $0 } >= 4)
    }

    @Test("After file system failures during a rebuild, the index can still be rebuilt", arguments: 1...6)
    func refused(number: Int) throws {
        let (vault, id) = try Self.filled()
        for operation in [FileOperation.rename, .synchronizeDirectory, .synchronize, .create] {
            let disk = vault.simulatedFileSystem()
            disk.fail(operation, of: "index.sqlite", number: number, with: FileFailure(.other(5), "Input/output error"))
            disk.fail(operation, of: vault.folder + "/", number: 50, with: FileFailure(.other(5), "Input/output error"))
            do {
                let rebuild = try IndexRebuild(
                    at: vault.folder, keyring: vault.keyring, evenIfSound: true, fileSystem: disk)
                do {
                    for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
                    _ = try rebuild.finish()
                } catch {
                    rebuild.discard()
                }
            } catch is VaultError {
            }
            _ = try Self.rebuild(vault.folder, vault.keyring)
            try Self.check(vault.folder, vault.keyring, id, "\(operation) \(number)")
        }
    }

    @Test("A representation that was incomplete in the backup serves if it is the only one with segments")
    func filling() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        var resource = try store.addMedia("film", length: 300_000)
        _ = try store.store(Array(Self.bytes[..<1000]), at: 0, of: resource)
        try store.resources.begin(NewRepresentation(try #require(resource.serving).info.information), of: &resource)
        let newer = try #require(resource.serving).id
        try store.catalogBackup.write()
        _ = try store.store(Array(Self.bytes[..<90_000]), at: 0, of: resource)
        try store.resources.serve(&resource)
        // The owner is killed, so the backup does not change.
        let copy = vault.above.path + "-killed"
        defer { try? TemporaryFolder.remove(copy) }
        try vault.simulatedFileSystem().loseEverythingUnsynced(tearing: 1, into: copy)
        let counts = try Self.rebuild(copy + "/vault", vault.keyring)
        #expect(counts.segments == 1)
        let opened = try VaultStore.open(at: copy + "/vault", keyring: vault.keyring, access: .owner)
        let serving = try #require(try opened.index.resources.find(resource.id)?.serving)
        #expect(serving.id == newer && serving.held == ByteRanges(0..<90_000))
        try opened.close()
    }

    @Test("A file that cannot be read stays in place, and can be adopted later")
    func unreadable() throws {
        let (vault, id) = try Self.filled()
        let store = try vault.open(.reader)
        let first = try #require(try store.index.resources.find(id)?.serving?.segments.first)
        try store.close()
        let disk = vault.simulatedFileSystem()
        disk.fail(.open, of: first.id.hex, lasting: true, with: FileFailure(.other(5), "open: Input/output error"))
        let counts = try Self.rebuild(vault.folder, vault.keyring, on: disk)
        #expect(counts.unknown == 1 && counts.segments == 1 && counts.quarantined == 0)
        let owner = try vault.open()
        let claimed = try #require(try UnindexedFiles(owner).claim(of: first.id))
        #expect(claimed.fits && claimed.segment == first)
        #expect(try UnindexedFiles(owner).adopt(claimed.segment))
        #expect(try owner.index.resources.find(id)?.serving?.held == Self.held)
        try owner.close()
    }
}
