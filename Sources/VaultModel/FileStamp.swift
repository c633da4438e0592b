#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Metadata that shows whether a file has changed, without reading the file's contents.
package struct FileStamp: Hashable, Sendable {
    package let device: UInt64
    package let number: UInt64
    package let size: Int64
    /// When the file's contents or metadata last changed: seconds and nanoseconds since 1970.
    let changed: [Int]

    package init(device: UInt64, number: UInt64, size: Int64, changed: [Int]) {
        self.device = device
        self.number = number
        self.size = size
        self.changed = changed
    }
}

extension FileStamp {
    /// Reads the stamp of the file at a path, following symbolic links; nil if the file cannot be found.
    package init?(path: String) {
        var facts = stat()
        guard unsafe stat(path, &facts) == 0 else { return nil }
        self.init(facts)
    }

    /// Reads the stamp of the socket at a path; nil if the path does not lead to a socket, or is a symbolic link.
    package init?(socketAt path: String) {
        var facts = stat()
        guard unsafe lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFSOCK else { return nil }
        self.init(facts)
    }

    /// Reads the stamp of an open file; nil if the file is not a regular file.
    package init?(regularFile descriptor: Int32) {
        var facts = stat()
        guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        self.init(facts)
    }

    private init(_ facts: stat) {
        #if canImport(Darwin)
        let changed = facts.st_ctimespec
        #else
        let changed = facts.st_ctim
        #endif
        self.init(
            device: UInt64(truncatingIfNeeded: facts.st_dev), number: UInt64(facts.st_ino),
            size: Int64(facts.st_size), changed: [changed.tv_sec, changed.tv_nsec])
    }
}
