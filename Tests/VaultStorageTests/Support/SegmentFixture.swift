import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

/// A folder of segments and a resource key, without a vault.
final class SegmentFixture {
    let folder: TemporaryFolder
    let segments: FolderSegmentStore
    let key: SecretKey

    init() throws {
        folder = try TemporaryFolder()
        segments = FolderSegmentStore(vault: folder.path, fileSystem: PosixFileSystem())
        try segments.prepare()
        key = try SecureRandom.key("test")
    }

    func begin(at start: Int64 = 0, blockSize: Int = 4096) throws -> SegmentWriter {
        let segment = SegmentDescription(
            id: try SecureRandom.identifier("segment id"),
            representation: try SecureRandom.identifier("representation id"),
            keyNumber: 1, blockSize: blockSize, start: start, length: 0)
        return try SegmentWriter(segment, resourceKey: key, file: segments.create(segment.id))
    }

    /// Writes a whole segment in pieces of `piece` bytes.
    func write(
        _ bytes: [UInt8], at start: Int64 = 0, blockSize: Int = 4096, piece: Int = .max
    ) throws -> SegmentDescription {
        var writer = try begin(at: start, blockSize: blockSize)
        var rest = bytes[...]
        while !rest.isEmpty {
            try writer.append(rest.prefix(piece))
            rest = rest.dropFirst(piece)
        }
        writer.finish()
        try writer.synchronize()
        return writer.segment
    }

    func reader(of segment: SegmentDescription) throws -> SegmentReader {
        try SegmentReader(segment, resourceKey: key, in: segments)
    }

    func path(of segment: SegmentDescription) -> String { TemporaryVault.path(of: segment.id, in: folder.path) }

    func content(of segment: SegmentDescription) throws -> [UInt8] {
        try PosixFileSystem().contents(of: path(of: segment), atMost: 16 << 20)
    }
}
