import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("An interrupted rebuild of the index leaves the vault unchanged")
struct RebuildBrokenOffTests {
    private static let bytes = SeededGenerator.bytes(200_000, seed: 91)

    /// A vault with one title in its backup and another, pinned title only in its index. The last block of the first
    /// title's segment is damaged.
    private static func ahead() throws -> (vault: TemporaryVault, newer: ResourceID, cut: SegmentDescription) {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let known = try store.addMedia("known", length: 200_000)
        let first = try #require(try store.store(Array(bytes[..<100_000]), at: 0, of: known))
        try store.close()
        let backup = try PosixFileSystem().contents(of: vault.folder + "/catalog.backup", atMost: 1 << 24)
        let again = try vault.open()
        let newer = try again.addMedia("newer", length: 200_000, resourceClass: .pinned)
        for start in [0, 100_000] {
            _ = try again.store(Array(bytes[start..<(start + 100_000)]), at: Int64(start), of: newer)
        }
        try again.close()
        // Simulates a power loss before the backup was updated.
        try PosixFileSystem().replace(vault.folder + "/catalog.backup", with: backup)
        let file = try PosixFileSystem().open(vault.path(of: first.id), writable: true)
        let last = first.blockCount - 1
        try file.write([1, 2, 3], at: first.fileOffset(ofBlock: last) + 9)
        return (vault, newer.id, first)
    }

    private static func files(_ vault: TemporaryVault) throws -> [String: Int64] {
        let names =
            try TemporaryFolder.files(below: vault.folder + "/segments")
            + TemporaryFolder.files(below: vault.folder + "/quarantine")
        return Dictionary(
            uniqueKeysWithValues: try names.map { ($0, try PosixFileSystem().size(of: $0)) })
    }

    @Test("No file is moved or truncated before the new index is in place, because the old one names them all")
    func brokenOff() throws {
        let (vault, newer, _) = try Self.ahead()
        let before = try Self.files(vault)
        #expect(before.count == 3)
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: true)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        #expect(try Self.files(vault) == before)
        rebuild.discard()
        #expect(try Self.files(vault) == before)
        let store = try vault.open()
        let resource = try #require(try store.index.resources.find(newer))
        #expect(try store.read(resource).map(\.bytes).joined().elementsEqual(Self.bytes))
    }

    @Test("A finished rebuild truncates files, and keeps what only the index knew")
    func finished() throws {
        let (vault, newer, cut) = try Self.ahead()
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: true)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        let counts = try rebuild.finish()
        #expect(!counts.isFromFormerBackup && counts.quarantined == 0 && counts.cut == 1 && counts.unknown == 0)
        #expect(try PosixFileSystem().size(of: vault.path(of: cut.id)) < cut.fileSize)
        let store = try vault.open()
        let resource = try #require(try store.index.resources.find(newer))
        #expect(try store.read(resource).map(\.bytes).joined().elementsEqual(Self.bytes))
        #expect(try store.index.resources.totals().segments == 3)
    }

    @Test("A finished rebuild without an index moves the files of titles that the backup does not know")
    func finishedWithoutIndex() throws {
        let (vault, newer, _) = try Self.ahead()
        for suffix in ["", "-wal", "-shm"] { try? TemporaryFolder.remove(vault.folder + "/index.sqlite" + suffix) }
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        #expect(try rebuild.finish().quarantined == 2)
        #expect(try vault.open().index.resources.find(newer) == nil)
    }

    @Test("A sound index is replaced only on request")
    func refusal() throws {
        let (vault, _, _) = try Self.ahead()
        let error = #expect(throws: VaultError.self) {
            _ = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        }
        #expect(error?.code == .invalidArgument && error?.hint == .force)
    }

    @Test("A file that cannot be made durable is not adopted, and stays in place until the new index does")
    func unsynced() throws {
        let (vault, _, cut) = try Self.ahead()
        let disk = vault.simulatedFileSystem()
        disk.fail(.synchronize, of: cut.id.hex, with: FileFailure(.other(5), "fsync: Input/output error"))
        let before = try Self.files(vault)
        let rebuild = try IndexRebuild(
            at: vault.folder, keyring: vault.keyring, evenIfSound: true, fileSystem: disk)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        #expect(try Self.files(vault) == before)
        #expect(try rebuild.finish().quarantined == 1)
        #expect(try vault.open().index.resources.totals().segments == 2)
    }
}
