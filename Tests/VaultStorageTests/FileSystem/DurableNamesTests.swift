import Foundation
import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("File names that the vault relies on survive a power loss")
struct DurableNamesTests {
    /// Copies of the disk after different outcomes of a power loss, one folder each.
    private func losses(of disk: SimulatedFileSystem, in copies: TemporaryFolder) throws -> [String] {
        try (UInt64(0)..<16).map { seed in
            let copy = copies.path + "/\(seed)"
            try disk.loseEverythingUnsynced(tearing: seed, into: copy)
            return copy
        }
    }

    @Test("The name of a created key file survives a power loss")
    func keyFile() throws {
        let (folder, copies) = (try TemporaryFolder(), try TemporaryFolder())
        let disk = SimulatedFileSystem(root: folder.path)
        try KeyFile.make(folder.path + "/key", fileSystem: disk)
        let key = try disk.contents(of: folder.path + "/key")
        for copy in try losses(of: disk, in: copies) {
            #expect(try PosixFileSystem().contents(of: copy + "/key") == key)
        }
    }

    @Test("The name of a recovered segment survives, even if its writer was killed before the folder sync")
    func recoveredSegment() throws {
        let (vault, copies) = (try TemporaryVault(), try TemporaryFolder())
        let disk = vault.simulatedFileSystem()
        let (title, segment) = try abandonedSegment(vault, disk)
        // Some outcomes lack the file, since nothing relies on its name yet.
        let before = try losses(of: disk, in: try TemporaryFolder())
        #expect(before.contains { !PosixFileSystem().exists(TemporaryVault.path(of: segment, in: $0 + "/vault")) })
        let store = try vault.open(fileSystem: disk)
        #expect(try store.index.resources.find(title)?.serving?.held == ByteRanges(0..<98_304))
        for copy in try losses(of: disk, in: copies) {
            #expect(PosixFileSystem().exists(TemporaryVault.path(of: segment, in: copy + "/vault")))
        }
        try store.close()
    }

    /// Writes bytes to a segment whose writer ends before it syncs anything.
    private func abandonedSegment(
        _ vault: TemporaryVault, _ disk: SimulatedFileSystem
    ) throws -> (ResourceID, SegmentID) {
        let store = try vault.open(fileSystem: disk)
        let title = try store.addMedia("film", length: 200_000)
        var writer = try store.segments.begin(at: 0, of: title)
        try writer.append(SeededGenerator.bytes(100_000, seed: 5)[...])
        return (title.id, writer.segment.id)
    }
}
