import MediaVault
import VaultModel

/// The body of `PUT /api/v1/resources/{id}/cover`.
struct CoverDetails: Codable, Sendable {
    /// The picture's bytes in base64.
    let image: String

    /// The maximum length of the body in bytes. It suffices for the largest picture in base64, even if the client
    /// escapes each slash.
    static let maxBodyBytes = 2 << 20

    init(_ picture: [UInt8]) { image = Base64.encode(picture) }

    /// The picture's bytes.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the text is not base64.
    var picture: [UInt8] {
        get throws {
            guard let bytes = Base64.decode(image) else {
                throw VaultError(
                    .invalidArgument, "the body's image is not base64 with padding and without line ends")
            }
            return bytes
        }
    }
}
