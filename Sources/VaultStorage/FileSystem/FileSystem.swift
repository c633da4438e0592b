/// The few things the store asks of a file system, so that a simulated one can lose what was not synced.
///
/// Every call may block. Paths are absolute; files are made 0600 and folders 0700.
package protocol FileSystem: Sendable {
    /// Makes a folder; nothing happens where it is there already.
    func createDirectory(_ path: String) throws(FileFailure)
    /// Makes a file that must not be there yet, open for reading and writing.
    func create(_ path: String) throws(FileFailure) -> any StoredFile
    /// Opens a file that is there. A symbolic link is refused.
    func open(_ path: String, writable: Bool) throws(FileFailure) -> any StoredFile
    func exists(_ path: String) -> Bool
    /// Whether a name is a symbolic link.
    func isLink(_ path: String) -> Bool
    /// Moves a file over whatever stands at the new name.
    func rename(_ path: String, to newPath: String) throws(FileFailure)
    /// Moves a file to a name that nothing has yet.
    func move(_ path: String, toFree newPath: String) throws(FileFailure)
    /// The names in a folder, in no order that means anything.
    func names(in folder: String) throws(FileFailure) -> [String]
    /// Gives a file's owner, and nobody else, the right to read and write it. A symbolic link is refused.
    func makePrivate(_ path: String) throws(FileFailure)
    /// Removes a file; nothing happens where there is none.
    func remove(_ path: String) throws(FileFailure)
    /// Makes names in a folder durable: files made, renamed or removed there.
    func synchronizeDirectory(_ path: String) throws(FileFailure)
    /// The size of a file.
    func size(of path: String) throws(FileFailure) -> Int64
    /// Bytes that may still be written on the file system that a path lies on.
    func freeBytes(at path: String) throws(FileFailure) -> Int64
    /// All bytes of the file system that a path lies on; nil where it does not say.
    func totalBytes(at path: String) throws(FileFailure) -> Int64?
    /// Whether a folder is another user's, or others may write in it. To root every folder is its own.
    func isShared(_ folder: String) throws(FileFailure) -> Bool
}

extension FileSystem {
    /// A file system that does not say how large it is.
    package func totalBytes(at path: String) throws(FileFailure) -> Int64? { nil }

    /// A file system of one user.
    package func isShared(_ folder: String) throws(FileFailure) -> Bool { false }

    /// A file system without rights.
    package func makePrivate(_ path: String) throws(FileFailure) {}

    /// A file system without links.
    package func isLink(_ path: String) -> Bool { false }
}

/// An open file. Closed when the last reference goes.
package protocol StoredFile: AnyObject, Sendable {
    /// Reads at `offset` until the buffer is full or the file ends; returns the bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFailure) -> Int
    /// The same without waiting for the disk; nil where some of it would have to be waited for.
    func readAtHand(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int?
    /// Writes all of the buffer at `offset`.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure)
    /// Has the system begin to write these bytes to the disk: a hint that makes ``synchronize()`` wait less, and promises
    /// nothing.
    func beginWriting(_ range: Range<Int64>)
    /// Makes the content durable. After a failure the file must not be trusted, and this must not be called again.
    func synchronize() throws(FileFailure)
    func truncate(to size: Int64) throws(FileFailure)
    /// Takes room for so many bytes, and makes the file as long.
    func allocate(_ size: Int64) throws(FileFailure)
    func size() throws(FileFailure) -> Int64
    /// Whether a name in some folder still leads to it.
    func hasName() throws(FileFailure) -> Bool
}

extension StoredFile {
    /// A file of which nobody knows what lies in memory.
    package func readAtHand(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? { nil }

    /// A file whose system gives room only for what is written.
    package func allocate(_ size: Int64) throws(FileFailure) {
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var end: Int64 = 0
        while end < size {
            let count = min(size - end, Int64(zeros.count))
            try write(zeros[..<Int(count)], at: end)
            end += count
        }
    }

    /// A file whose system takes no hints.
    package func beginWriting(_ range: Range<Int64>) {}

    /// Reads at `offset` until there are `count` bytes or the file ends.
    package func read(count: Int, at offset: Int64) throws(FileFailure) -> [UInt8] {
        var failure: FileFailure?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(FileFailure) {
                // The array's own storage, `count` bytes of it.
                filled = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads a whole small file.
    package func contents(atMost limit: Int = 1 << 20) throws(FileFailure) -> [UInt8] {
        let size = try size()
        guard size <= limit else { throw FileFailure(.other(27), "it is larger than \(limit) bytes") }
        return try read(count: Int(size), at: 0)
    }

    /// Writes bytes at `offset`.
    package func write(_ bytes: some Collection<UInt8>, at offset: Int64) throws(FileFailure) {
        var failure: FileFailure?
        // The collection lends its storage for the call; one that has none in a row is copied first.
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
    /// Reads a whole small file.
    package func contents(of path: String, atMost limit: Int = 1 << 20) throws(FileFailure) -> [UInt8] {
        try open(path, writable: false).contents(atMost: limit)
    }

    /// Puts `bytes` in place of a file so that either the old content or all of the new is there, whatever happens:
    /// temporary name in the same folder, sync, rename, folder synced.
    package func replace(_ path: String, with bytes: [UInt8]) throws(FileFailure) {
        let temporary = path + ".new"
        try remove(temporary)
        let file = try create(temporary)
        do throws(FileFailure) {
            try file.write(bytes, at: 0)
            try file.synchronize()
            try rename(temporary, to: path)
        } catch {
            // Best effort: the failure that counts is the one at hand.
            try? remove(temporary)
            throw error
        }
        try synchronizeDirectory(Self.folder(of: path))
    }

    /// The folder a path lies in.
    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
