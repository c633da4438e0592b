#if canImport(Glibc)
import CFile
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The real file system.
package struct PosixFileSystem: FileSystem {
    package init() {}

    package func createDirectory(_ path: String) throws(FileFailure) {
        guard unsafe mkdir(path, 0o700) == 0 else {
            if errno == EEXIST { return }
            throw .last("mkdir")
        }
    }

    package func create(_ path: String) throws(FileFailure) -> any StoredFile {
        PosixFile(try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_EXCL))
    }

    package func open(_ path: String, writable: Bool) throws(FileFailure) -> any StoredFile {
        // Opened nonblocking, so that a pipe in place of the file cannot make this process hang.
        let descriptor = try FileDescriptor(opening: path, (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK)
        try descriptor.requireRegular()
        return PosixFile(descriptor)
    }

    package func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    package func isLink(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    package func rename(_ path: String, to newPath: String) throws(FileFailure) {
        guard Self.systemRename(path, newPath) == 0 else { throw .last("rename") }
    }

    package func move(_ path: String, toUnused newPath: String) throws(FileFailure) {
        // `link` fails if the new name exists; `rename` would replace it.
        guard unsafe link(path, newPath) == 0 else {
            // On a file system without hard links, check that the name is free, then rename.
            guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) else { throw .last("link") }
            guard !exists(newPath) else { throw FileFailure(.alreadyExists, "rename: the name is taken") }
            return try rename(path, to: newPath)
        }
        try remove(path)
    }

    package func names(in folder: String) throws(FileFailure) -> [String] {
        // Opened by `FileDescriptor`, which refuses a symbolic link; `opendir` would follow it.
        let descriptor = try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY)
        guard let stream = unsafe fdopendir(dup(descriptor.number)) else { throw .last("opendir") }
        defer { _ = unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            // The entry's name ends with a zero byte, and is valid until the next call of `readdir`.
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw .last("readdir") }
        return names
    }

    package func makePrivate(_ path: String) throws(FileFailure) {
        var status = stat()
        // The kind is checked first, because a link has no mode of its own, and the mode of its target is not ours to
        // change.
        guard unsafe lstat(path, &status) == 0 else { throw .last("lstat") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileFailure(.other(EINVAL), "it is not a regular file") }
        guard unsafe chmod(path, 0o600) == 0 else { throw .last("chmod") }
    }

    package func remove(_ path: String) throws(FileFailure) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .last("unlink") }
    }

    package func synchronizeDirectory(_ path: String) throws(FileFailure) {
        let folder = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
        guard fsync(folder.number) == 0 else { throw .last("fsync") }
    }

    #if canImport(Glibc)
    package func synchronizeFiles(_ names: [String], in folder: String) throws(FileFailure) {
        // Syncing the whole file system is four times as fast as syncing each of 500 files, even though it may write
        // other files, too.
        let descriptor = try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY)
        guard cfile_sync_file_system(descriptor.number) == 0 else { throw .last("syncfs") }
    }
    #endif

    package func size(of path: String) throws(FileFailure) -> Int64 {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw .last("lstat") }
        return Int64(status.st_size)
    }

    package func freeBytes(at path: String) throws(FileFailure) -> Int64 {
        let status = try status(ofDiskAt: path)
        return Self.bytes(status.f_bavail, in: status)
    }

    package func totalBytes(at path: String) throws(FileFailure) -> Int64? {
        let status = try status(ofDiskAt: path)
        return Self.bytes(status.f_blocks, in: status)
    }

    private func status(ofDiskAt path: String) throws(FileFailure) -> statvfs {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { throw .last("statvfs") }
        return status
    }

    private static func bytes(_ blocks: some BinaryInteger, in status: statvfs) -> Int64 {
        let (bytes, overflow) = Int64(clamping: blocks)
            .multipliedReportingOverflow(by: Int64(clamping: status.f_frsize))
        return overflow ? .max : bytes
    }

    package func isShared(_ folder: String) throws(FileFailure) -> Bool {
        var status = stat()
        guard unsafe stat(folder, &status) == 0 else { throw .last("stat") }
        return status.st_mode & 0o022 != 0 || ![status.st_uid, 0].contains(geteuid())
    }

    // A separate function, because inside the method `rename` the name would refer to the method itself.
    private static func systemRename(_ path: String, _ newPath: String) -> Int32 {
        #if canImport(Glibc)
        unsafe Glibc.rename(path, newPath)
        #else
        unsafe Darwin.rename(path, newPath)
        #endif
    }
}

/// A file of the real file system.
final class PosixFile: StoredFile {
    private let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFailure) -> Int {
        var done = 0
        while done < buffer.count, let address = buffer.baseAddress {
            let number = descriptor.number
            let count = FileDescriptor.retrying {
                unsafe pread(number, address + done, buffer.count - done, off_t(offset) + off_t(done))
            }
            guard count >= 0 else { throw .last("pread") }
            if count == 0 { break }
            done += count
        }
        return done
    }

    #if canImport(Glibc)
    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        guard let address = buffer.baseAddress else { return 0 }
        let count = unsafe cfile_read_cached(descriptor.number, address, buffer.count, offset)
        // After a short read, the rest is either on the disk or past the end of the file. A read that may wait finds
        // out which.
        return count == buffer.count ? count : nil
    }

    func allocate(_ size: Int64) throws(FileFailure) {
        let code = posix_fallocate(descriptor.number, 0, off_t(size))
        guard code == 0 else {
            errno = code
            throw .last("posix_fallocate")
        }
    }

    func startWriteback(_ range: Range<Int64>) {
        // Starting writeback does not consume an error that the following sync must report.
        cfile_start_writeback(descriptor.number, range.lowerBound, range.upperBound - range.lowerBound)
    }
    #endif

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) {
        var done = 0
        while done < buffer.count, let address = buffer.baseAddress {
            let number = descriptor.number
            let count = FileDescriptor.retrying {
                unsafe pwrite(number, address + done, buffer.count - done, off_t(offset) + off_t(done))
            }
            guard count > 0 else { throw .last("pwrite") }
            done += count
        }
    }

    func synchronize() throws(FileFailure) {
        #if canImport(Darwin)
        // On Apple systems, `fsync` does not flush the drive's cache.
        guard fcntl(descriptor.number, F_FULLFSYNC) != -1 else { throw .last("fcntl(F_FULLFSYNC)") }
        #else
        guard fdatasync(descriptor.number) == 0 else { throw .last("fdatasync") }
        #endif
    }

    func truncate(to size: Int64) throws(FileFailure) {
        guard ftruncate(descriptor.number, off_t(size)) == 0 else { throw .last("ftruncate") }
    }

    func size() throws(FileFailure) -> Int64 {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else { throw .last("fstat") }
        return Int64(status.st_size)
    }

    func isLinked() throws(FileFailure) -> Bool {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else { throw .last("fstat") }
        return status.st_nlink > 0
    }
}
