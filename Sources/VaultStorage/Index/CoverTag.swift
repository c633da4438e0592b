import GRDB
import VaultCrypto
package import VaultModel

/// An 8-byte tag that identifies a cover. It reveals nothing about the picture.
package typealias CoverTag = Identifier<CoverKind>

/// The identifier kind of cover tags.
package enum CoverKind: IdentifierKind {
    /// The size of a tag, in bytes.
    package static let byteCount = 8
}

// The cover of a title.
extension ResourceMetadata {
    /// The maximum size of a picture that can be set for a title, in bytes.
    package static let maxCoverBytes = 1 << 20

    /// The tag of the picture that a person or a feed set for the title; nil if none was set. An invalid member counts
    /// as absent.
    package var cover: CoverTag? {
        get { if case .string(let hex)? = members["cover"] { CoverTag(hex: hex) } else { nil } }
        set { members["cover"] = newValue.map { .string($0.hex) } }
    }

    /// Whether the picture that was set came from a feed, so that a picture in the media takes precedence over it.
    package var hasFeedCover: Bool {
        get { members["coverFromFeed"] == .bool(true) }
        set { members["coverFromFeed"] = newValue ? .bool(true) : nil }
    }

    /// The representation in whose bytes a picture was found; nil if no picture was searched for or found. An invalid
    /// member counts as absent.
    package var pictured: RepresentationID? {
        get { if case .string(let hex)? = members["pictured"] { RepresentationID(hex: hex) } else { nil } }
        set { members["pictured"] = newValue.map { .string($0.hex) } }
    }
}

extension StoredResource {
    /// The tag of the resource's cover, as far as it is known without reading the resource's bytes. The cover is the
    /// picture that a person set, else a picture in these bytes, else a feed's picture.
    package var coverTag: CoverTag? {
        let kept = metadata.cover
        guard kept == nil || metadata.hasFeedCover, let serving, metadata.pictured == serving.id else { return kept }
        return serving.coverTag
    }
}

extension StoredRepresentation {
    /// The tag of the picture in the representation's bytes, if they contain one.
    package var coverTag: CoverTag? { CoverTag(bytes: Array(id.bytes.prefix(CoverKind.byteCount))) }
}
