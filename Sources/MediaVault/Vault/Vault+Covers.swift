import VaultModel
import VaultStorage

/// The picture that stands for a title.
public struct Cover: Hashable, Sendable {
    /// The largest picture that can be given for a title, in bytes.
    public static let maxBytes = ResourceMetadata.maxCoverBytes

    /// What tells it from another one: 16 hex digits, the same as ``ResourceSummary/cover``.
    public let tag: String
    /// The kind of the picture, as its first bytes show it.
    public let type: PictureType
    /// The bytes of the picture: at most 1 MiB if it was given, and at most 4 MiB if it is within the media.
    public let bytes: [UInt8]

    fileprivate init?(_ tag: CoverTag?, _ picture: Picture?) {
        guard let tag, let picture else { return nil }
        (self.tag, type, bytes) = (tag.hex, picture.type, picture.bytes)
    }

    /// Refuses a picture by its size in bytes.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if there are none, or more than ``maxBytes``.
    package static func check(byteCount: Int64) throws { try VaultStore.check(coverBytes: byteCount) }

    /// Refuses what cannot be given as a cover.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the bytes are more than ``maxBytes``, or no
    ///   ``PictureType``.
    public static func check(_ picture: [UInt8]) throws {
        try check(byteCount: Int64(picture.count))
        guard PictureType(of: picture) != nil else {
            throw VaultError(.invalidArgument, "the bytes are no JPEG, PNG or WebP picture; give one of these")
        }
    }
}

// Covers: pictures that stand for titles.
extension Vault {
    /// Returns the cover of a title: the picture that was given for it, else the one within its media, else the one that
    /// its feed named; nil if there is none of these.
    ///
    /// Nothing is requested from the origin: if the bytes in which the picture would be are not held, there is none.
    ///
    /// - Throws: ``VaultError`` with code `storage` if a file cannot be read; `closed`.
    public func cover(of reference: MediaReference) async throws -> Cover? {
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        guard loader.mayGive(loader.look { $0.information }, for: reference) else { return nil }
        let (store, pictures, id) = (store, loaders.pictures, loader.record.id)
        return try await pool.run {
            guard let resource = try store.index.resource(id), resource.place == nil else { return nil }
            let kept = try store.index.cover(of: resource).flatMap {
                Cover(resource.metadata.cover, Picture($0))
            }
            guard kept == nil || resource.metadata.hasFeedCover, let serving = resource.serving else { return kept }
            return try Cover(serving.coverTag, Self.picture(in: serving, of: resource, store, pictures)) ?? kept
        }
    }

    /// Returns the picture in the bytes of a representation, as far as they are held. Blocks.
    private static func picture(
        in serving: StoredRepresentation, of resource: StoredResource, _ store: VaultStore, _ pictures: PictureCache
    ) throws -> Picture? {
        if let known = pictures.picture(of: serving.id) { return known }
        guard let media = MediaBytes(resource, in: store) else { return nil }
        do {
            let found = try MediaPicture(media).find()
            pictures.keep(found, of: serving.id, resource.id)
            // A removal that came in between has forgotten nothing of it.
            if try !store.index.hasResource(resource.id) { pictures.forget([resource.id]) }
            return found
        } catch let error as VaultError where [.notHeld, .integrity].contains(error.code) {
            // What is missing may come, and what is damaged may be mended.
            return nil
        }
    }

    /// Gives a title a cover in place of the one that it has, or takes the given one away.
    ///
    /// It is sealed like everything else about the title, and goes when the title goes. If the title is fetched again,
    /// it stays.
    ///
    /// - Parameters:
    ///   - picture: the bytes of a JPEG, PNG or WebP picture, at most ``Cover/maxBytes``; nil to take away the one that
    ///     was given.
    ///   - reference: the title.
    /// - Throws: ``VaultError`` with code `invalidArgument` if it is no such picture, the covers of all titles would
    ///   take more than 256 MiB, or the reference names a file that is stored together with its title; `notHeld` if the
    ///   vault does not know the title; `owned` if this process is not the owner; `diskFull` or `storage`.
    public func setCover(_ picture: [UInt8]?, of reference: MediaReference) async throws {
        try requireOwner(to: "changes covers")
        if let picture { try Cover.check(picture) }
        let resource = try await name(reference)
        try await loaders.requireOwnRows(of: resource)
        try await keep(picture, of: resource, isQueued: false)
    }

    /// Gives a title of the download queue a cover before its bytes are fetched, or a title that the vault has.
    ///
    /// The vault has the title from then on, also if its download is cancelled.
    ///
    /// - Throws: as ``setCover(_:of:)``; with code `notHeld` if the title is in neither.
    package func setCover(_ picture: [UInt8], ofQueued title: TitleID) async throws {
        // What has left the queue meanwhile is in the vault.
        guard let queued = try await downloads.reference(ofQueued: title) else {
            return try await setCover(picture, of: reference(of: title))
        }
        try requireOwner(to: "changes covers")
        try Cover.check(picture)
        let resource = try await name(queued)
        do {
            try await loaders.requireOwnRows(of: resource)
        } catch let error as VaultError where error.code == .notHeld {
            // It is added.
        }
        try await keep(picture, of: resource, isQueued: true)
    }

    /// - Parameter isQueued: whether the resource is added if the vault does not have it.
    private func keep(_ picture: [UInt8]?, of resource: NamedResource, isQueued: Bool) async throws {
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let record = loader.record
        let source = isQueued ? loader.urls.current : nil
        try await pool.run { try record.setCover(picture, adding: source) }
    }
}
