import Synchronization
import VaultStorage

/// The real file system, which counts how many segment files are opened.
final class CountingFileSystem: FileSystem {
    private let real = PosixFileSystem()
    private let count = Atomic(0)

    var segmentsOpened: Int { count.load(ordering: .relaxed) }

    private func note(_ path: String) {
        if path.contains("/segments/") { count.add(1, ordering: .relaxed) }
    }

    func createDirectory(_ path: String) throws(FileFailure) { try real.createDirectory(path) }

    func create(_ path: String) throws(FileFailure) -> any StoredFile {
        note(path)
        return try real.create(path)
    }

    func open(_ path: String, writable: Bool) throws(FileFailure) -> any StoredFile {
        note(path)
        return try real.open(path, writable: writable)
    }

    func exists(_ path: String) -> Bool { real.exists(path) }

    func rename(_ path: String, to newPath: String) throws(FileFailure) { try real.rename(path, to: newPath) }

    func move(_ path: String, toFree newPath: String) throws(FileFailure) { try real.move(path, toFree: newPath) }

    func names(in folder: String) throws(FileFailure) -> [String] { try real.names(in: folder) }

    func remove(_ path: String) throws(FileFailure) { try real.remove(path) }

    func synchronizeDirectory(_ path: String) throws(FileFailure) { try real.synchronizeDirectory(path) }

    func size(of path: String) throws(FileFailure) -> Int64 { try real.size(of: path) }

    func freeBytes(at path: String) throws(FileFailure) -> Int64 { try real.freeBytes(at: path) }
}
