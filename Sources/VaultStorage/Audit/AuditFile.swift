/// `audit.log` as a file: lines that are durable one after the other. Every call may block.
struct AuditFile: Sendable {
    private let folder: String
    private let fileSystem: any FileSystem

    /// Where the next line begins.
    struct End: Sendable {
        let offset: Int64
        /// The line before, without its line end; nil where there is none.
        let last: [UInt8]?
    }

    /// More than the longest line.
    private static let tailBytes: Int64 = 8192
    /// The longest log that is read.
    private static let mostBytes = 256 << 20

    init(in folder: String, fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
    }

    private var path: String { folder + "/audit.log" }

    /// All that it holds; nothing where there is no file.
    func contents() throws(FileFailure) -> [UInt8] {
        do throws(FileFailure) {
            return try fileSystem.contents(of: path, atMost: Self.mostBytes)
        } catch {
            guard error.kind == .notFound else { throw error }
            return []
        }
    }

    /// Where it ends: what stands behind the last whole line was promised to nobody.
    func end() throws(FileFailure) -> End {
        guard fileSystem.exists(path) else { return End(offset: 0, last: nil) }
        let file = try fileSystem.open(path, writable: false)
        let size = try file.size()
        // All of it where the last bytes have no line end: then it is short, or damaged.
        for first in [max(0, size - Self.tailBytes), 0] {
            let bytes = try file.read(count: Int(size - first), at: first)
            guard let end = bytes.lastIndex(of: 0x0A) else { continue }
            let start = bytes[..<end].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
            return End(offset: first + Int64(end) + 1, last: Array(bytes[start..<end]))
        }
        return End(offset: 0, last: nil)
    }

    /// Writes a line, durably.
    func append(_ line: [UInt8], at end: End) throws(FileFailure) {
        let isNew = !fileSystem.exists(path)
        let file = isNew ? try fileSystem.create(path) : try fileSystem.open(path, writable: true)
        try file.truncate(to: end.offset)
        try file.write(line, at: end.offset)
        try file.synchronize()
        // Only behind a line that is durable: of a longer write, the end may reach the disk before the middle.
        try file.write([0x0A], at: end.offset + Int64(line.count))
        try file.synchronize()
        if isNew { try fileSystem.synchronizeDirectory(folder) }
    }

    /// Takes back what was written behind an end.
    func cut(to end: End) throws(FileFailure) {
        let file = try fileSystem.open(path, writable: true)
        try file.truncate(to: end.offset)
        try file.synchronize()
    }
}
