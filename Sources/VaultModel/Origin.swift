/// Where remote bytes come from.
///
/// The vault's own is ``/MediaVault`` 's libcurl transport; another platform's transport, or a scripted one in a test,
/// stands in by this protocol.
public protocol Origin: Sendable {
    /// Sends a request and returns as soon as the head of the answer is there; the body follows as it is asked for.
    ///
    /// Cancelling the task ends the request promptly.
    ///
    /// - Throws: ``OriginFailure`` where no answer came; `CancellationError` where the task was cancelled.
    func send(_ request: OriginRequest) async throws -> any OriginResponse
}

/// An answer whose head has come and whose body arrives.
///
/// One reader at a time. Letting go of the last reference cancels what is left of the transfer.
public protocol OriginResponse: AnyObject, Sendable {
    /// The head of the answer.
    var head: OriginHead { get }

    /// The next bytes of the body, at least one and rarely more than 64 KiB; nil at its proper end.
    ///
    /// Nothing more is read from the network than a bounded buffer while nobody asks (back-pressure).
    ///
    /// - Throws: ``OriginFailure`` where the body breaks off; `CancellationError` where the task was cancelled.
    func nextBytes() async throws -> [UInt8]?

    /// Ends the transfer now. ``nextBytes()`` throws `CancellationError` from then on.
    func cancel()

    /// Ends the transfer now, and gives the bytes that had come and nobody had asked for: what was received is kept.
    func end() -> [[UInt8]]
}

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

/// Why an origin gave no answer, or no whole one. It never carries a URL's query, a header value, or media.
public struct OriginFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can make of it.
    public enum Kind: Hashable, Sendable {
        /// Nobody answered: name not found, connection refused, TLS refused, time-out before the head.
        case unreachable
        /// The answer broke off: reset, cut short, or silent for too long. Going on from the next byte may help.
        case interrupted
        /// The answer is not one HTTP allows, or not one to what was asked. Asking again does not help.
        case invalidResponse
        /// The answer is an error status.
        case refused(status: Int, retryAfter: Int?)
    }

    /// What the caller can make of it.
    public let kind: Kind
    /// What happened, in a few words without a full stop: `connection refused`.
    public let reason: String

    /// `reason` is a few words without a full stop, and holds nothing secret.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// The same as ``reason``.
    public var description: String { reason }
}

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

/// Which addresses a request may be sent to.
public enum NetworkReach: Hashable, Sendable {
    /// Any: the operator named the URL, and it may lie on this machine or in this house.
    case anywhere
    /// Addresses of the public Internet alone: somebody else named the URL.
    case publicOnly
}
