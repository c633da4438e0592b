import Foundation
import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A vault has one owner and any number of readers")
struct OwnershipTests {
    @Test("A second owner is refused with an error that names the process of the first")
    func secondOwner() throws {
        let vault = try TemporaryVault()
        try vault.open().close()
        // A lock belongs to an open file, so that this one is like that of another process.
        let lock = try FileHandle(forUpdating: URL(filePath: vault.folder + "/lock"))
        try #require(flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        try lock.truncate(atOffset: 0)
        try lock.write(contentsOf: Data("4242\n".utf8))
        let error = #expect(throws: VaultError.self) { _ = try vault.open() }
        #expect(error?.code == .owned && error?.message.contains("process 4242") == true)
        try lock.close()
        try vault.open().close()
    }

    @Test("A second owner in the process of the first is told so")
    func secondOwnerHere() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let error = #expect(throws: VaultError.self) { _ = try vault.open() }
        #expect(error?.code == .owned && error?.message.contains("this process has the vault open already") == true)
        try store.close()
    }

    @Test("A vault can be opened again after its owner has closed it")
    func released() throws {
        let vault = try TemporaryVault()
        let first = try vault.open()
        try first.close()
        try vault.open().close()
        withExtendedLifetime(first) {}
    }

    @Test("A reader sees the owner's commits at once")
    func reader() throws {
        let vault = try TemporaryVault()
        let owner = try vault.open()
        let reader = try vault.open(.reader)
        let bytes = SeededGenerator.bytes(100_000, seed: 71)
        let resource = try owner.addMedia("film", length: 100_000)
        #expect(try reader.index.resources.find(resource.id)?.serving?.held.isEmpty == true)
        var writer = try owner.segments.begin(at: 0, of: resource)
        try writer.append(bytes[..<40_000])
        #expect(try reader.index.resources.find(resource.id)?.serving?.held.isEmpty == true)
        try writer.checkpoint(in: owner)
        let growing = try #require(try reader.index.resources.find(resource.id))
        #expect(growing.serving?.held == ByteRanges(0..<32_768))
        #expect(try reader.read(growing).first?.bytes == Array(bytes[..<32_768]))
        try writer.append(bytes[40_000...])
        #expect(try owner.segments.close(writer) != nil)
        let whole = try #require(try reader.index.resources.find(resource.id))
        #expect(try reader.read(whole).first?.bytes == bytes)
    }

    @Test("A reader never writes")
    func readOnly() throws {
        let vault = try TemporaryVault()
        let owner = try vault.open()
        let resource = try owner.addMedia("film", length: 100_000)
        let segment = try #require(try owner.store(SeededGenerator.bytes(1000, seed: 1), at: 0, of: resource))
        try owner.close()
        let before = try Self.snapshot(vault)
        let disk = vault.simulatedFileSystem()
        let reader = try vault.open(.reader, fileSystem: disk)
        let stored = try #require(try reader.index.resources.find(resource.id))
        #expect(try reader.read(stored).first?.bytes.count == 1000)
        try reader.segments.invalidate(segment, for: .badBlock(0))
        try reader.segments.invalidate(segment, for: .foreign)
        #expect(throws: VaultError.self) { _ = try reader.addMedia("other", length: 1) }
        #expect(throws: VaultError.self) { _ = try reader.segments.begin(at: 5000, of: stored) }
        #expect(throws: VaultError.self) { try SegmentRows(reader.index).markBad(segment.id, block: 0) }
        reader.countFetched(10)
        try reader.close()
        for operation in [FileOperation.create, .write, .rename, .remove, .truncate, .synchronize] {
            #expect(disk.count(operation) == 0, "\(operation)")
        }
        #expect(try Self.snapshot(vault) == before)
    }

    /// The name and content of every file except the side files that SQLite needs to read a log.
    private static func snapshot(_ vault: TemporaryVault) throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for file in try TemporaryFolder.files(below: vault.folder)
        where !file.hasSuffix("-wal") && !file.hasSuffix("-shm") {
            contents[file] = try PosixFileSystem().contents(of: file)
        }
        return contents
    }

    @Test("A reader leaves recovery to the owner")
    func readerDoesNotRecover() throws {
        let vault = try TemporaryVault()
        let owner = try vault.open()
        let resource = try owner.addMedia("film", length: 100_000)
        var writer = try owner.segments.begin(at: 0, of: resource)
        try writer.append(SeededGenerator.bytes(70_000, seed: 1)[...])
        let disk = vault.simulatedFileSystem()
        let reader = try vault.open(.reader, fileSystem: disk)
        #expect(disk.count(.open) == 0)
        #expect(try SegmentRows(reader.index).openSegments().count == 1)
        try reader.close()
        #expect(try owner.segments.close(writer)?.length == 70_000)
    }
}
