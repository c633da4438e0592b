import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A rebuild of the index that is broken off leaves the vault as it was")
struct RebuildBrokenOffTests {
    private static let bytes = SeededGenerator.bytes(200_000, seed: 91)

    /// A vault whose backup knows one title, and whose index knows one more, which is pinned; the first title's segment has
    /// lost its last block.
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
        // The power went before the backup followed.
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

    @Test("No file is moved or cut before the new index is in place: the old one names all that is there")
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
        let resource = try #require(try store.index.resource(newer))
        #expect(try store.read(resource).map(\.bytes).joined().elementsEqual(Self.bytes))
    }

    @Test("Put in place, it cuts and moves what it found, and says how many segments the backup did not know")
    func finished() throws {
        let (vault, newer, cut) = try Self.ahead()
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: true)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        let counts = try rebuild.finish()
        #expect(counts.unknownToBackup == 2 && counts.quarantined == 2 && counts.cut == 1 && counts.unknown == 0)
        #expect(try PosixFileSystem().size(of: vault.path(of: cut.id)) < cut.fileSize)
        let store = try vault.open()
        #expect(try store.index.resource(newer) == nil)
        #expect(try store.index.totals().segments == 1)
    }

    @Test("A sound index is not replaced unasked, and the refusal counts what would be lost")
    func refusal() throws {
        let (vault, _, _) = try Self.ahead()
        let error = #expect(throws: VaultError.self) {
            _ = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        }
        #expect(error?.code == .invalidArgument && error?.message.contains("2 of its segments") == true)
    }

    @Test("What cannot be made durable is not taken in, and stays where it is until the new index is in place")
    func unsynced() throws {
        let (vault, _, cut) = try Self.ahead()
        let disk = vault.simulatedFileSystem()
        disk.fail(.synchronize, of: cut.id.hex, with: FileFailure(.other(5), "fsync: Input/output error"))
        let before = try Self.files(vault)
        let rebuild = try IndexRebuild(
            at: vault.folder, keyring: vault.keyring, evenIfSound: true, fileSystem: disk)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        #expect(try Self.files(vault) == before)
        #expect(try rebuild.finish().quarantined == 3)
        #expect(try vault.open().index.totals().segments == 0)
    }
}
