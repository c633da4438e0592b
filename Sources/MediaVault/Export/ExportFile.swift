import VaultCrypto
import VaultModel
import VaultStorage

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that appears under its name whole and durable, or not at all. Every call blocks.
final class ExportFile: Sendable {
    private let path: String
    private let temporary: String
    private let replacing: Bool
    private let fileSystem: any FileSystem
    private let file: any StoredFile

    /// Makes a file under a temporary name in the same folder.
    init(_ path: String, replacing: Bool, fileSystem: any FileSystem) throws {
        self.path = path
        self.replacing = replacing
        self.fileSystem = fileSystem
        try Self.requireFree(path, replacing, fileSystem)
        let folder = PosixFileSystem.folder(of: path)
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        // Short, whatever the name is: it has room beside the longest that a folder takes.
        temporary = folder + "/.mediavault-" + Hex.encode(try Fresh.bytes(8, "export")) + ".part"
        guard !name.isEmpty, !path.hasSuffix("/") else {
            throw VaultError(.invalidArgument, "\(path) names no file; name one")
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
            throw VaultError(.invalidArgument, "\(path) is a folder; name a file in it")
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

    /// Gives the file its name.
    func finish() throws {
        do throws(FileFailure) {
            try file.synchronize()
            if replacing {
                try fileSystem.rename(temporary, to: path)
            } else {
                try fileSystem.move(temporary, toFree: path)
            }
            try fileSystem.synchronizeDirectory(PosixFileSystem.folder(of: path))
        } catch {
            throw error.kind == .alreadyExists ? Self.taken(path) : Self.failure(error, path)
        }
    }

    /// Leaves nothing behind.
    func abandon() { try? fileSystem.remove(temporary) }

    private static func taken(_ path: String) -> VaultError {
        VaultError(.invalidArgument, "\(path) is there already; name another file, or overwrite it with --force")
    }

    /// The path is the caller's own: it is told.
    private static func failure(_ failure: FileFailure, _ path: String) -> VaultError {
        switch failure.kind {
        case .noSpace:
            VaultError(.diskFull, "there is no room for \(path); make some and export again, nothing of it was left")
        case .notPermitted: VaultError(.storage, "\(path) may not be written; check owner and mode of its folder")
        case .notFound:
            VaultError(
                .storage,
                "\(path) cannot be written: the folder \(PosixFileSystem.folder(of: path)) is not there, or takes no "
                    + "files; make it, or name another")
        default: VaultError(.storage, "\(path) cannot be written: \(failure.description)")
        }
    }
}
