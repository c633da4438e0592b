import Foundation

/// A temporary folder for one test, removed with its last reference.
package final class TemporaryFolder: Sendable {
    package enum Place: Sendable {
        /// In memory, if the system has room: tests show durability with a ``SimulatedFileSystem``, and a busy disk
        /// would be slow to create a vault's folders.
        case memory
        /// On a disk, where the system can read a file without waiting only from its cache.
        case disk

        fileprivate var folder: String {
            let memory = "/dev/shm"
            let free = try? FileManager.default.attributesOfFileSystem(forPath: memory)[.systemFreeSize] as? Int
            let hasRoom = FileManager.default.isWritableFile(atPath: memory) && (free ?? 0) > 1 << 30
            return self == .memory && hasRoom ? memory : FileManager.default.temporaryDirectory.path
        }
    }

    package let path: String

    package init(in place: Place = .memory) throws {
        path = place.folder + "/mediavault-test-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Removes a file, or a folder with its content.
    package static func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

    /// The permission bits of a path below the folder.
    package static func mode(of path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
    }

    /// Every regular file below a path, by its path.
    package static func files(below path: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).map { path + "/" + $0 }.filter { file in
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            return attributes[.type] as? FileAttributeType == .typeRegular
        }.sorted()
    }
}
