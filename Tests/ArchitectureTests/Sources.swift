import Foundation

/// The sources of this package.
enum Sources {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    /// This package's targets, the lowest first.
    static let targets = [
        "VaultModel", "VaultManifest", "VaultCrypto", "VaultStorage", "VaultFetch", "VaultCache", "MediaVault",
        "OriginServer", "MediaVaultTesting", "VaultService", "VaultCommand",
    ]

    static func files(of target: String) throws -> [URL] {
        FileManager.default.enumerator(at: folder.appending(path: target), includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" } ?? []
    }

    /// The files of each target, each with its folder within the target.
    static let texts: [String: [(folder: String, text: SwiftText)]] = {
        var texts: [String: [(String, SwiftText)]] = [:]
        for target in targets {
            let depth = folder.appending(path: target).pathComponents.count
            // A target with an unreadable file has no files, and the tests report this.
            texts[target] = try? files(of: target).map { file in
                let parts = file.deletingLastPathComponent().pathComponents.dropFirst(depth)
                return (parts.joined(separator: "/"), SwiftText(try String(contentsOf: file, encoding: .utf8)))
            }
        }
        return texts
    }()
}
