/// The file `audit.log`, each line of which is made durable on its own. Every call may block.
struct AuditFile: Sendable {
    private let folder: String
    private let fileSystem: any FileSystem

    /// The end of the complete lines, where the next line is written.
    struct End: Sendable {
        let offset: Int64
        /// The last complete line, without its newline; nil if there is none.
        let last: [UInt8]?
    }

    /// The maximum number of bytes returned for one line, which no written line exceeds. For a longer line, only its
    /// end is returned.
    private static let maxLineBytes = 8192
    /// The number of bytes read at a time.
    private static let piece: Int64 = 64 << 10
    /// The maximum size in bytes of a log that is read.
    private static let maxBytes: Int64 = 256 << 20

    init(in folder: String, fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
    }

    private var path: String { folder + "/audit.log" }

    /// Calls `body` for each complete line in order, reading the file in pieces.
    func forEachLine(_ body: ([UInt8]) -> Void) throws(FileFailure) {
        guard let (file, size) = try opened() else { return }
        var (place, line): (Int64, [UInt8]) = (0, [])
        while place < size {
            let bytes = try file.read(count: Int(min(Self.piece, size - place)), at: place)
            guard !bytes.isEmpty else { return }
            var rest = bytes[...]
            while let end = rest.firstIndex(of: 0x0A) {
                body(Array((line + rest[..<end]).suffix(Self.maxLineBytes)))
                line = []
                rest = rest[(end + 1)...]
            }
            line = Array((line + rest).suffix(Self.maxLineBytes))
            place += Int64(bytes.count)
        }
    }

    /// Calls `body` for each complete line in reverse order.
    ///
    /// - Parameter body: receives a line and the offset of the next one, and returns whether to continue.
    func forEachLineFromEnd(_ body: (_ line: [UInt8], _ end: Int64) -> Bool) throws(FileFailure) {
        guard let (file, size) = try opened() else { return }
        var place = size
        // The part of a line that lies after `place`, and the offset just after that line, once its end has been found.
        var (line, lineEnd): ([UInt8], Int64?) = ([], nil)
        while place > 0 {
            let first = max(0, place - Self.piece)
            var bytes = try file.read(count: Int(place - first), at: first)[...]
            while let end = bytes.lastIndex(of: 0x0A) {
                if let lineEnd, !body(Array((bytes[(end + 1)...] + line).suffix(Self.maxLineBytes)), lineEnd) { return }
                (line, lineEnd) = ([], first + Int64(end) + 1)
                bytes = bytes[..<end]
            }
            if lineEnd != nil { line = Array((bytes + line).suffix(Self.maxLineBytes)) }
            place = first
        }
        if let lineEnd { _ = body(line, lineEnd) }
    }

    /// Returns the end of the last complete line. Any bytes after it belong to a write that was never acknowledged.
    func end() throws(FileFailure) -> End {
        var found = End(offset: 0, last: nil)
        try forEachLineFromEnd { line, end in
            found = End(offset: end, last: line)
            return false
        }
        return found
    }

    /// Opens the file, and returns it with its size; returns nil if there is no file.
    private func opened() throws(FileFailure) -> (file: any StoredFile, size: Int64)? {
        let file: any StoredFile
        do throws(FileFailure) {
            file = try fileSystem.open(path, writable: false)
        } catch {
            guard error.kind == .notFound else { throw error }
            return nil
        }
        let size = try file.size()
        guard size <= Self.maxBytes else {
            throw FileFailure(.other(27), "larger than \(Self.maxBytes) bytes, so it is not a log; move it away")
        }
        return (file, size)
    }

    /// Durably writes a line at the given end, in place of any bytes after it.
    func append(_ line: [UInt8], at end: End) throws(FileFailure) {
        let isNew = !fileSystem.exists(path)
        let file = isNew ? try fileSystem.create(path) : try fileSystem.open(path, writable: true)
        try file.truncate(to: end.offset)
        try file.write(line, at: end.offset)
        try file.synchronize()
        // The newline is written only once the line is durable, because the end of a single write could reach the disk
        // before its middle.
        try file.write([0x0A], at: end.offset + Int64(line.count))
        try file.synchronize()
        if isNew { try fileSystem.synchronizeDirectory(folder) }
    }

    /// Durably truncates the file to an earlier end.
    func cut(to end: End) throws(FileFailure) {
        let file = try fileSystem.open(path, writable: true)
        try file.truncate(to: end.offset)
        try file.synchronize()
    }
}
