/// The head of an origin's answer.
public struct OriginHead: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: HeaderFields

    /// A head of these parts.
    public init(status: Int, fields: HeaderFields) {
        self.status = status
        self.fields = fields
    }

    /// The validators the answer carries. A date without a value tells nothing apart, and is none.
    public var validators: Validators {
        Validators(
            entityTag: fields["ETag"].flatMap { EntityTag($0) },
            lastModified: fields["Last-Modified"].flatMap { $0.isEmpty ? nil : $0 })
    }
}
