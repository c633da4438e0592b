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

extension VaultIndex {
    /// Returns the picture that was set for a title; nil if none was set, or if it does not open.
    package func cover(of resource: StoredResource) throws -> [UInt8]? {
        guard let tag = resource.metadata.cover else { return nil }
        let key = try resource.metadataKey()
        return try read { db in try CoverRow.fetch(tag, of: resource.id, under: key, db) }
    }

    /// Returns whether a picture was set for a title but does not open.
    package func lacksCover(_ resource: StoredResource) throws -> Bool {
        try resource.metadata.cover != nil && cover(of: resource) == nil
    }

    /// Writes a resource's metadata, and the picture that the metadata names, if any.
    ///
    /// Has the previous picture erased, along with all copies of it.
    func write(_ metadata: ResourceMetadata, with picture: [UInt8]?, of resource: StoredResource) throws {
        let key = try resource.metadataKey()
        try write { db in
            try Self.require(resource.id, db)
            let metadata = try withRecordedLosses(metadata, of: resource, db)
            let sealed = try ResourceRow.seal(metadata, of: resource.id, under: key)
            try ResourceRow.update(resource.id, metadata: sealed, db)
            if resource.metadata.cover != nil { try PendingErasure.record(db) }
            guard let picture, let tag = metadata.cover else { return try CoverRow.delete(of: resource.id, db) }
            try CoverRow.write(picture, tag, of: resource.id, under: key, db)
            try CoverRow.checkTotal(
                upTo: metadata.hasFeedCover ? CoverRow.maxTotalWithFeeds : CoverRow.maxTotal, db)
        }
    }

    /// Seals a resource's picture again under another key, another resource id, or both. A picture that does not open
    /// is left unchanged.
    ///
    /// - Parameters:
    ///   - id: the resource's former id.
    ///   - newID: the id that the resource's rows already have.
    func resealCover(
        _ tag: CoverTag?, of id: ResourceID, under key: borrowing SecretKey, as newID: ResourceID,
        under newKey: borrowing SecretKey, _ db: Database
    ) throws {
        guard let tag, let picture = try CoverRow.fetch(tag, of: newID, sealedAs: id, under: key, db) else { return }
        try CoverRow.write(picture, tag, of: newID, under: newKey, db)
    }
}
