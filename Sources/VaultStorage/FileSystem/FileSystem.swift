/// The file system operations that the store needs.
///
/// There are few of them, so that a simulated file system can implement them all and lose whatever was not synced.
/// Every call may block. Paths are absolute; files are created with mode 0600 and folders with mode 0700.
package protocol FileSystem: Sendable {
    /// Creates a folder if it does not exist yet.
    func createDirectory(_ path: String) throws(FileFailure)
    /// Creates a file, which must not exist yet, and opens it for reading and writing.
    func create(_ path: String) throws(FileFailure) -> any StoredFile
    /// Opens an existing file. Refuses a symbolic link, and anything else that is not a regular file.
    func open(_ path: String, writable: Bool) throws(FileFailure) -> any StoredFile
    func exists(_ path: String) -> Bool
    /// Returns whether a path is a symbolic link.
    func isLink(_ path: String) -> Bool
    /// Moves a file, replacing any file at the new path.
    func rename(_ path: String, to newPath: String) throws(FileFailure)
    /// Moves a file to a path that must not exist yet.
    func move(_ path: String, toUnused newPath: String) throws(FileFailure)
    /// Returns the names in a folder, in no particular order.
    func names(in folder: String) throws(FileFailure) -> [String]
    /// Makes a file readable and writable by its owner only. Refuses a symbolic link.
    func makePrivate(_ path: String) throws(FileFailure)
    /// Removes a file, if it exists.
    func remove(_ path: String) throws(FileFailure)
    /// Makes the creation, renaming and removal of files in a folder durable.
    func synchronizeDirectory(_ path: String) throws(FileFailure)
    /// Makes the contents of several files in one folder durable together.
    func synchronizeFiles(_ names: [String], in folder: String) throws(FileFailure)
    /// Returns the size of a file in bytes.
    func size(of path: String) throws(FileFailure) -> Int64
    /// Returns the number of free bytes on the file system that holds a path.
    func freeBytes(at path: String) throws(FileFailure) -> Int64
    /// Returns the size in bytes of the file system that holds a path; nil if it does not report its size.
    func totalBytes(at path: String) throws(FileFailure) -> Int64?
    /// Returns whether a folder belongs to another user, or others may write to it. For a process that runs as root,
    /// every folder counts as its own.
    func isShared(_ folder: String) throws(FileFailure) -> Bool
}

extension FileSystem {
    /// The default for a file system that does not report its size.
    package func totalBytes(at path: String) throws(FileFailure) -> Int64? { nil }

    /// The default for a file system that can only sync files one by one.
    package func synchronizeFiles(_ names: [String], in folder: String) throws(FileFailure) {
        for name in names { try open(folder + "/" + name, writable: true).synchronize() }
    }

    /// The default for a file system with one user.
    package func isShared(_ folder: String) throws(FileFailure) -> Bool { false }

    /// The default for a file system without permissions.
    package func makePrivate(_ path: String) throws(FileFailure) {}

    /// The default for a file system without links.
    package func isLink(_ path: String) -> Bool { false }
}

/// An open file, closed when the last reference is released.
package protocol StoredFile: AnyObject, Sendable {
    /// Reads at `offset` until the buffer is full or the file ends.
    ///
    /// - Returns: the number of bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFailure) -> Int
    /// Reads like ``read(into:at:)``, but only from memory. Returns nil if the read would have to wait for the disk.
    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int?
    /// Writes the whole buffer at `offset`.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure)
    /// Asks the system to start writing these bytes to the disk.
    ///
    /// This is only a hint: it shortens a later ``synchronize()``, but guarantees nothing.
    func startWriteback(_ range: Range<Int64>)
    /// Makes the content durable. After a failure the file must not be trusted, and this must not be called again.
    func synchronize() throws(FileFailure)
    func truncate(to size: Int64) throws(FileFailure)
    /// Reserves disk space for `size` bytes, and makes the file that long.
    func allocate(_ size: Int64) throws(FileFailure)
    func size() throws(FileFailure) -> Int64
    /// Returns whether the file still has a name in any folder.
    func isLinked() throws(FileFailure) -> Bool
}

extension StoredFile {
    /// The default for a file system that does not report which bytes of a file are cached.
    package func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? { nil }

    /// The default for a file system that reserves space only by writing.
    package func allocate(_ size: Int64) throws(FileFailure) {
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var end: Int64 = 0
        while end < size {
            let count = min(size - end, Int64(zeros.count))
            try write(zeros[..<Int(count)], at: end)
            end += count
        }
    }

    /// The default for a file system that accepts no hints.
    package func startWriteback(_ range: Range<Int64>) {}

    /// Reads at `offset` until `count` bytes have been read or the file ends.
    package func read(count: Int, at offset: Int64) throws(FileFailure) -> [UInt8] {
        var failure: FileFailure?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(FileFailure) {
                // The buffer is the array's own storage, with space for `count` bytes.
                filled = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads a whole file of at most `limit` bytes.
    package func contents(atMost limit: Int = 1 << 20) throws(FileFailure) -> [UInt8] {
        let size = try size()
        guard size <= limit else { throw FileFailure(.other(27), "it is larger than \(limit) bytes") }
        return try read(count: Int(size), at: 0)
    }

    /// Writes bytes at `offset`.
    package func write(_ bytes: some Collection<UInt8>, at offset: Int64) throws(FileFailure) {
        var failure: FileFailure?
        // The collection lends its storage for the duration of the call. A collection without contiguous storage is
        // copied first.
        let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { buffer in
            do throws(FileFailure) {
                try unsafe write(UnsafeRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if isContiguous == nil { try write(Array(bytes), at: offset) }
        if let failure { throw failure }
    }
}

extension FileSystem {
    /// Reads a whole file of at most `limit` bytes.
    package func contents(of path: String, atMost limit: Int = 1 << 20) throws(FileFailure) -> [UInt8] {
        try open(path, writable: false).contents(atMost: limit)
    }

    /// Replaces a file atomically: after a crash, the path has either all of the old content or all of the new.
    ///
    /// It writes the bytes to a temporary file in the same folder, syncs that file, renames it, and syncs the folder.
    package func replace(_ path: String, with bytes: [UInt8]) throws(FileFailure) {
        let temporary = path + ".new"
        try remove(temporary)
        let file = try create(temporary)
        do throws(FileFailure) {
            try file.write(bytes, at: 0)
            try file.synchronize()
            try rename(temporary, to: path)
        } catch {
            // A failure here is ignored, because the caller needs the first failure.
            try? remove(temporary)
            throw error
        }
        try synchronizeDirectory(Self.folder(of: path))
    }

    /// Returns the folder that contains a path.
    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
