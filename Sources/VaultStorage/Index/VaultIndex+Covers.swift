import GRDB
import VaultCrypto
package import VaultModel

/// A tag that distinguishes covers, of 8 bytes. It reveals nothing about the picture.
package typealias CoverTag = Identifier<CoverKind>

/// The kind of a cover's tag: 8 bytes.
package enum CoverKind: IdentifierKind {
    /// Eight.
    package static let byteCount = 8
}

// The cover of a title.
extension ResourceMetadata {
    /// The largest picture that can be set for a title, in bytes.
    package static let maxCoverBytes = 1 << 20

    /// The tag of the picture that a person or a feed set for the title; nil if none was set. An invalid member counts
    /// as absent.
    package var cover: CoverTag? {
        get { if case .string(let hex)? = members["cover"] { CoverTag(hex: hex) } else { nil } }
        set { members["cover"] = newValue.map { .string($0.hex) } }
    }

    /// Whether a feed named that picture, so that one in the media takes precedence.
    package var hasFeedCover: Bool {
        get { members["coverFromFeed"] == .bool(true) }
        set { members["coverFromFeed"] = newValue ? .bool(true) : nil }
    }

    /// The representation in whose bytes a picture was found; nil if none was searched for, or found. An invalid member
    /// counts as absent.
    package var pictured: RepresentationID? {
        get { if case .string(let hex)? = members["pictured"] { RepresentationID(hex: hex) } else { nil } }
        set { members["pictured"] = newValue.map { .string($0.hex) } }
    }
}

extension StoredResource {
    /// The tag of its cover, as far as is known without reading its bytes: the picture that a person set, else a
    /// picture in its bytes, else the picture of a feed.
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
    /// Returns the picture that was set for a title; nil if none was, or it does not open.
    package func cover(of resource: StoredResource) throws -> [UInt8]? {
        guard let tag = resource.metadata.cover else { return nil }
        let key = try resource.metadataKey()
        return try read { db in try CoverRow.fetch(tag, of: resource.id, under: key, db) }
    }

    /// Returns whether a picture was set for a title but does not open.
    package func lacksCover(_ resource: StoredResource) throws -> Bool {
        try resource.metadata.cover != nil && cover(of: resource) == nil
    }

    /// Writes the metadata of a resource, and the picture that it names, if any.
    ///
    /// Erases the previous picture, with all copies of it.
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
