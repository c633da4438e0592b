/// The head of an origin's answer.
public struct OriginHead: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: HeaderFields

    /// Which of the connections to origins the answer came by: equal numbers are the same connection. Nil where the
    /// transport cannot tell: then each answer counts as a connection of its own.
    public var connection: UInt64?

    /// A head of these parts.
    public init(status: Int, fields: HeaderFields, connection: UInt64? = nil) {
        self.status = status
        self.fields = fields
        self.connection = connection
    }

    /// The validators the answer carries. A date without a value tells nothing apart, and is none.
    public var validators: Validators {
        Validators(
            entityTag: fields["ETag"].flatMap { EntityTag($0) },
            lastModified: fields["Last-Modified"].flatMap { $0.isEmpty ? nil : $0 })
    }

    /// The same without an entity tag.
    package var withoutEntityTag: OriginHead {
        OriginHead(status: status, fields: fields.without("ETag"), connection: connection)
    }
}
