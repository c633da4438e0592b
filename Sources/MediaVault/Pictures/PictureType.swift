/// The types of pictures that the vault accepts as covers. Every browser displays them, and they cannot contain
/// scripts.
///
/// A picture's type is determined only by its first bytes, never by a name or a declared type.
public enum PictureType: String, Hashable, CaseIterable, Codable, Sendable {
    /// JPEG.
    case jpeg = "image/jpeg"
    /// PNG.
    case png = "image/png"
    /// WebP.
    case webp = "image/webp"

    /// Determines a picture's type from its first bytes; nil for any other type, such as SVG, which can contain
    /// scripts.
    public init?(of bytes: some Collection<UInt8>) {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBPVP8".utf8) {
            self = .webp
        } else {
            return nil
        }
    }
}

/// A picture of an accepted type.
struct Picture: Hashable, Sendable {
    let type: PictureType
    let bytes: [UInt8]

    /// Creates a picture; nil if its first bytes match no accepted type.
    init?(_ bytes: some Collection<UInt8>) {
        guard let type = PictureType(of: bytes) else { return nil }
        (self.type, self.bytes) = (type, Array(bytes))
    }
}
