import HTTPTypes

/// The names of the fields that answers have, as the HTTP library wants them: it checks each that it is given.
enum FieldNames {
    private static let known = Dictionary(
        uniqueKeysWithValues: [
            "Accept-Ranges", "Allow", "Cache-Control", "Cache-Status", "Content-Length", "Content-Range",
            "Content-Security-Policy", "Content-Type", "Cross-Origin-Resource-Policy", "ETag", "Last-Modified",
            "Referrer-Policy", "Retry-After", "Server-Timing", "WWW-Authenticate",
            "X-Content-Type-Options",
        ].compactMap { name in HTTPField.Name(name).map { (name, $0) } })

    /// The name as the library has it; nil where it is none.
    static func name(_ name: String) -> HTTPField.Name? { known[name] ?? HTTPField.Name(name) }
}
