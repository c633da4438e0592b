import VaultStorage

/// An open file of a ``SimulatedFileSystem``.
final class SimulatedFile: StoredFile {
    /// The state of a file, which outlives its name.
    struct Record {
        /// The running system's view; kept open, so that it is there after its name has gone.
        let file: any StoredFile
        var content: SimulatedContent
        /// Whether SQLite writes the file, and syncs what must be durable.
        let syncsItself: Bool
    }

    private let real: any StoredFile
    /// Nil for a file that is only read.
    private let number: Int?
    private let path: String
    private let fileSystem: SimulatedFileSystem

    init(_ real: any StoredFile, number: Int?, path: String, in fileSystem: SimulatedFileSystem) {
        self.real = real
        self.number = number
        self.path = path
        self.fileSystem = fileSystem
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFailure) -> Int {
        try unsafe real.read(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) {
        do throws(FileFailure) {
            try fileSystem.enter(.write, path)
            try fileSystem.grow(path, to: offset + Int64(buffer.count))
        } catch {
            // Like a disk that fills up, this writes a part of the bytes.
            let part = buffer.count / 2
            if (try? fileSystem.grow(path, to: offset + Int64(part))) != nil {
                try unsafe put(UnsafeRawBufferPointer(rebasing: buffer[..<part]), at: offset)
            }
            throw error
        }
        try unsafe put(buffer, at: offset)
    }

    private func put(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) {
        try unsafe real.write(buffer, at: offset)
        let count = Int64(buffer.count)
        fileSystem.change(number) { $0.wrote(offset..<(offset + count)) }
    }

    func synchronize() throws(FileFailure) {
        let volatile = try real.read(count: Int(try real.size()), at: 0)
        do throws(FileFailure) {
            try fileSystem.enter(.synchronize, path)
        } catch {
            fileSystem.change(number) { $0.failedToSynchronize(volatile) }
            throw error
        }
        fileSystem.change(number) { $0.synchronized(volatile) }
    }

    func truncate(to size: Int64) throws(FileFailure) {
        try fileSystem.enter(.truncate, path)
        let before = try real.size()
        try real.truncate(to: size)
        fileSystem.giveBack(before - size)
    }

    func allocate(_ size: Int64) throws(FileFailure) {
        try fileSystem.enter(.write, path)
        try fileSystem.grow(path, to: size)
        try real.allocate(size)
    }

    func size() throws(FileFailure) -> Int64 { try real.size() }
    func isLinked() throws(FileFailure) -> Bool { try real.isLinked() }
}
