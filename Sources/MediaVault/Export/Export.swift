import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that appears under its name complete and durable, or not at all. All calls block.
final class ExportFile: Sendable {
    private let path: String
    private let temporary: String
    private let replacing: Bool
    private let fileSystem: any FileSystem
    private let file: any StoredFile

    /// Creates a file under a temporary name in the same folder.
    init(_ path: String, replacing: Bool, fileSystem: any FileSystem) throws {
        self.path = path
        self.replacing = replacing
        self.fileSystem = fileSystem
        try Self.requireFree(path, replacing, fileSystem)
        let folder = PosixFileSystem.folder(of: path)
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        // A short name is used because the final name plus a suffix could exceed the folder's limit on name lengths.
        temporary = folder + "/.mediavault-" + Hex.encode(try SecureRandom.bytes(8, "export")) + ".part"
        guard !name.isEmpty, !path.hasSuffix("/") else {
            throw VaultError(.invalidArgument, "\(path) is not a file name; give the path of a file")
        }
        do throws(FileFailure) {
            file = try fileSystem.create(temporary)
        } catch {
            throw Self.failure(error, path)
        }
    }

    private static func requireFree(_ path: String, _ replacing: Bool, _ fileSystem: any FileSystem) throws {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw VaultError(.invalidArgument, "\(path) is a folder; give the path of a file in it")
        }
        guard replacing else { throw taken(path) }
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws {
        do throws(FileFailure) {
            try file.write(bytes, at: offset)
        } catch {
            throw Self.failure(error, path)
        }
    }

    /// Makes the file durable under its final name.
    func finish() throws {
        do throws(FileFailure) {
            try file.synchronize()
            if replacing {
                try fileSystem.rename(temporary, to: path)
            } else {
                try fileSystem.move(temporary, toUnused: path)
            }
            try Self.synchronizeFolder(of: path, fileSystem)
        } catch {
            throw error.kind == .alreadyExists ? Self.taken(path) : Self.failure(error, path)
        }
    }

    /// Makes the name of a file or folder durable; the path of its parent folder may be a symbolic link.
    static func synchronizeFolder(of path: String, _ fileSystem: any FileSystem) throws(FileFailure) {
        let folder = PosixFileSystem.folder(of: path)
        try fileSystem.synchronizeDirectory(fileSystem.isLink(folder) ? folder + "/." : folder)
    }

    /// Removes the temporary file.
    func discard() { try? fileSystem.remove(temporary) }

    private static func taken(_ path: String) -> VaultError {
        VaultError(.invalidArgument, "\(path) already exists; choose another file, or overwrite it", hint: .force)
    }

    /// Returns the error to throw for a failure. The path came from the caller, so the message may contain it.
    static func failure(_ failure: FileFailure, _ path: String) -> VaultError {
        switch failure.kind {
        case .noSpace:
            VaultError(.diskFull, "the disk is too full for \(path); free some space and export again")
        case .notPermitted:
            VaultError(.storage, "\(path) cannot be written: permission denied; check the owner and mode of its folder")
        case .readOnly: VaultError(.storage, "\(path) is on a read-only file system; choose another place")
        case .notFound:
            VaultError(
                .storage,
                "\(path) cannot be written: the folder \(PosixFileSystem.folder(of: path)) does not exist or takes no "
                    + "files; create it, or choose another")
        default: VaultError(.storage, "\(path) cannot be written: \(failure.description)")
        }
    }
}

/// The bytes of one representation that is completely held. All calls block.
struct ExportSource: Sendable {
    private let url: MediaURL
    private var resource: StoredResource
    private var map: SegmentMap
    private var open: (segment: SegmentDescription, reader: SegmentReader)?

    /// The length in bytes.
    let length: Int64
    /// What is known of the representation without its bytes.
    let information: ContentInformation

    /// The maximum number of bytes opened at a time.
    static let chunkBytes = 1 << 20

    /// - Throws: ``VaultError`` with code `notHeld` if a byte is missing.
    init(_ store: VaultStore, _ id: ResourceID, _ url: MediaURL) throws {
        self.url = url
        guard let resource = try store.index.resources.find(id), let serving = resource.serving else {
            throw VaultError(.notHeld, "the vault holds nothing of \(url); fetch it first")
        }
        guard let length = serving.info.information.length else {
            throw VaultError(.notHeld, "the length of \(url) is unknown, so it cannot be complete; fetch it first")
        }
        self.length = length
        information = serving.info.information
        self.resource = resource
        map = SegmentMap(serving)
        try requireWhole()
    }

    private func requireWhole() throws {
        let gaps = map.covered.gaps(in: 0..<length)
        guard let first = gaps.first else { return }
        let count = gaps.reduce(0) { $0 + $1.length }
        var error = VaultError(
            .notHeld,
            "\(count) of \(length) bytes of \(url) are missing, the first at byte \(first.lowerBound); fetch it first")
        error.firstMissing = first.lowerBound
        throw error
    }

    /// Returns the chunk of bytes at an offset: at least one byte, and not many more than `count`.
    mutating func bytes(
        at position: Int64, upTo count: Int = Self.chunkBytes, of store: VaultStore
    ) throws -> [UInt8] {
        do {
            return try openedBytes(at: position, count, of: store)
        } catch SegmentFailure.missing {
            // The segment was removed or replaced after the index was read, so the index is read once more.
            open = nil
            let known = resource.serving?.id
            guard let resource = try store.index.resources.find(resource.id), let serving = resource.serving,
                serving.id == known
            else { throw VaultError(.notHeld, "\(url) was removed or replaced while it was exported; fetch it again") }
            self.resource = resource
            map = SegmentMap(serving)
            try requireWhole()
            do {
                return try openedBytes(at: position, count, of: store)
            } catch let failure as SegmentFailure {
                throw Self.damage(at: position, failure)
            }
        } catch let failure as SegmentFailure {
            throw Self.damage(at: position, failure)
        }
    }

    private mutating func openedBytes(at position: Int64, _ count: Int, of store: VaultStore) throws -> [UInt8] {
        guard let (segment, run) = map.segment(at: position) else { throw SegmentFailure.missing }
        let reader: SegmentReader
        if let open, open.segment.id == segment.id {
            reader = open.reader
        } else {
            reader = try store.segments.reader(of: segment, resource: resource)
        }
        open = (segment, reader)
        // Chunks end at block boundaries, so no block is opened twice.
        let block = segment.range(ofBlock: segment.block(holding: position)).lowerBound
        let end = min(run.upperBound, block + Int64(max(count, segment.blockSize)))
        return try reader.bytes(position..<end, of: segment)
    }

    private static func damage(at position: Int64, _ failure: SegmentFailure) -> VaultError {
        var error: VaultError
        switch failure {
        case .unreadable(let failure): error = failure.vaultError("a segment cannot be read")
        default:
            error = VaultError(
                .integrity, "the bytes from \(position) on are damaged; repair them", hint: .repair)
        }
        error.firstMissing = position
        return error
    }
}

/// One export of a resource's plaintext to a file.
struct ExportJob {
    let loaders: LoaderTable
    let reference: MediaReference
    let path: String
    let replacing: Bool
    var fileSystem: any FileSystem = PosixFileSystem()

    /// Writes the plaintext. The file appears only once it is complete.
    func run(progress: (ExportProgress) async -> Void) async throws {
        let (store, pool, fileSystem) = (loaders.environment.store, loaders.environment.pool, fileSystem)
        let (path, replacing) = (path, replacing)
        let (id, url) = (try await loaders.name(reference).id, reference.url)
        var source = try await pool.run { try ExportSource(store, id, url) }
        let file = try await pool.run { try ExportFile(path, replacing: replacing, fileSystem: fileSystem) }
        do {
            var position: Int64 = 0
            var pace = ExportPace()
            while position < source.length {
                try Task.checkCancellation()
                if pace.isDue { await progress(ExportProgress(written: position, total: source.length)) }
                let (from, here) = (source, position)
                (source, position) = try await pool.run {
                    var source = from
                    let bytes = try source.bytes(at: here, of: store)
                    try file.write(bytes, at: here)
                    return (source, here + Int64(bytes.count))
                }
            }
            try Task.checkCancellation()
            try await pool.run { try file.finish() }
            await progress(ExportProgress(written: source.length, total: source.length))
        } catch {
            try? await pool.run { file.discard() }
            throw error
        }
    }
}

/// Paces the progress reports of an export.
struct ExportPace {
    private var last: ContinuousClock.Instant?

    /// Whether a report is due. If true, the report counts as made.
    var isDue: Bool {
        mutating get {
            if let last, .now - last < .milliseconds(100) { return false }
            last = .now
            return true
        }
    }
}

/// The progress of an export.
public struct ExportProgress: Hashable, Codable, Sendable {
    /// The number of bytes written.
    public let written: Int64
    /// The total number of bytes.
    public let total: Int64
}
