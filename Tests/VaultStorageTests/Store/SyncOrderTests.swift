import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The index reports a range only after its data is durable")
struct SyncOrderTests {
    private static let noSpace = FileFailure(.noSpace, "pwrite: No space left on device")
    private static let broken = FileFailure(.other(5), "fdatasync: Input/output error")

    private struct Stage {
        let vault: TemporaryVault
        let disk: SimulatedFileSystem
        let store: VaultStore
        let resource: StoredResource
        let bytes = SeededGenerator.bytes(200_000, seed: 31)

        init() throws {
            vault = try TemporaryVault()
            disk = vault.simulatedFileSystem()
            store = try vault.open(fileSystem: disk)
            resource = try store.addMedia("film", length: 200_000)
        }

        var held: ByteRanges {
            get throws { try store.index.resources.find(resource.id)?.serving?.held ?? ByteRanges() }
        }
    }

    @Test("A range is held only after its file and folder are synced")
    func order() throws {
        let stage = try Stage()
        var writer = try stage.store.segments.begin(at: 0, of: stage.resource)
        try writer.append(stage.bytes[..<100_000])
        #expect(try stage.held.isEmpty, "written but unsynced bytes must not be held")
        let (index, id) = (stage.store.index, stage.resource.id)
        stage.disk.observe { call in
            guard call.operation == .synchronize || call.operation == .synchronizeDirectory else { return }
            let held = try? index.resources.find(id)?.serving?.held
            #expect(held?.isEmpty == true, "held before \(call)")
        }
        let syncs = stage.disk.count(.synchronize, of: "/segments/")
        let folderSyncs = stage.disk.count(.synchronizeDirectory, of: "/segments/")
        try writer.checkpoint(in: stage.store)
        #expect(stage.disk.count(.synchronize, of: "/segments/") == syncs + 1)
        #expect(stage.disk.count(.synchronizeDirectory, of: "/segments/") == folderSyncs + 1)
        #expect(try stage.held == ByteRanges(0..<98_304), "an open segment must hold complete blocks only")
        stage.disk.observe(nil)
        #expect(try stage.store.segments.close(writer)?.length == 100_000)
        #expect(try stage.held == ByteRanges(0..<100_000))
    }

    @Test("A new segment's row is committed before its file is created")
    func rowFirst() throws {
        let stage = try Stage()
        let index = stage.store.index
        stage.disk.observe { call in
            guard call.operation == .create else { return }
            #expect((try? SegmentRows(index).openSegments().count) == 1)
        }
        _ = try stage.store.segments.begin(at: 0, of: stage.resource)
        #expect(stage.disk.count(.create, of: "/segments/") == 1)
    }

    @Test("After a failed sync the row becomes a pending deletion, and the sync is not retried")
    func failedSync() throws {
        let stage = try Stage()
        var writer = try stage.store.segments.begin(at: 0, of: stage.resource)
        let id = writer.segment.id
        try writer.append(stage.bytes[..<70_000])
        try writer.checkpoint(in: stage.store)
        try writer.append(stage.bytes[70_000..<150_000])
        stage.disk.fail(.synchronize, of: id.hex, with: Self.broken)
        let syncs = stage.disk.count(.synchronize, of: id.hex)
        let error = #expect(throws: VaultError.self) { try writer.checkpoint(in: stage.store) }
        #expect(error?.code == .storage)
        #expect(try stage.held.isEmpty)
        // The fault has ended, but the file is not synced again, not even to close it.
        try stage.store.expectRefusal(toClose: writer)
        #expect(stage.disk.count(.synchronize, of: id.hex) == syncs + 1)
        #expect(try stage.held.isEmpty)
        #expect(try stage.store.index.resources.totals().segments == 0)
        #expect(!PosixFileSystem().exists(stage.vault.path(of: id)), "the pending deletion must be finished")
    }

    @Test("A failed sync of the folder counts like a failed sync of the file")
    func failedFolderSync() throws {
        let stage = try Stage()
        var writer = try stage.store.segments.begin(at: 0, of: stage.resource)
        try writer.append(stage.bytes[..<70_000])
        stage.disk.fail(.synchronizeDirectory, of: "/segments/", with: Self.broken)
        try stage.store.expectRefusal(toClose: writer)
        #expect(try stage.held.isEmpty)
    }

    @Test("A full disk ends a segment after its last complete block, and the written blocks are kept")
    func full() throws {
        let stage = try Stage()
        var writer = try stage.store.segments.begin(at: 0, of: stage.resource)
        stage.disk.fail(.write, of: "/segments/", number: 4, lasting: true, with: Self.noSpace)
        let error = #expect(throws: FileFailure.self) { try writer.append(stage.bytes[...]) }
        #expect(error?.kind == .noSpace)
        #expect(error?.vaultError("x").code == .diskFull)
        #expect(try stage.store.segments.close(writer)?.length == 98_304)
        #expect(try stage.held == ByteRanges(0..<98_304))
    }

    @Test("A full disk at the start of a segment leaves no row")
    func fullAtOnce() throws {
        let stage = try Stage()
        for operation in [FileOperation.create, .write] {
            stage.disk.fail(operation, of: "/segments/", with: Self.noSpace)
            let error = #expect(throws: VaultError.self) {
                _ = try stage.store.segments.begin(at: 0, of: stage.resource)
            }
            #expect(error?.code == .diskFull)
            #expect(try stage.store.index.resources.totals().segments == 0)
            #expect(try stage.store.index.resources.totals().pendingDeletions == 0)
        }
    }

    @Test("A segment without any bytes leaves neither row nor file")
    func empty() throws {
        let stage = try Stage()
        let writer = try stage.store.segments.begin(at: 0, of: stage.resource)
        let path = stage.vault.path(of: writer.segment.id)
        #expect(PosixFileSystem().exists(path))
        #expect(try stage.store.segments.close(writer) == nil)
        #expect(!PosixFileSystem().exists(path))
        #expect(try stage.store.index.resources.totals().segments == 0)
    }

    @Test("A pending deletion stays listed until its file can be removed")
    func removalRefused() throws {
        let stage = try Stage()
        let segment = try #require(try stage.store.store(Array(stage.bytes[..<40_000]), at: 0, of: stage.resource))
        var resource = try #require(try stage.store.index.resources.find(stage.resource.id))
        stage.disk.fail(.remove, of: segment.id.hex, with: Self.broken)
        try stage.store.replaceRepresentation(of: &resource)
        #expect(try stage.store.index.resources.totals().pendingDeletions == 1)
        #expect(PosixFileSystem().exists(stage.vault.path(of: segment.id)))
        try stage.store.close()
        let reopened = try stage.vault.open()
        #expect(try reopened.index.resources.totals().pendingDeletions == 0)
        #expect(!PosixFileSystem().exists(stage.vault.path(of: segment.id)))
    }

    @Test("A pending deletion stays listed until the folder is synced")
    func removalUnsynced() throws {
        let stage = try Stage()
        let segment = try #require(try stage.store.store(Array(stage.bytes[..<40_000]), at: 0, of: stage.resource))
        var resource = try #require(try stage.store.index.resources.find(stage.resource.id))
        stage.disk.fail(.synchronizeDirectory, of: "/segments/", with: Self.broken)
        try stage.store.replaceRepresentation(of: &resource)
        #expect(!PosixFileSystem().exists(stage.vault.path(of: segment.id)))
        #expect(try SegmentRows(stage.store.index).segmentsPendingDeletion(limit: 9) == [segment.id])
    }
}
