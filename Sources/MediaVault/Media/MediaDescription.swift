import VaultModel
import VaultStorage

/// The facts that media state about themselves.
struct MediaDescription {
    /// The name stated in the media; nil if there is none.
    let name: String?
    /// How long the media play, in milliseconds; nil if they do not state it.
    let duration: Int64?
    /// Whether the media contain a picture of a supported type.
    let hasPicture: Bool

    init(_ media: MediaBytes) throws {
        name = try MediaName(media).find()
        duration = try MediaName(media).duration()
        hasPicture = try MediaPicture(media).find() != nil
    }
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
