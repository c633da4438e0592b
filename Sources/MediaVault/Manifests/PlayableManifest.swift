import VaultCache
import VaultCrypto
public import VaultModel

/// A manifest in the form that a player gets, in which every reference leads through the vault.
public struct PlayableManifest: Sendable {
    /// The rewritten text, which has its own length and the media type of its kind.
    public let text: RewrittenManifest
    /// What is known of the manifest in the form in which its origin sent it.
    public let information: ContentInformation
    /// Where the manifest's bytes were when it was requested.
    public let source: MediaReader.Source
    /// Why the manifest is not stored; nil if it is stored, or was already held.
    public let bypass: BypassReason?
    /// Why the manifest is served although its origin did not confirm it; nil if it is current.
    public let staleness: Staleness?
    /// The status of the origin's answer; nil if the origin was not asked whether the manifest is current.
    public let originStatus: Int?
}

/// A manifest's text in which links have replaced the references.
public struct RewrittenManifest: Hashable, Sendable {
    /// Whether it is an HLS playlist or a DASH manifest.
    public let kind: ManifestKind
    /// The text, in UTF-8.
    public let bytes: [UInt8]
    /// A strong entity tag. It is a hash of the text, so a text with other links, or of another version, has another
    /// tag.
    public let entityTag: EntityTag

    private static let tagByteCount = 16

    init(kind: ManifestKind, bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
        let hash = KeyDerivation.checksum(.manifest, bytes).prefix(Self.tagByteCount)
        entityTag = EntityTag(strong: Base64.encodeForURL(Array(hash)))
    }

    /// The media type that players expect for this kind of manifest.
    public var type: String {
        switch kind {
        case .hls: "application/vnd.apple.mpegurl"
        case .dash: "application/dash+xml"
        }
    }
}
