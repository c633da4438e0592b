import Foundation
import VaultCache
import VaultModel
import VaultStorage

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The bytes of a file to import, which are read once from beginning to end.
package protocol ImportSource {
    /// The number of bytes, as known before reading begins.
    var length: Int64 { get }
    /// The media type that the file name implies; nil if it implies none.
    var type: String? { get }

    /// Returns the next bytes; nil at the end.
    ///
    /// - Throws: ``VaultError`` if the bytes cannot be read, or if there are more or fewer of them than ``length``.
    func next() async throws -> [UInt8]?
}

/// A regular file, which must not change while it is being read.
///
/// It returns its last bytes only after checking that the file has not changed.
package final class ImportedFile: ImportSource, Sendable {
    /// The number of bytes.
    package let length: Int64
    /// The media type; nil if it is unknown.
    package let type: String?
    private let path: String
    private let reading: Locked<Reading>

    private struct Reading: ~Copyable {
        let file: FileDescriptor
        let stamp: FileStamp
        var position: Int64 = 0
    }

    private static let chunkBytes = 1 << 20

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: the file's absolute path. A symbolic link is followed, but only to a regular file.
    ///   - kind: the kind of file expected, for messages.
    /// - Throws: ``VaultError`` with code `storage` if the file cannot be read; `invalidArgument` if it is empty, too
    ///   large, or not a regular file.
    package static func open(at path: String, as kind: String = "media file") async throws -> ImportedFile {
        try await BlockingPool.shared.run { try ImportedFile(at: path, as: kind) }
    }

    private init(at path: String, as kind: String) throws {
        self.path = path
        type = MediaType.guess(path: path)
        let file: FileDescriptor
        do throws(FileFailure) {
            // Without `O_NONBLOCK`, opening a pipe without a writer, or a device, could keep the caller waiting.
            let target = URL(filePath: path).resolvingSymlinksInPath().path
            file = try FileDescriptor(opening: target, O_RDONLY | O_NONBLOCK)
        } catch {
            throw Self.failure(error, path)
        }
        guard let stamp = FileStamp(regularFile: file.number) else {
            throw VaultError(.invalidArgument, "\(path) is not a regular file; give the path of a \(kind)")
        }
        guard (1...ContentInformation.maxBytes).contains(stamp.size) else {
            throw VaultError(
                .invalidArgument,
                stamp.size == 0 ? "\(path) is empty; give a \(kind)" : "\(path) is larger than any \(kind)")
        }
        length = stamp.size
        reading = Locked(Reading(file: file, stamp: stamp))
    }

    /// Returns the next bytes; nil at the end.
    package func next() async throws -> [UInt8]? { try await BlockingPool.shared.run { try self.read() } }

    private func read() throws -> [UInt8]? {
        try reading.withLock { reading in
            let left = length - reading.position
            guard left > 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: Int(min(left, Int64(Self.chunkBytes))))
            let count: Int
            do {
                // The closure gets the array's own storage.
                count = try unsafe bytes.withUnsafeMutableBytes { try unsafe reading.file.read(into: $0) }
            } catch let failure as FileFailure {
                throw Self.failure(failure, path)
            }
            reading.position += Int64(count)
            guard count == bytes.count,
                reading.position < length || FileStamp(regularFile: reading.file.number) == reading.stamp
            else {
                throw VaultError(.storage, "\(path) changed while it was read; import it again once it is complete")
            }
            return bytes
        }
    }

    /// Returns the error to throw for a failure. The path came from the caller, so the message may contain it.
    private static func failure(_ failure: FileFailure, _ path: String) -> VaultError {
        switch failure.kind {
        case .notFound: VaultError(.storage, "there is no file \(path); correct the path")
        case .notPermitted: VaultError(.storage, "no permission to read \(path); check its owner and mode")
        default: VaultError(.storage, "\(path) cannot be read: \(failure.description)")
        }
    }
}
