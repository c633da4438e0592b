import VaultModel

/// What every answer says to keep media from a browser's disk and from other sites' pages, and a page that an origin sent in
/// place of media from acting as one of the service's own.
enum ProtectiveFields {
    static let all = HeaderFields([
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Content-Security-Policy": "sandbox",
    ])
}

extension HeaderFields {
    mutating func append(_ other: HeaderFields) {
        for field in other.fields { append(name: field.name, value: field.value) }
    }
}
