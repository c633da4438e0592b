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

    package func create(_ id: SegmentID) throws(FileFailure) -> any StoredFile { try fileSystem.create(path(id)) }

    package func open(_ id: SegmentID, writable: Bool) throws(FileFailure) -> any StoredFile {
        try fileSystem.open(path(id), writable: writable)
    }

    package func synchronizeName(of id: SegmentID) throws(FileFailure) {
        try fileSystem.synchronizeDirectory(folder(of: id))
    }

    package func size(of id: SegmentID) throws(FileFailure) -> Int64 { try fileSystem.size(of: path(id)) }

    package func remove(_ id: SegmentID) throws(FileFailure) { try fileSystem.remove(path(id)) }

    package func quarantine(_ id: SegmentID) throws(FileFailure) {
        guard let byte = id.bytes.first else { return }
        try quarantine(id.hex, in: byte)
    }

    package func names(in byte: UInt8) throws(FileFailure) -> [String] { try fileSystem.names(in: folder(of: byte)) }

    package func quarantine(_ name: String, in byte: UInt8) throws(FileFailure) {
        try fileSystem.createDirectory(folder + "/quarantine")
        try fileSystem.rename(folder(of: byte) + "/" + name, to: folder + "/quarantine/" + name)
        try fileSystem.synchronizeDirectory(folder + "/quarantine")
        try fileSystem.synchronizeDirectory(folder(of: byte))
    }

    private func folder(of byte: UInt8) -> String { folder + "/segments/" + Hex.encode([byte]) }

    private func folder(of id: SegmentID) -> String { folder + "/segments/" + id.hex.prefix(2) }

    private func path(_ id: SegmentID) -> String { folder(of: id) + "/" + id.hex }
}
