/// The kinds of pictures that are kept and given as covers: those that every browser shows, and that hold no script.
///
/// What a picture is shows in its first bytes alone, never in a name or in a type that comes with it.
public enum PictureType: String, Hashable, CaseIterable, Codable, Sendable {
    /// JPEG.
    case jpeg = "image/jpeg"
    /// PNG.
    case png = "image/png"
    /// WebP.
    case webp = "image/webp"

    /// Judges a picture by its first bytes; nil if it is none of the kinds, such as SVG, which can hold scripts.
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

/// A picture of one of the kinds that are kept and given.
struct Picture: Hashable, Sendable {
    let type: PictureType
    let bytes: [UInt8]

    /// Creates a picture; nil if its first bytes are those of no such kind.
    init?(_ bytes: some Collection<UInt8>) {
        guard let type = PictureType(of: bytes) else { return nil }
        (self.type, self.bytes) = (type, Array(bytes))
    }
}
