import Synchronization
import VaultModel
package import VaultStorage

/// A file system that tracks how many bytes of segment files are in their folders, and the maximum so far, and that can
/// limit them.
package final class MeteredFileSystem: FileSystem {
    private let below: any FileSystem
    private let meter = Mutex(Meter())

    private struct Meter {
        var sizes: [String: Int64] = [:]
        var total: Int64 = 0
        var most: Int64 = 0
        var limit = Int64.max
        var refusals = 0

        mutating func set(_ path: String, _ size: Int64?) {
            total +=
                SegmentDescription.diskSize(ofFile: size ?? 0)
                - SegmentDescription.diskSize(ofFile: sizes[path] ?? 0)
            sizes[path] = size
            most = max(most, total)
        }

        /// Whether a file may grow to this size.
        mutating func admit(_ path: String, _ size: Int64) -> Bool {
            // A removed file that is still open is in no folder.
            guard let known = sizes[path], size > known else { return true }
            let more = SegmentDescription.diskSize(ofFile: size) - SegmentDescription.diskSize(ofFile: known)
            guard total + more <= limit else {
                refusals += 1
                return false
            }
            set(path, size)
            return true
        }
    }

    package init(over below: any FileSystem = PosixFileSystem()) { self.below = below }

    /// The number of bytes there now.
    package var total: Int64 { meter.withLock { $0.total } }
    /// The maximum number of bytes there so far.
    package var most: Int64 { meter.withLock { $0.most } }

    /// How often a write was refused because the limit was reached.
    package var refusals: Int { meter.withLock { $0.refusals } }

    /// Limits the bytes of segment files from now on, like a disk of that size; nil for no limit.
    package func limit(to bytes: Int64?) { meter.withLock { $0.limit = bytes ?? .max } }

    private static func counts(_ path: String) -> Bool { path.contains("/segments/") }

    package func createDirectory(_ path: String) throws(FileFailure) { try below.createDirectory(path) }

    package func create(_ path: String) throws(FileFailure) -> any StoredFile {
        let file = try below.create(path)
        guard Self.counts(path) else { return file }
        meter.withLock { $0.set(path, 0) }
        return MeteredFile(file, path, self)
    }

    package func open(_ path: String, writable: Bool) throws(FileFailure) -> any StoredFile {
        let file = try below.open(path, writable: writable)
        return Self.counts(path) && writable ? MeteredFile(file, path, self) : file
    }

    package func exists(_ path: String) -> Bool { below.exists(path) }

    package func rename(_ path: String, to newPath: String) throws(FileFailure) {
        try below.rename(path, to: newPath)
        if Self.counts(path) { meter.withLock { $0.set(path, nil) } }
    }

    package func move(_ path: String, toUnused newPath: String) throws(FileFailure) {
        try below.move(path, toUnused: newPath)
        if Self.counts(path) { meter.withLock { $0.set(path, nil) } }
    }

    package func names(in folder: String) throws(FileFailure) -> [String] { try below.names(in: folder) }

    package func remove(_ path: String) throws(FileFailure) {
        try below.remove(path)
        if Self.counts(path) { meter.withLock { $0.set(path, nil) } }
    }

    package func synchronizeDirectory(_ path: String) throws(FileFailure) { try below.synchronizeDirectory(path) }
    package func makePrivate(_ path: String) throws(FileFailure) { try below.makePrivate(path) }
    package func size(of path: String) throws(FileFailure) -> Int64 { try below.size(of: path) }
    package func freeBytes(at path: String) throws(FileFailure) -> Int64 { try below.freeBytes(at: path) }
    package func totalBytes(at path: String) throws(FileFailure) -> Int64? { try below.totalBytes(at: path) }

    fileprivate func grow(_ path: String, to size: Int64) throws(FileFailure) {
        guard meter.withLock({ $0.admit(path, size) }) else {
            throw FileFailure(.noSpace, "pwrite: No space left on device")
        }
    }

    fileprivate func cut(_ path: String, to size: Int64) {
        meter.withLock { if $0.sizes[path] != nil { $0.set(path, size) } }
    }
}

private final class MeteredFile: StoredFile {
    private let below: any StoredFile
    private let path: String
    private let fileSystem: MeteredFileSystem

    init(_ below: any StoredFile, _ path: String, _ fileSystem: MeteredFileSystem) {
        self.below = below
        self.path = path
        self.fileSystem = fileSystem
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFailure) -> Int {
        try unsafe below.read(into: buffer, at: offset)
    }

    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        unsafe below.readFromMemory(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) {
        try fileSystem.grow(path, to: offset + Int64(buffer.count))
        try unsafe below.write(buffer, at: offset)
    }

    func synchronize() throws(FileFailure) { try below.synchronize() }

    func truncate(to size: Int64) throws(FileFailure) {
        try below.truncate(to: size)
        fileSystem.cut(path, to: size)
    }

    func size() throws(FileFailure) -> Int64 { try below.size() }
    func isLinked() throws(FileFailure) -> Bool { try below.isLinked() }
}
