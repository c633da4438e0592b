/// A request to an origin: always for identity encoding, never for more than one range.
public struct OriginRequest: Sendable {
    /// What is done with the resource.
    public enum Method: Sendable {
        /// Ask for bytes.
        case get
        /// Ask for the head alone.
        case head
    }

    /// What is asked for.
    public var url: MediaURL
    /// GET or HEAD.
    public var method: Method
    /// The first byte wanted; nil asks for everything, without a `Range` field.
    public var first: Int64?
    /// One past the last byte wanted; nil is "to the end".
    public var end: Int64?
    /// The value for `If-Range`: answer with the range only where the representation is still this one.
    public var ifRange: String?
    /// Answer 304 where the representation is still the one of these validators: `If-None-Match`, `If-Modified-Since`.
    public var ifChangedFrom: Validators?
    /// Further request fields, such as `Authorization`. They hold no control characters.
    public var fields: HeaderFields
    /// Which addresses it may be sent to. What a redirect leads to elsewhere lies in public, whatever this says.
    public var reach: NetworkReach

    /// Asks for everything, unless a range is named.
    public init(
        url: MediaURL, method: Method = .get, first: Int64? = nil, end: Int64? = nil, ifRange: String? = nil,
        ifChangedFrom: Validators? = nil, fields: HeaderFields = HeaderFields(), reach: NetworkReach = .anywhere
    ) {
        self.url = url
        self.method = method
        self.first = first
        self.end = end
        self.ifRange = ifRange
        self.ifChangedFrom = ifChangedFrom
        self.fields = fields
        self.reach = reach
    }

    /// The value of the `Range` field, built from integers alone; nil where none is sent.
    public var range: String? {
        guard let first else { return nil }
        return "bytes=\(first)-" + (end.map { String($0 - 1) } ?? "")
    }
}
