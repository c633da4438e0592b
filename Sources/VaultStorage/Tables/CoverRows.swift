import GRDB
import VaultCrypto
import VaultModel

/// The rows of the pictures that are set for titles.
package struct CoverRows {
    let store: VaultStore

    /// Returns the picture that was set for a title; nil if none was set, or if it does not open.
    package func picture(of resource: StoredResource) throws -> [UInt8]? {
        guard let tag = resource.metadata.cover else { return nil }
        let key = try resource.metadataKey()
        return try store.index.read { db in try CoverRow.fetch(tag, of: resource.id, under: key, db) }
    }

    /// Returns whether a picture was set for a title but does not open.
    package func lacksPicture(_ resource: StoredResource) throws -> Bool {
        try resource.metadata.cover != nil && picture(of: resource) == nil
    }

    /// Sets, replaces or removes the picture of a title.
    ///
    /// A picture that is removed or replaced is also erased from the index's log and from `catalog.backup` within a
    /// minute.
    ///
    /// - Parameters:
    ///   - picture: the new picture, which has at most ``ResourceMetadata/maxCoverBytes`` and is not empty; nil to
    ///     remove the present one.
    ///   - isOfFeed: whether a feed named the picture rather than a person, so that a picture in the media takes
    ///     precedence.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the picture is empty or too large, or if the pictures of
    ///   all titles together would be too large; `removed` if the title is gone.
    package func set(_ picture: [UInt8]?, isOfFeed: Bool = false, of resource: inout StoredResource) throws {
        if let picture { try Self.check(Int64(picture.count)) }
        var metadata = resource.metadata
        metadata.cover = try picture.map { _ in try SecureRandom.identifier("cover tag") }
        metadata.hasFeedCover = picture != nil && isOfFeed
        try write(metadata, with: picture, of: resource)
        store.changes.note(resource.id)
        resource.metadata = metadata
    }

    private func write(_ metadata: ResourceMetadata, with picture: [UInt8]?, of resource: StoredResource) throws {
        let key = try resource.metadataKey()
        try store.mutate(isVital: picture == nil) { index, db in
            try TitleRows.require(resource.id, db)
            let metadata = try index.completeness.withRecordedLosses(metadata, of: resource, db)
            let sealed = try ResourceRow.seal(metadata, of: resource.id, under: key)
            try ResourceRow.update(resource.id, metadata: sealed, db)
            if resource.metadata.cover != nil { try PendingErasure.record(db) }
            guard let picture, let tag = metadata.cover else { return try CoverRow.delete(of: resource.id, db) }
            try CoverRow.write(picture, tag, of: resource.id, under: key, db)
            try CoverRow.checkTotal(
                upTo: metadata.hasFeedCover ? CoverRow.maxTotalWithFeeds : CoverRow.maxTotal, db)
        }
    }

    /// Checks the size of a picture, in bytes.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the picture is empty or too large.
    package static func check(_ count: Int64) throws {
        guard count > 0 else { throw VaultError(.invalidArgument, "the picture is empty; give another") }
        guard count <= ResourceMetadata.maxCoverBytes else {
            throw VaultError(
                .invalidArgument,
                "the picture has \(Quantity.readable(bytes: count)); give one of at most "
                    + Quantity.readable(bytes: Int64(ResourceMetadata.maxCoverBytes)))
        }
    }
}
