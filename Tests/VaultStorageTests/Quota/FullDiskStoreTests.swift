import Foundation
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The vault works on a full disk, even if SQLite has no free byte", .timeLimit(.minutes(2)))
struct FullDiskStoreTests {
    private static let full = FileFailure(.noSpace, "pwrite: No space left on device")
    private static let bytes = SeededGenerator.bytes(300_000, seed: 61)

    private static func title(
        _ store: VaultStore, _ name: String, segments: Int = 1, _ resourceClass: ResourceClass = .cache
    ) throws -> StoredResource {
        let resource = try store.addMedia(name, length: 300_000, resourceClass: resourceClass)
        for number in 0..<segments {
            let start = number * 40_000
            _ = try store.store(Array(bytes[start..<(start + 40_000)]), at: Int64(start), of: resource)
        }
        return resource
    }

    /// Reads all held ranges of the index; every file must exist and contain the right bytes.
    private static func bytesHeld(_ store: VaultStore, _ id: ResourceID) throws -> Int {
        guard let resource = try store.index.resources.find(id) else { return 0 }
        return try store.read(resource).reduce(0) { sum, run in
            let first = Int(run.start)
            #expect(run.bytes == Array(bytes[first..<(first + run.bytes.count)]))
            return sum + run.bytes.count
        }
    }

    @Test(
        "Pending deletions are tried once even if the index cannot be written, and finished later"
    )
    func pendingDeletions() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        var title = try Self.title(store, "film", segments: 5)
        title = try #require(try store.index.resources.find(title.id))
        disk.fail(.remove, of: "/segments/", lasting: true, with: FileFailure(.other(5), "unlink: Input/output error"))
        try store.replaceRepresentation(of: &title)
        disk.mend()
        #expect(try store.index.resources.totals().pendingDeletions == 5)
        disk.fail(.write, of: "index.sqlite", lasting: true, with: Self.full)
        try store.removal.finish()
        #expect(try TemporaryFolder.files(below: vault.folder + "/segments").isEmpty)
        #expect(
            try store.index.resources.totals().pendingDeletions == 5,
            "the index was written, so this test proves nothing")
        disk.mend()
        Recovery(store).finishPendingWork()
        #expect(try store.index.resources.totals().pendingDeletions == 0)
        try store.close()
    }

    /// A copy of the vault of an owner that was killed during several operations.
    private struct Killed {
        let vault: TemporaryVault
        let copy: TemporaryFolder
        let held: ResourceID
        let disk: SimulatedFileSystem
        var folder: String { copy.path + "/vault" }

        init(hasReserve: Bool) throws {
            vault = try TemporaryVault()
            copy = try TemporaryFolder()
            let store = try vault.open()
            if hasReserve { store.quota.keepReserve() }
            held = try FullDiskStoreTests.title(store, "held", segments: 3, .download).id
            // A representation that serves nothing yet, and the pending deletions that it causes when it is replaced.
            var renewed = try #require(
                try store.index.resources.find(FullDiskStoreTests.title(store, "renewed", segments: 2).id))
            let information = try #require(renewed.serving).info.information
            try store.resources.begin(NewRepresentation(information), of: &renewed)
            _ = try store.store(Array(FullDiskStoreTests.bytes[..<40_000]), at: 0, of: renewed)
            // One segment with blocks, and one without.
            let growing = try store.addMedia("growing", length: 300_000)
            var writer = try store.segments.begin(at: 0, of: growing)
            try writer.append(FullDiskStoreTests.bytes[..<70_000])
            try store.segments.checkpoint(&writer)
            try writer.append(FullDiskStoreTests.bytes[70_000..<140_000])
            let empty = try store.segments.begin(at: 200_000, of: growing)
            // A receipt that the index has not recorded yet.
            try vault.log(of: store).note(.rewrap)
            try FileManager.default.copyItem(atPath: vault.folder, toPath: copy.path + "/vault")
            #expect(try SegmentRows(store.index).openSegments().count == 2)
            _ = try store.segments.close(writer)
            _ = try store.segments.close(empty)
            try store.close()
            disk = SimulatedFileSystem(root: copy.path, seesIndex: true)
        }

        func open() throws -> VaultStore {
            try VaultStore.open(at: folder, keyring: vault.keyring, access: .owner, fileSystem: disk)
        }
    }

    @Test(
        "After a kill during a fetch the vault opens, held bytes are readable, and recovery waits for free space")
    func killed() throws {
        let killed = try Killed(hasReserve: false)
        killed.disk.fail(.write, of: "index.sqlite-wal", lasting: true, with: Self.full)
        let store = try killed.open()
        #expect(try Self.bytesHeld(store, killed.held) == 120_000)
        #expect(throws: VaultError.self) { try store.changeSettings { $0.bytesFetched += 1 } }
        #expect(try SegmentRows(store.index).openSegments().count == 2)
        try? store.close()
        killed.disk.mend()
        let next = try killed.open()
        #expect(
            try SegmentRows(next.index).openSegments().isEmpty && next.index.resources.totals().pendingDeletions == 0)
        #expect(try Self.bytesHeld(next, killed.held) == 120_000)
        let files = try TemporaryFolder.files(below: killed.folder + "/segments")
        #expect(files.count == (try next.index.resources.totals().segments))
        try next.close()
    }

    @Test("With its reserve an owner recovers everything at once on a disk without a free byte")
    func reserve() throws {
        let killed = try Killed(hasReserve: true)
        #expect(try PosixFileSystem().size(of: killed.folder + "/reserve") == Reserve.byteCount)
        killed.disk.fill(leaving: 0)
        let store = try killed.open()
        #expect(
            try SegmentRows(store.index).openSegments().isEmpty && store.index.resources.totals().pendingDeletions == 0)
        #expect(try Self.bytesHeld(store, killed.held) == 120_000)
        #expect(try PosixFileSystem().size(of: killed.folder + "/reserve") < Reserve.byteCount)
        killed.disk.fill(leaving: 0)
        try? store.close()
        killed.disk.fill(leaving: nil)
        let next = try killed.open()
        next.quota.keepReserve()
        #expect(
            try PosixFileSystem().size(of: killed.folder + "/reserve") == Reserve.byteCount,
            "the reserve must be restored when there is space again")
        try next.close()
    }

    @Test("Removing, pruning and changing settings work without a free byte by using the reserve", arguments: 0..<3)
    func acts(act: Int) throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        let title = try Self.title(store, "film", segments: 3, act == 0 ? .pinned : .cache)
        let cold = try Self.title(store, "other", segments: 3, .pinned)
        try store.index.database.truncateLog()
        store.quota.keepReserve()
        disk.fill(leaving: 0)
        switch act {
        case 0: #expect(try store.resources.remove(title.id) == 3 * 40_960)
        case 1: #expect(try store.quota.prune(StorageLimits(maxSize: 3 * 40_960)).bytes == 3 * 40_960)
        default: try store.changeSettings { $0.limits = StorageLimits(maxSize: 5) }
        }
        let reserve = { try PosixFileSystem().size(of: vault.folder + "/reserve") }
        #expect(try reserve() < Reserve.byteCount, "the disk was not full, so this test proves nothing")
        #expect(try Self.bytesHeld(store, cold.id) == 120_000)
        #expect(try Self.bytesHeld(store, title.id) == (act == 2 ? 120_000 : 0))
        disk.fill(leaving: nil)
        Recovery(store).finishPendingWork()
        #expect(try reserve() == Reserve.byteCount)
        try store.close()
    }

    @Test("If the index cannot be written, no file is removed, so that no row is left without its file")
    func rowsFirst() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        let titles = try (0..<3).map { try Self.title(store, "film \($0)", segments: 2) }
        disk.fail(.write, of: "index.sqlite", lasting: true, with: Self.full)
        #expect(!store.quota.freeDiskSpace())
        disk.mend()
        for title in titles { #expect(try Self.bytesHeld(store, title.id) == 80_000) }
        #expect(store.quota.freeDiskSpace(), "nothing could be evicted, so this test proves nothing")
        #expect(try titles.map { try Self.bytesHeld(store, $0.id) }.reduce(0, +) < 240_000)
        try store.close()
    }

    @Test("If a segment cannot be created on a full disk and its row cannot be removed, the row is removed later")
    func abandoned() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        let title = try store.addMedia("film", length: 300_000)
        disk.fail(.create, of: "/segments/", with: Self.full)
        // The row is written, but its removal fails.
        let index = store.index
        disk.observe { call in
            guard call.operation == .create, call.path.contains("/segments/") else { return }
            disk.fail(.write, of: "index.sqlite", lasting: true, with: Self.full)
        }
        #expect(throws: VaultError.self) { _ = try store.segments.begin(at: 0, of: title) }
        disk.observe(nil)
        #expect(try SegmentRows(index).openSegments().count == 1)
        disk.mend()
        Recovery(store).finishPendingWork()
        #expect(try SegmentRows(index).openSegments().isEmpty && index.resources.totals().pendingDeletions == 0)
        try store.close()
    }

    @Test("A range reported as stored survives a power loss in which SQLite loses its unsynced data")
    func synced() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        let title = try store.addMedia("film", length: 300_000)
        var writer = try store.segments.begin(at: 0, of: title)
        try writer.append(Self.bytes[..<70_000])
        let copies = try TemporaryFolder()
        func held(_ name: String) throws -> [Int64] {
            try (UInt64(0)..<6).map { seed in
                let copy = copies.path + "/\(name)-\(seed)"
                try disk.loseEverythingUnsynced(tearing: seed, into: copy)
                let opened = try VaultStore.open(at: copy + "/vault", keyring: vault.keyring, access: .reader)
                defer { try? opened.close() }
                return try opened.index.resources.find(title.id)?.serving?.held.byteCount ?? -1
            }
        }
        #expect(try held("before").contains(-1), "no unsynced data was lost, so this test proves nothing")
        try store.segments.checkpoint(&writer)
        #expect(try held("checkpoint") == Array(repeating: 65_536, count: 6))
        try writer.append(Self.bytes[70_000..<150_000])
        _ = try store.segments.close(writer)
        #expect(try held("close") == Array(repeating: 150_000, count: 6))
        try store.index.database.truncateLog()
        #expect(try held("emptied") == Array(repeating: 150_000, count: 6))
        try store.close()
    }
}
