package import VaultModel

/// Where sealed segments rest: a folder today, a shared object store perhaps later. Every call may block.
package protocol SegmentStore: Sendable {
    /// Makes the file of a new segment.
    func create(_ id: SegmentID) throws(FileFailure) -> any StoredFile
    func open(_ id: SegmentID, writable: Bool) throws(FileFailure) -> any StoredFile
    /// Makes the names of a new or removed segment durable.
    func synchronizeName(of id: SegmentID) throws(FileFailure)
    /// The size of a segment's file.
    func size(of id: SegmentID) throws(FileFailure) -> Int64
    /// Removes a segment's file; nothing happens where there is none.
    func remove(_ id: SegmentID) throws(FileFailure)
    /// Puts a file that is not what it should be aside.
    func quarantine(_ id: SegmentID) throws(FileFailure)
    /// The names where segments rest whose ids begin with a byte, strange ones included.
    func names(in byte: UInt8) throws(FileFailure) -> [String]
    /// Puts a file of any name aside that lies there.
    func quarantine(_ name: String, in byte: UInt8) throws(FileFailure)
}

/// Segments as files: `segments/<first two hex digits>/<32 hex digits>`, and `quarantine/` for what is none.
package struct FolderSegmentStore: SegmentStore {
    private let folder: String
    private let fileSystem: any FileSystem

    package init(vault folder: String, fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// Makes the folders of a new vault and syncs them.
    package func prepare() throws(FileFailure) {
        let segments = folder + "/segments"
        try fileSystem.createDirectory(segments)
        for byte in UInt8.min...UInt8.max { try fileSystem.createDirectory(segments + "/" + Hex.encode([byte])) }
        try fileSystem.createDirectory(folder + "/quarantine")
        try fileSystem.synchronizeDirectory(segments)
        try fileSystem.synchronizeDirectory(folder)
    }

    package func create(_ id: SegmentID) throws(FileFailure) -> any StoredFile { try fileSystem.create(try path(id)) }

    package func open(_ id: SegmentID, writable: Bool) throws(FileFailure) -> any StoredFile {
        try fileSystem.open(try path(id), writable: writable)
    }

    package func synchronizeName(of id: SegmentID) throws(FileFailure) {
        try fileSystem.synchronizeDirectory(try folder(of: id))
    }

    package func size(of id: SegmentID) throws(FileFailure) -> Int64 { try fileSystem.size(of: try path(id)) }

    package func remove(_ id: SegmentID) throws(FileFailure) { try fileSystem.remove(try path(id)) }

    package func quarantine(_ id: SegmentID) throws(FileFailure) {
        guard let byte = id.bytes.first else { return }
        try quarantine(id.hex, in: byte)
    }

    package func names(in byte: UInt8) throws(FileFailure) -> [String] {
        try fileSystem.names(in: try folder(named: Hex.encode([byte])))
    }

    package func quarantine(_ name: String, in byte: UInt8) throws(FileFailure) {
        let (source, quarantine) = (try folder(named: Hex.encode([byte])), folder + "/quarantine")
        try fileSystem.createDirectory(quarantine)
        try requireNoLink(quarantine)
        try fileSystem.rename(source + "/" + name, to: quarantine + "/" + name)
        try fileSystem.synchronizeDirectory(quarantine)
        try fileSystem.synchronizeDirectory(source)
    }

    private func folder(of id: SegmentID) throws(FileFailure) -> String { try folder(named: id.hex.prefix(2)) }

    private func path(_ id: SegmentID) throws(FileFailure) -> String { try folder(of: id) + "/" + id.hex }

    /// The folder of the segments whose names begin so.
    private func folder(named name: some StringProtocol) throws(FileFailure) -> String {
        let segments = folder + "/segments"
        try requireNoLink(segments)
        let path = "\(segments)/\(name)"
        try requireNoLink(path)
        return path
    }

    /// Through a link, the files of another folder would be read, moved away and removed.
    private func requireNoLink(_ path: String) throws(FileFailure) {
        guard !fileSystem.isLink(path) else {
            throw FileFailure(.symbolicLink, "a folder of the vault is a symbolic link; put the folder in its place")
        }
    }
}

/// Why bytes of a segment cannot be had, typed by what follows from it.
package enum SegmentFailure: Error, Sendable {
    /// There is no file: the whole segment is a gap.
    case missing
    /// The file's header is damaged, or it is another segment's: put it aside, the whole segment is a gap.
    case foreign
    /// The header is right but sealed under another key: put it aside, the whole segment is a gap.
    case wrongKey
    /// One block fails its tag or is cut short: that block alone is a gap.
    case badBlock(Int)
    /// The file system refused: nothing is known about the bytes.
    case unreadable(FileFailure)

    /// Whether bytes that are there are not what was sealed.
    var isDamage: Bool {
        switch self {
        case .foreign, .wrongKey, .badBlock: true
        case .missing, .unreadable: false
        }
    }
}
