import Foundation

/// The sources of this package.
enum Sources {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    static func files(of target: String) throws -> [URL] {
        FileManager.default.enumerator(at: folder.appending(path: target), includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" } ?? []
    }
}
