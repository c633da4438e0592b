import GRDB
import VaultCrypto
package import VaultModel

/// What tells one cover from another: 8 bytes. It reveals nothing about the picture.
package typealias CoverTag = Identifier<CoverKind>

/// Covers: 8 bytes.
package enum CoverKind: IdentifierKind {
    /// Eight.
    package static let byteCount = 8
}

// The cover of a title.
extension ResourceMetadata {
    /// The largest picture that can be given for a title, in bytes.
    package static let maxCoverBytes = 1 << 20

    /// The tag of the picture that was given for it, by a person or a feed; nil if none was. An invalid member counts as
    /// absent.
    package var cover: CoverTag? {
        get { if case .string(let hex)? = members["cover"] { CoverTag(hex: hex) } else { nil } }
        set { members["cover"] = newValue.map { .string($0.hex) } }
    }

    /// Whether that picture is one that a feed named, so that one in the media comes before it.
    package var hasFeedCover: Bool {
        get { members["coverFromFeed"] == .bool(true) }
        set { members["coverFromFeed"] = newValue ? .bool(true) : nil }
    }

    /// The representation in whose bytes a picture was found; nil if none was looked for, or found. An invalid member
    /// counts as absent.
    package var pictured: RepresentationID? {
        get { if case .string(let hex)? = members["pictured"] { RepresentationID(hex: hex) } else { nil } }
        set { members["pictured"] = newValue.map { .string($0.hex) } }
    }
}

extension StoredResource {
    /// The tag of its cover as far as that is known without looking into its bytes: that of the picture that a person
    /// gave, else that of a picture in its bytes, else that of the picture of a feed.
    package var coverTag: CoverTag? {
        let kept = metadata.cover
        guard kept == nil || metadata.hasFeedCover, let serving, metadata.pictured == serving.id else { return kept }
        return serving.coverTag
    }
}

extension StoredRepresentation {
    /// The tag of the picture in its bytes, if there is one.
    package var coverTag: CoverTag? { CoverTag(bytes: Array(id.bytes.prefix(CoverKind.byteCount))) }
}

extension VaultIndex {
    /// Returns the picture that was given for a title; nil if none was, or it does not open.
    package func cover(of resource: StoredResource) throws -> [UInt8]? {
        guard let tag = resource.metadata.cover else { return nil }
        let key = try resource.metadataKey()
        return try read { db in try CoverRow.fetch(tag, of: resource.id, under: key, db) }
    }

    /// Returns whether a picture was given for a title and does not open.
    package func lacksCover(_ resource: StoredResource) throws -> Bool {
        try resource.metadata.cover != nil && cover(of: resource) == nil
    }

    /// Writes the metadata of a resource, which name a picture or none, together with the picture.
    ///
    /// A picture that was there before is erased, with all copies of it.
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

    /// Seals the picture that was given for a resource under another key, another resource id, or both. One that does
    /// not open stays as it is.
    ///
    /// - Parameters:
    ///   - id: the former id of the resource.
    ///   - newID: the id that its rows already have.
    func resealCover(
        _ tag: CoverTag?, of id: ResourceID, under key: borrowing SecretKey, as newID: ResourceID,
        under newKey: borrowing SecretKey, _ db: Database
    ) throws {
        guard let tag, let picture = try CoverRow.fetch(tag, of: newID, sealedAs: id, under: key, db) else { return }
        try CoverRow.write(picture, tag, of: newID, under: newKey, db)
    }
}
