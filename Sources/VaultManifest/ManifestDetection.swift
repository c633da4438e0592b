package import VaultModel

/// Detects manifests by their media type and path.
package enum ManifestDetection {
    /// Returns the kind of manifest that a media type, or else the path's extension, stands for; nil for media.
    ///
    /// A type that names media takes precedence over the extension: origins serve anything under any name.
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
