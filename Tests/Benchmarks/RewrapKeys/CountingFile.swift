import VaultStorage

/// An open segment file that counts the bytes read and written.
final class CountingFile: StoredFile {
    private let below: any StoredFile
    private let traffic: MediaTraffic

    init(_ below: any StoredFile, _ traffic: MediaTraffic) {
        self.below = below
        self.traffic = traffic
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFailure) -> Int {
        // The caller's buffer, passed on.
        let count = try unsafe below.read(into: buffer, at: offset)
        traffic.note(bytes: count)
        return count
    }

    func readFromMemory(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        // The caller's buffer, passed on.
        let count = unsafe below.readFromMemory(into: buffer, at: offset)
        traffic.note(bytes: count ?? 0)
        return count
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) {
        // The caller's buffer, passed on.
        try unsafe below.write(buffer, at: offset)
        traffic.note(bytes: buffer.count)
    }

    func startWriteback(_ range: Range<Int64>) { below.startWriteback(range) }

    func synchronize() throws(FileFailure) { try below.synchronize() }

    func truncate(to size: Int64) throws(FileFailure) { try below.truncate(to: size) }

    func size() throws(FileFailure) -> Int64 { try below.size() }

    func isLinked() throws(FileFailure) -> Bool { try below.isLinked() }
}
