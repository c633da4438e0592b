import VaultModel

/// What stands around the parts of a `multipart/byteranges` body (RFC 9110 §14.6).
struct Multipart: Hashable, Sendable {
    /// Text that does not occur in the media, but for a chance that nobody can bring about.
    let boundary: String
    /// The media type of each part.
    let type: String
    /// The length of the whole.
    let total: Int64
    /// None is empty.
    let parts: [ByteRange]

    /// The media type of the answer.
    var contentType: String { "multipart/byteranges; boundary=\(boundary)" }

    /// What stands before a part.
    func head(of part: ByteRange) -> String {
        "\r\n--\(boundary)\r\nContent-Type: \(type)\r\nContent-Range: "
            + ContentRange.bytes(part, total: total).description + "\r\n\r\n"
    }

    /// What stands after the last part.
    var end: String { "\r\n--\(boundary)--\r\n" }

    /// The length of the body, parts and all.
    var length: Int64 {
        parts.reduce(Int64(end.utf8.count)) { $0 + Int64(head(of: $1).utf8.count) + $1.length }
    }
}
