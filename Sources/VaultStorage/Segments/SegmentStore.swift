package import VaultModel

/// The storage of sealed segments: a folder today, perhaps a shared object store later. Every call may block.
package protocol SegmentStore: Sendable {
    /// Creates the file of a new segment.
    func create(_ id: SegmentID) throws(FileFailure) -> any StoredFile
    func open(_ id: SegmentID, writable: Bool) throws(FileFailure) -> any StoredFile
    /// Makes the creation or removal of a segment's file name durable.
    func synchronizeName(of id: SegmentID) throws(FileFailure)
    /// Returns the size of a segment's file in bytes.
    func size(of id: SegmentID) throws(FileFailure) -> Int64
    /// Removes a segment's file, if it exists.
    func remove(_ id: SegmentID) throws(FileFailure)
    /// Moves the file of a segment to the quarantine, because it is not a usable segment.
    func quarantine(_ id: SegmentID) throws(FileFailure)
    /// Returns the names of all files, including unknown ones, in the folder for segment ids that begin with `byte`.
    func names(in byte: UInt8) throws(FileFailure) -> [String]
    /// Moves a file with any name from the folder for segment ids that begin with `byte` to the quarantine.
    func quarantine(_ name: String, in byte: UInt8) throws(FileFailure)
    /// Returns the segment ids that are names of files in the quarantine.
    func quarantined() throws(FileFailure) -> [SegmentID]
    func openQuarantined(_ id: SegmentID) throws(FileFailure) -> any StoredFile
    /// Moves a segment's file from the quarantine back to its folder. Fails if such a file is already there.
    func takeBack(_ id: SegmentID) throws(FileFailure)
}

/// A folder that stores each segment as `segments/<first two hex digits>/<32 hex digits>`, and unusable files in
/// `quarantine/`.
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

    /// Refuses a symbolic link, because files of another folder would be read, moved or removed through it.
    private func requireNoLink(_ path: String) throws(FileFailure) {
        guard !fileSystem.isLink(path) else {
            throw FileFailure(.symbolicLink, "a folder of the vault is a symbolic link; replace it with the folder")
        }
    }
}

/// The reason why bytes of a segment are unavailable.
package enum SegmentFailure: Error, Sendable {
    /// There is no file, so the whole segment is a gap.
    case missing
    /// The header is damaged or belongs to another segment. The file goes to the quarantine, and the whole segment is a
    /// gap.
    case foreign
    /// The header is right, but the segment is sealed under another key. The file goes to the quarantine, and the whole
    /// segment is a gap.
    case wrongKey
    /// One block has a wrong tag or is cut short. Only that block is a gap.
    case badBlock(Int)
    /// The file system failed, so nothing is known about the bytes.
    case unreadable(FileFailure)

    /// Whether the stored bytes differ from those that were sealed.
    var isDamage: Bool {
        switch self {
        case .foreign, .wrongKey, .badBlock: true
        case .missing, .unreadable: false
        }
    }
}
