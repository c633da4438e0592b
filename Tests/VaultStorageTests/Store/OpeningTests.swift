import Foundation
import GRDB
import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Opening a vault touches only unfinished work")
struct OpeningTests {
    private static let bytes = SeededGenerator.bytes(200_000, seed: 51)

    @Test("Opening touches no closed segment")
    func closedSegments() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 200_000)
        for number in 0..<200 { _ = try store.store([UInt8(number)], at: Int64(number * 10), of: resource) }
        try store.close()
        let disk = vault.simulatedFileSystem()
        let opened = try vault.open(fileSystem: disk)
        for operation in [FileOperation.open, .create, .write, .synchronize, .synchronizeDirectory, .remove, .rename] {
            #expect(disk.count(operation) == 0, "\(operation)")
        }
        #expect(try opened.index.resources.find(resource.id)?.serving?.held.byteCount == 200)
    }

    @Test("A folder that this user may not read is not reported as a folder without a vault")
    func notPermitted() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let nowhere = VaultStore.absence(at: vault.folder + "/nowhere", fileSystem: disk)
        #expect(nowhere.code == .noVault)
        disk.fail(.list, with: FileFailure(.notPermitted, "open: Permission denied"))
        let refused = VaultStore.absence(at: vault.folder, fileSystem: disk)
        #expect(refused.code == .storage && refused.message.contains("cannot read the folder"))
    }

    /// A vault whose owner ended during a write, with two committed blocks and more bytes in the file.
    private static func abandonedSegment(
        _ change: (any StoredFile, SegmentDescription) throws -> Void = { _, _ in }
    ) throws -> (vault: TemporaryVault, resource: ResourceID, segment: SegmentID) {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 200_000)
        var writer = try store.segments.begin(at: 1000, of: resource)
        try writer.append(bytes[1000..<80_000])
        try writer.checkpoint(in: store)
        try writer.append(bytes[80_000..<110_000])
        let file = try PosixFileSystem().open(vault.path(of: writer.segment.id), writable: true)
        try change(file, writer.segment)
        return (vault, resource.id, writer.segment.id)
    }

    @Test("An open segment is closed after its last complete block, including uncommitted blocks")
    func recovered() throws {
        let (vault, resource, id) = try Self.abandonedSegment()
        let store = try vault.open()
        let stored = try #require(try store.index.resources.find(resource))
        #expect(stored.serving?.held == ByteRanges(1000..<(1000 + 3 * 32_768)))
        for run in try store.read(stored) {
            #expect(run.bytes == Array(Self.bytes[Int(run.start)..<(Int(run.start) + run.bytes.count)]))
        }
        #expect(try SegmentRows(store.index).openSegments().isEmpty)
        let file = try PosixFileSystem().open(vault.path(of: id), writable: false)
        #expect(try file.size() == stored.serving?.segments.first?.fileSize)
    }

    @Test("An open segment is truncated before its first bad block, as after a torn write")
    func torn() throws {
        let (vault, resource, id) = try Self.abandonedSegment { file, segment in
            try file.write([1, 2, 3], at: segment.fileOffset(ofBlock: 2) + 700)
            try file.write([UInt8](repeating: 9, count: 777), at: segment.fileSize)
        }
        let store = try vault.open()
        let stored = try #require(try store.index.resources.find(resource))
        #expect(stored.serving?.held == ByteRanges(1000..<(1000 + 2 * 32_768)))
        let file = try PosixFileSystem().open(vault.path(of: id), writable: false)
        #expect(try file.size() == stored.serving?.segments.first?.fileSize)
    }

    @Test("An open segment without a good block is removed completely", arguments: [Int64(40), 100])
    func nothingGood(offset: Int64) throws {
        let (vault, resource, id) = try Self.abandonedSegment { file, _ in try file.write([1, 2, 3], at: offset) }
        let store = try vault.open()
        #expect(try store.index.resources.find(resource)?.serving?.held.isEmpty == true)
        #expect(try store.index.resources.totals().segments == 0)
        #expect(!PosixFileSystem().exists(vault.path(of: id)))
    }

    @Test("A recovered segment that cannot be synced is removed, and its sync is not retried")
    func failedSync() throws {
        let (vault, resource, id) = try Self.abandonedSegment()
        let disk = vault.simulatedFileSystem()
        disk.fail(.synchronize, of: id.hex, with: FileFailure(.other(5), "fdatasync: Input/output error"))
        let store = try vault.open(fileSystem: disk)
        #expect(disk.count(.synchronize, of: id.hex) == 1)
        #expect(try store.index.resources.find(resource)?.serving?.held.isEmpty == true)
        #expect(!PosixFileSystem().exists(vault.path(of: id)))
    }

    @Test("A segment that cannot be opened keeps its row, and the vault opens")
    func unreadable() throws {
        let (vault, resource, id) = try Self.abandonedSegment()
        let disk = vault.simulatedFileSystem()
        disk.fail(.open, of: id.hex, with: FileFailure(.notPermitted, "open: Permission denied"))
        let store = try vault.open(fileSystem: disk)
        #expect(try store.index.resources.find(resource)?.serving?.held == ByteRanges(1000..<(1000 + 2 * 32_768)))
        try store.close()
        #expect(
            try vault.open().index.resources.find(resource)?.serving?.held == ByteRanges(1000..<(1000 + 3 * 32_768)))
    }

    @Test("A recovered segment whose bytes are held by another one is removed, and the vault opens")
    func overlapping() throws {
        let (vault, resource, id) = try Self.abandonedSegment()
        // Adds a closed segment over bytes of the open segment that are not committed.
        let start = Int64(1000 + 2 * 32_768)
        let copy = try vault.openBesideItself()
        let stored = try #require(try copy.index.resources.find(resource))
        let other = try #require(
            try copy.store(Array(Self.bytes[Int(start)..<(Int(start) + 500)]), at: start, of: stored))
        try copy.close()
        let store = try vault.open()
        let held = try #require(try store.index.resources.find(resource)?.serving)
        #expect(held.segments.map(\.id) == [other.id])
        #expect(!PosixFileSystem().exists(vault.path(of: id)))
    }

    @Test("The next owner finishes pending deletions")
    func pendingDeletions() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 200_000)
        let ids = try (0..<300).map { try #require(try store.store([1], at: $0 * 10, of: resource)).id }
        for id in ids { try SegmentRows(store.index).drop(id, deletesFile: true) }
        try store.close()
        let opened = try vault.open()
        #expect(try opened.index.resources.totals().pendingDeletions == 0)
        #expect(ids.allSatisfy { !PosixFileSystem().exists(vault.path(of: $0)) })
    }

    @Test("A file without a pending deletion is never deleted")
    func stray() throws {
        let vault = try TemporaryVault()
        let stray = vault.folder + "/segments/ab/ab00000000000000000000000000abcd"
        let foreign = vault.folder + "/segments/notes.txt"
        for path in [stray, foreign] { try PosixFileSystem().create(path).write([1, 2, 3], at: 0) }
        for _ in 0..<2 {
            let store = try vault.open()
            let resource = try store.addMedia("film\(UInt64.random(in: 0 ..< .max))", length: 100)
            _ = try store.store([1, 2, 3], at: 0, of: resource)
            try store.close()
        }
        #expect(try PosixFileSystem().contents(of: stray) == [1, 2, 3])
        #expect(try PosixFileSystem().contents(of: foreign) == [1, 2, 3])
    }

    @Test("A damaged title with an open segment does not prevent other titles from opening")
    func damagedTitle() throws {
        let (vault, resource, id) = try Self.abandonedSegment()
        let store = try vault.openBesideItself()
        let other = try store.addMedia("other", length: 100)
        _ = try store.store([1, 2, 3], at: 0, of: other)
        try store.index.write { db in
            try db.execute(sql: "UPDATE resource SET metadata = zeroblob(284) WHERE id = ?", arguments: [resource.data])
        }
        try store.close()
        let opened = try vault.open()
        #expect(try opened.index.resources.find(other.id)?.serving?.held == ByteRanges(0..<3))
        #expect(
            PosixFileSystem().exists(vault.path(of: id)),
            "the bytes of the damaged title are unknown, so its file must stay")
    }
}

extension TemporaryVault {
    /// Opens the vault without recovery, like an owner that never ended.
    fileprivate func openBesideItself() throws -> VaultStore {
        let disk = simulatedFileSystem()
        disk.fail(.open, of: "/segments/", lasting: true, with: FileFailure(.notPermitted, "open: Permission denied"))
        let store = try open(fileSystem: disk)
        disk.mend()
        return store
    }
}
