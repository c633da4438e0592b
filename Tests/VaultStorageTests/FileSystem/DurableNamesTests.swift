import Foundation
import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A name that something is promised under survives a power loss")
struct DurableNamesTests {
    /// What a disk may hold after a power loss: a folder each.
    private func losses(of disk: SimulatedFileSystem, in copies: TemporaryFolder) throws -> [String] {
        try (UInt64(0)..<16).map { seed in
            let copy = copies.path + "/\(seed)"
            try disk.loseEverythingUnsynced(tearing: seed, into: copy)
            return copy
        }
    }

    @Test("That of a key file which was made")
    func keyFile() throws {
        let (folder, copies) = (try TemporaryFolder(), try TemporaryFolder())
        let disk = SimulatedFileSystem(root: folder.path)
        try KeyFile.make(folder.path + "/key", fileSystem: disk)
        let key = try disk.contents(of: folder.path + "/key")
        for copy in try losses(of: disk, in: copies) {
            #expect(try PosixFileSystem().contents(of: copy + "/key") == key)
        }
    }

    @Test("That of a segment which was recovered, though its writer was killed before it synced the folder")
    func recoveredSegment() throws {
        let (vault, copies) = (try TemporaryVault(), try TemporaryFolder())
        let disk = vault.simulatedFileSystem()
        let (film, segment) = try abandonedSegment(vault, disk)
        // Some of these outcomes have no such file: nothing is promised under its name so far.
        let before = try losses(of: disk, in: try TemporaryFolder())
        #expect(before.contains { !PosixFileSystem().exists(TemporaryVault.path(of: segment, in: $0 + "/vault")) })
        let store = try vault.open(fileSystem: disk)
        #expect(try store.index.resource(film)?.serving?.held == ByteRanges(0..<98_304))
        for copy in try losses(of: disk, in: copies) {
            #expect(PosixFileSystem().exists(TemporaryVault.path(of: segment, in: copy + "/vault")))
        }
        try store.close()
    }

    /// Bytes in a segment whose writer went away before it synced anything.
    private func abandonedSegment(
        _ vault: TemporaryVault, _ disk: SimulatedFileSystem
    ) throws -> (ResourceID, SegmentID) {
        let store = try vault.open(fileSystem: disk)
        let film = try store.addMedia("film", length: 200_000)
        var writer = try store.beginSegment(at: 0, of: film)
        try writer.append(SeededGenerator.bytes(100_000, seed: 5)[...])
        return (film.id, writer.segment.id)
    }
}
