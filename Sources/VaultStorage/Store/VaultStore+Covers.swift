import VaultCrypto
import VaultModel

// The pictures that are set for titles.
extension VaultStore {
    /// Sets the picture of a title, replacing the previous one, or removes it.
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
    package func setCover(_ picture: [UInt8]?, isOfFeed: Bool = false, of resource: inout StoredResource) throws {
        if let picture { try Self.check(coverBytes: Int64(picture.count)) }
        var metadata = resource.metadata
        metadata.cover = try picture.map { _ in try SecureRandom.identifier("cover tag") }
        metadata.hasFeedCover = picture != nil && isOfFeed
        noteChange()
        let changed = metadata
        try withDiskSpace(orReserve: picture == nil) { [resource] in
            try index.write(changed, with: picture, of: resource)
        }
        changes.note(resource.id)
        resource.metadata = metadata
    }

    /// Checks the size of a picture.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the picture is empty or too large.
    package static func check(coverBytes count: Int64) throws {
        guard count > 0 else { throw VaultError(.invalidArgument, "the picture is empty; give another") }
        guard count <= ResourceMetadata.maxCoverBytes else {
            throw VaultError(
                .invalidArgument,
                "the picture has \(Quantity.readable(bytes: count)); give one of at most "
                    + Quantity.readable(bytes: Int64(ResourceMetadata.maxCoverBytes)))
        }
    }
}
