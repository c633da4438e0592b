package import VaultModel

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
