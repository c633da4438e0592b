import Foundation

/// A socket in the file system.
enum SocketFile {
    /// Lets nobody but its owner connect.
    static func restrict(_ path: String) { _ = unsafe chmod(path, 0o600) }

    /// Removes a socket whose listener has ended; what is none is not ours.
    static func remove(_ path: String) {
        let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        guard kind == .typeSocket else { return }
        try? FileManager.default.removeItem(atPath: path)
    }
}
