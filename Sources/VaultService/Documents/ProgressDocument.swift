package import MediaVault

/// How far a download is.
package struct ProgressDocument: Codable, Hashable, Sendable {
    /// The bytes that are in the vault, or on their way into it.
    package let held: Int64
    /// The length; left out while nobody knows.
    package let total: Int64?
    package let type: String?
    /// `hls` or `dash` where it is a list that names media.
    package let manifest: String?

    package init(_ progress: DownloadProgress) {
        held = progress.held
        total = progress.total
        type = progress.type
        manifest = progress.manifest?.rawValue
    }
}
