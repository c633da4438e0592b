import VaultStorage

/// The real file system, with counts of the operations on segment files.
final class CountingFileSystem: FileSystem {
    let traffic = MediaTraffic()
    private let real = PosixFileSystem()

    private func counting(_ file: any StoredFile, _ path: String) -> any StoredFile {
        guard path.contains("/segments/") else { return file }
        traffic.noteOpening()
        return CountingFile(file, traffic)
    }

    func createDirectory(_ path: String) throws(FileFailure) { try real.createDirectory(path) }

    func create(_ path: String) throws(FileFailure) -> any StoredFile {
        counting(try real.create(path), path)
    }

    func open(_ path: String, writable: Bool) throws(FileFailure) -> any StoredFile {
        counting(try real.open(path, writable: writable), path)
    }

    func exists(_ path: String) -> Bool { real.exists(path) }

    func rename(_ path: String, to newPath: String) throws(FileFailure) { try real.rename(path, to: newPath) }

    func move(_ path: String, toUnused newPath: String) throws(FileFailure) { try real.move(path, toUnused: newPath) }

    func names(in folder: String) throws(FileFailure) -> [String] { try real.names(in: folder) }

    func remove(_ path: String) throws(FileFailure) { try real.remove(path) }

    func synchronizeDirectory(_ path: String) throws(FileFailure) { try real.synchronizeDirectory(path) }

    func size(of path: String) throws(FileFailure) -> Int64 { try real.size(of: path) }

    func freeBytes(at path: String) throws(FileFailure) -> Int64 { try real.freeBytes(at: path) }
}
