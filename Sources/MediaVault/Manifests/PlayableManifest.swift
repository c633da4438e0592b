import VaultCrypto
package import VaultModel

/// A manifest as a player gets it: every reference leads through the vault.
package struct PlayableManifest: Sendable {
    /// The rewritten text, with its own length, and the media type of its kind.
    package let text: RewrittenManifest
    /// What is known of the manifest as its origin sent it.
    package let information: ContentInformation
    /// Where the manifest was when it was requested.
    package let source: MediaReader.Source
    /// Why it is not stored; nil if it is, or if it was held.
    package let bypass: BypassReason?
    /// Why it is served although its origin did not confirm it; nil if it is current.
    package let staleness: Staleness?
    /// The status of the origin's answer, if it was asked whether the manifest is current.
    package let originStatus: Int?
}

/// The text of a manifest with links in place of references.
package struct RewrittenManifest: Hashable, Sendable {
    package let kind: ManifestKind
    package let bytes: [UInt8]
    /// A strong tag: a hash of the text, so that other links or another version get another tag.
    package let entityTag: EntityTag

    private static let tagByteCount = 16

    init(kind: ManifestKind, bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
        let hash = KeyDerivation.checksum(.manifest, bytes).prefix(Self.tagByteCount)
        entityTag = EntityTag(strong: Base64.encodeForURL(Array(hash)))
    }

    /// The media type that players expect of this kind.
    package var type: String {
        switch kind {
        case .hls: "application/vnd.apple.mpegurl"
        case .dash: "application/dash+xml"
        }
    }
}
