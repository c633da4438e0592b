import VaultModel
import VaultStorage

/// The facts that media state about themselves.
struct MediaDescription {
    let tags: MediaTags
    /// Whether the media contain a picture of a supported type.
    let hasPicture: Bool

    init(_ media: MediaBytes) throws {
        tags = try MediaTags(of: media)
        do {
            hasPicture = try MediaPicture(media).find() != nil
        } catch let error as VaultError where error.code == .notHeld {
            hasPicture = false
        }
    }

    /// The name stated in the media; nil if there is none.
    var name: String? { tags.name }
    /// What the media state about their album or series; nil if they state nothing, which is not worth a write.
    var titleTags: TitleTags? {
        var found = TitleTags()
        (found.artist, found.album, found.series) = (tags.artist, tags.album, tags.series)
        (found.track, found.disc, found.season, found.episode) = (tags.track, tags.disc, tags.season, tags.episode)
        found.language = tags.language
        return found.isEmpty ? nil : found
    }
    /// How long the media play, in milliseconds; nil if they do not state it.
    var duration: Int64? { tags.duration }
}

extension MediaBytes {
    /// Creates a view of the bytes that the vault holds of a resource; nil if the resource's length is unknown. Reading
    /// blocks, and throws ``VaultError`` with code `notHeld` if a byte is missing.
    init?(_ resource: StoredResource, in store: VaultStore) {
        guard let length = resource.serving?.info.information.length else { return nil }
        self.init(length: length) { position, count in
            try store.segments.bytes((0..<length).clamped(to: position..<position + Int64(count)), of: resource)
        }
    }
}
