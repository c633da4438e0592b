import VaultCache
import VaultCrypto
package import VaultModel

/// A manifest in the form that a player gets, in which every reference leads through the vault.
package struct PlayableManifest: Sendable {
    /// The rewritten text, which has its own length and the media type of its kind.
    package let text: RewrittenManifest
    /// What is known of the manifest in the form in which its origin sent it.
    package let information: ContentInformation
    /// Where the manifest's bytes were when it was requested.
    package let source: MediaReader.Source
    /// Why the manifest is not stored; nil if it is stored, or was already held.
    package let bypass: BypassReason?
    /// Why the manifest is served although its origin did not confirm it; nil if it is current.
    package let staleness: Staleness?
    /// The status of the origin's answer; nil if the origin was not asked whether the manifest is current.
    package let originStatus: Int?
}

/// A manifest's text in which links have replaced the references.
package struct RewrittenManifest: Hashable, Sendable {
    package let kind: ManifestKind
    package let bytes: [UInt8]
    /// A strong entity tag. It is a hash of the text, so a text with other links, or of another version, has another
    /// tag.
    package let entityTag: EntityTag

    private static let tagByteCount = 16

    init(kind: ManifestKind, bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
        let hash = KeyDerivation.checksum(.manifest, bytes).prefix(Self.tagByteCount)
        entityTag = EntityTag(strong: Base64.encodeForURL(Array(hash)))
    }

    /// The media type that players expect for this kind of manifest.
    package var type: String {
        switch kind {
        case .hls: "application/vnd.apple.mpegurl"
        case .dash: "application/dash+xml"
        }
    }
}
