package import VaultModel

/// Tells manifests from media by what an origin says of them.
package enum ManifestDetection {
    /// The kind of manifest that a media type stands for, else the path's extension; nil for media.
    ///
    /// A type that names media counts before the extension: origins serve anything under any name.
    package static func kind(type: String?, path: some StringProtocol) -> ManifestKind? {
        if let type, let essence = type.split(separator: ";").first?.trimmingBlanks().lowercased() {
            if let kind = byType[essence] { return kind }
            if ["video/", "audio/", "image/"].contains(where: essence.hasPrefix) { return nil }
        }
        return MediaType.guess(path: path).flatMap { byType[$0] }
    }

    private static let byType: [String: ManifestKind] = [
        "application/vnd.apple.mpegurl": .hls, "application/x-mpegurl": .hls, "audio/mpegurl": .hls,
        "audio/x-mpegurl": .hls, "application/dash+xml": .dash,
    ]
}
