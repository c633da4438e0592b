package import VaultModel

/// The place of sealed segments: a folder today, perhaps a shared object store later. Every call may block.
package protocol SegmentStore: Sendable {
    /// Creates the file of a new segment.
    func create(_ id: SegmentID) throws(FileFailure) -> any StoredFile
    func open(_ id: SegmentID, writable: Bool) throws(FileFailure) -> any StoredFile
    /// Makes the appearance or removal of a segment's name durable.
    func synchronizeName(of id: SegmentID) throws(FileFailure)
    /// Returns the size of a segment's file in bytes.
    func size(of id: SegmentID) throws(FileFailure) -> Int64
    /// Removes a segment's file, if it exists.
    func remove(_ id: SegmentID) throws(FileFailure)
    /// Moves a segment's file, which is not what it should be, to the quarantine.
    func quarantine(_ id: SegmentID) throws(FileFailure)
    /// Returns all names in the folder of segments whose ids begin with a byte, unknown files included.
    func names(in byte: UInt8) throws(FileFailure) -> [String]
    /// Moves a file of any name from that folder to the quarantine.
    func quarantine(_ name: String, in byte: UInt8) throws(FileFailure)
    /// Returns the ids of the segments after which files in the quarantine are named.
    func quarantined() throws(FileFailure) -> [SegmentID]
    func openQuarantined(_ id: SegmentID) throws(FileFailure) -> any StoredFile
    /// Moves a file from the quarantine to where its segment belongs. Fails if a file is already there.
    func takeBack(_ id: SegmentID) throws(FileFailure)
}

/// Segments as files: `segments/<first two hex digits>/<32 hex digits>`, and `quarantine/` for invalid ones.
package struct FolderSegmentStore: SegmentStore {
    private let folder: String
    private let fileSystem: any FileSystem

    package init(vault folder: String, fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// Creates the folders of a new vault, and syncs them.
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
        let (source, quarantine) = (try folder(named: Hex.encode([byte])), try quarantineFolder())
        try fileSystem.createDirectory(quarantine)
        try fileSystem.rename(source + "/" + name, to: quarantine + "/" + name)
        try fileSystem.synchronizeDirectory(quarantine)
        try fileSystem.synchronizeDirectory(source)
    }

    package func quarantined() throws(FileFailure) -> [SegmentID] {
        let quarantine = try quarantineFolder()
        guard fileSystem.exists(quarantine) else { return [] }
        return try fileSystem.names(in: quarantine).compactMap { SegmentID(hex: $0) }
    }

    package func openQuarantined(_ id: SegmentID) throws(FileFailure) -> any StoredFile {
        try fileSystem.open(try quarantineFolder() + "/" + id.hex, writable: false)
    }

    package func takeBack(_ id: SegmentID) throws(FileFailure) {
        let quarantine = try quarantineFolder()
        try fileSystem.move(quarantine + "/" + id.hex, toUnused: try path(id))
        try synchronizeName(of: id)
        try fileSystem.synchronizeDirectory(quarantine)
    }

    private func quarantineFolder() throws(FileFailure) -> String {
        let path = folder + "/quarantine"
        try requireNoLink(path)
        return path
    }

    private func folder(of id: SegmentID) throws(FileFailure) -> String { try folder(named: id.hex.prefix(2)) }

    private func path(_ id: SegmentID) throws(FileFailure) -> String { try folder(of: id) + "/" + id.hex }

    /// Returns the folder of the segments whose names begin with two hex digits.
    private func folder(named name: some StringProtocol) throws(FileFailure) -> String {
        let segments = folder + "/segments"
        try requireNoLink(segments)
        let path = "\(segments)/\(name)"
        try requireNoLink(path)
        return path
    }

    /// Refuses a link, through which files of another folder would be read, moved or removed.
    private func requireNoLink(_ path: String) throws(FileFailure) {
        guard !fileSystem.isLink(path) else {
            throw FileFailure(.symbolicLink, "a folder of the vault is a symbolic link; replace it with the folder")
        }
    }
}

/// Why bytes of a segment are unavailable; each reason has its own consequence.
package enum SegmentFailure: Error, Sendable {
    /// There is no file: the whole segment is a gap.
    case missing
    /// The header is damaged or another segment's: the file goes to quarantine, the whole segment is a gap.
    case foreign
    /// The header is right, but sealed under another key: the file goes to quarantine, the whole segment is a gap.
    case wrongKey
    /// One block has a wrong tag or is cut short: only that block is a gap.
    case badBlock(Int)
    /// The file system failed: nothing is known about the bytes.
    case unreadable(FileFailure)

    /// Whether the stored bytes differ from those that were sealed.
    var isDamage: Bool {
        switch self {
        case .foreign, .wrongKey, .badBlock: true
        case .missing, .unreadable: false
        }
    }
}
