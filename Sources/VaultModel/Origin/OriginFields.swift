/// Request fields, and the one origin that may see them.
package struct OriginFields: Hashable, Sendable {
    /// Scheme, host and port, as ``MediaURL`` spells them.
    package let origin: String
    package let fields: HeaderFields

    package init(origin: String, fields: HeaderFields) {
        self.origin = origin
        self.fields = fields
    }

    /// Fields given along with a URL; nil where there are none.
    package init?(_ fields: HeaderFields, for url: MediaURL) {
        guard !fields.fields.isEmpty else { return nil }
        self.init(origin: url.origin, fields: fields)
    }

    /// What a request to a URL carries of them: all or nothing.
    package func sent(to url: MediaURL) -> HeaderFields { url.origin == origin ? fields : HeaderFields() }
}
