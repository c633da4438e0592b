import VaultCache
import VaultModel
import VaultStorage

/// The picture that stands for a title.
public struct Cover: Hashable, Sendable {
    /// The maximum size of a cover that can be set, in bytes.
    public static let maxBytes = ResourceMetadata.maxCoverBytes

    /// A tag that identifies the cover's content: 16 hex digits, the same as ``ResourceSummary/cover``.
    public let tag: String
    /// The picture's type, determined from its first bytes.
    public let type: PictureType
    /// The picture's bytes: at most 1 MiB if the picture was set, and at most 4 MiB if it is within the media.
    public let bytes: [UInt8]

    fileprivate init?(_ tag: CoverTag?, _ picture: Picture?) {
        guard let tag, let picture else { return nil }
        (self.tag, type, bytes) = (tag.hex, picture.type, picture.bytes)
    }

    /// Checks a picture's size in bytes.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the size is 0, or more than ``maxBytes``.
    package static func check(byteCount: Int64) throws { try CoverRows.check(byteCount) }

    /// Checks that a picture can be set as a cover.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if there are more than ``maxBytes`` bytes, or if they are
    ///   not a picture of a ``PictureType``.
    public static func check(_ picture: [UInt8]) throws {
        try check(byteCount: Int64(picture.count))
        guard PictureType(of: picture) != nil else {
            throw VaultError(.invalidArgument, "the bytes are no JPEG, PNG or WebP picture; give one of these")
        }
    }
}

// Covers: the pictures that stand for titles.
extension Titles {
    /// Returns the cover of a title: the picture that was set for it, or else the one within its media, or else the one
    /// that its feed named; nil if there is none of these.
    ///
    /// This requests nothing from the origin, so a picture in bytes that are not held is not found.
    ///
    /// - Throws: ``VaultError`` with code `storage` if a file cannot be read; `closed` if the vault is closed.
    public func cover(of reference: MediaReference) async throws -> Cover? {
        let (loader, lease) = try await loaders.use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        guard DerivedAccess(to: loader, for: reference).mayGive(loader.information) else { return nil }
        let (store, pictures, id) = (store, pictures, loader.record.id)
        return try await pool.run {
            guard let resource = try store.index.resources.find(id), resource.place == nil else { return nil }
            let kept = try store.covers.picture(of: resource).flatMap {
                Cover(resource.metadata.cover, Picture($0))
            }
            guard kept == nil || resource.metadata.hasFeedCover, let serving = resource.serving else { return kept }
            return try Cover(serving.coverTag, Self.picture(in: serving, of: resource, store, pictures)) ?? kept
        }
    }

    /// Returns the picture in the held bytes of a representation; nil if none is found. Blocks.
    private static func picture(
        in serving: StoredRepresentation, of resource: StoredResource, _ store: VaultStore, _ pictures: PictureCache
    ) throws -> Picture? {
        if let known = pictures.picture(of: serving.id) { return known }
        guard let media = MediaBytes(resource, in: store) else { return nil }
        do {
            let found = try MediaPicture(media).find()
            pictures.keep(found, of: serving.id, resource.id)
            // If the resource was removed during the search, the removal had no picture to forget yet.
            if try !store.index.resources.has(resource.id) { pictures.forget([resource.id]) }
            return found
        } catch let error as VaultError where [.notHeld, .integrity].contains(error.code) {
            // Cache nothing: missing bytes may arrive, and damaged bytes may be repaired.
            return nil
        }
    }

    /// Sets the cover of a title, or removes the cover that was set.
    ///
    /// The cover is sealed like everything else about the title, and is removed with it. It is kept if the title is
    /// fetched again.
    ///
    /// - Parameters:
    ///   - picture: the bytes of a JPEG, PNG or WebP picture, at most ``Cover/maxBytes``; nil to remove the cover that
    ///     was set.
    ///   - reference: the title.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the bytes are not such a picture, if the covers of all
    ///   titles would take more than 256 MiB, or if the reference names a file that is stored together with its title;
    ///   `notHeld` if the vault does not know the title; `owned` if this process is not the owner; `diskFull` or
    ///   `storage` if the cover cannot be written.
    public func setCover(_ picture: [UInt8]?, of reference: MediaReference) async throws {
        try store.requireOwner(to: "changes covers")
        if let picture { try Cover.check(picture) }
        let resource = try await loaders.name(reference)
        try await loaders.requireOwnRows(of: resource)
        try await keep(picture, of: resource, isQueued: false)
    }

    /// Sets the cover of a title that is in the vault, or that is in the download queue before its bytes are fetched.
    ///
    /// From then on, the title is in the vault, even if its download is cancelled.
    ///
    /// - Throws: the errors of ``setCover(_:of:)``, with code `notHeld` if the title is neither in the vault nor in the
    ///   queue.
    package func setCover(_ picture: [UInt8], ofQueued title: TitleID) async throws {
        // A title that left the queue just now is in the vault.
        guard let queued = try await downloads.reference(ofQueued: title) else {
            return try await setCover(picture, of: reference(of: title))
        }
        try store.requireOwner(to: "changes covers")
        try Cover.check(picture)
        let resource = try await loaders.name(queued)
        do {
            try await loaders.requireOwnRows(of: resource)
        } catch let error as VaultError where error.code == .notHeld {
            // The resource is not in the vault yet; keeping the picture adds it.
        }
        try await keep(picture, of: resource, isQueued: true)
    }

    /// - Parameter isQueued: whether to add the resource if the vault does not have it.
    private func keep(_ picture: [UInt8]?, of resource: NamedResource, isQueued: Bool) async throws {
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let record = loader.record
        let source = isQueued ? loader.origin.urls.current : nil
        try await pool.run { try record.setCover(picture, adding: source) }
    }
}
