import VaultModel

/// What answers say to keep media from a browser's disk and from other sites' pages, and a page that an origin sent in place
/// of media from acting as one of the service's own.
enum ProtectiveFields {
    /// Those of every answer.
    static let all = HeaderFields([
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
    ])

    /// Those of an answer with a body that an origin sent.
    ///
    /// - Parameter type: the origin's word for it. What is no sound, film or picture that is known may be shown as a page,
    ///   and then runs nothing. A film must not be shut in so: opened by itself, it asks for its ranges from within. To a
    ///   player that is given a playlist it makes no difference.
    static func ofMedia(type: String) -> HeaderFields {
        var fields = all
        if !MediaType.isKnownMedia(type) {
            fields.append(name: "Content-Security-Policy", value: "sandbox")
        }
        return fields
    }
}

extension HeaderFields {
    mutating func append(_ other: HeaderFields) {
        for field in other.fields { append(name: field.name, value: field.value) }
    }
}
