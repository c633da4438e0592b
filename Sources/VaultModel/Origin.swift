/// A transport that requests bytes from origins.
///
/// The vault's own implementation uses libcurl. Another platform's transport, or a scripted one in a test, can
/// implement this protocol instead. A request fails if the response, or its next bytes, take longer than a minute to
/// arrive.
public protocol Origin: Sendable {
    /// Sends a request and returns when the head of the response has arrived; the body is received on demand.
    ///
    /// If the task is cancelled, the request ends promptly.
    ///
    /// - Throws: ``OriginFailure`` if no response came; `CancellationError` if the task was cancelled.
    func send(_ request: OriginRequest) async throws -> any OriginResponse
}

/// A response whose head has arrived and whose body is arriving.
///
/// A response allows one reader at a time. Releasing the last reference to it cancels the rest of the transfer.
public protocol OriginResponse: AnyObject, Sendable {
    /// The head of the response.
    var head: OriginHead { get }

    /// Returns the next bytes of the body, at least one and rarely more than 64 KiB; nil at the body's proper end.
    ///
    /// While no caller waits for bytes, no more than a bounded buffer is read from the network (back-pressure).
    ///
    /// - Throws: ``OriginFailure`` if the body breaks off; `CancellationError` if the task was cancelled.
    func nextBytes() async throws -> [UInt8]?

    /// Ends the transfer now. After that, ``nextBytes()`` throws `CancellationError`.
    func cancel()

    /// Ends the transfer now and returns the received bytes that no caller has taken, so that they can be kept.
    func end() -> [[UInt8]]
}

/// A request to an origin, always for identity encoding and for at most one range.
public struct OriginRequest: Sendable {
    /// The method of a request.
    public enum Method: Sendable {
        /// Requests bytes.
        case get
        /// Requests only the head.
        case head
    }

    /// The requested URL.
    public var url: MediaURL
    /// GET or HEAD.
    public var method: Method
    /// The offset of the first byte to request; nil requests everything, without a `Range` field.
    public var first: Int64?
    /// The offset one past the last byte to request; nil means to the end.
    public var end: Int64?
    /// The value for `If-Range`, which makes the origin send the range only if it still has this representation.
    public var ifRange: String?
    /// The validators for `If-None-Match` and `If-Modified-Since`; if they still match, the origin responds with 304.
    public var ifChangedFrom: Validators?
    /// Additional request fields, such as `Authorization`. They contain no control characters.
    public var fields: HeaderFields
    /// The addresses that the request may be sent to.
    ///
    /// Whatever the value, a redirect that leads to another host or port may reach only public addresses.
    public var reach: NetworkReach

    /// Creates a request for everything, unless a range is given.
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

    /// The value of the `Range` field, built only from integers; nil if the field is not sent.
    public var range: String? {
        guard let first else { return nil }
        return "bytes=\(first)-" + (end.map { String($0 - 1) } ?? "")
    }
}

/// The head of an origin's response.
public struct OriginHead: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: HeaderFields

    /// Identifies the connection on which the response arrived; equal numbers mean the same connection.
    ///
    /// Nil if the transport does not know the connection. Each response then counts as one on a connection of its own.
    public var connection: UInt64?

    /// The URL that responded, if a redirect led away from the requested one.
    public var location: MediaURL?

    /// The URL that permanently replaces the requested one, if permanent redirects (301, 308) led to it: the target of
    /// the last permanent redirect before any other redirect.
    public var movedTo: MediaURL?

    /// The hosts that responded or redirected, and that either have an address outside the public Internet or received
    /// credentials from the vault's settings.
    ///
    /// Nil if the transport does not know the hosts. A manifest from another origin never leads to content from these
    /// hosts, unless the operator has allowed each of them by name.
    public var privateHosts: Set<String>?

    /// Creates a head from its parts.
    public init(
        status: Int, fields: HeaderFields, connection: UInt64? = nil, location: MediaURL? = nil,
        privateHosts: Set<String>? = nil, movedTo: MediaURL? = nil
    ) {
        self.status = status
        self.fields = fields
        self.connection = connection
        self.location = location
        self.privateHosts = privateHosts
        self.movedTo = movedTo
    }

    /// The validators of the response.
    ///
    /// A date that is not earlier than the response's own `Date` is ignored, because the content may have changed again
    /// within that second (RFC 9110 §8.8.2.2). An empty date is also ignored.
    public var validators: Validators {
        Validators(
            entityTag: fields["ETag"].flatMap { EntityTag($0) },
            lastModified: fields["Last-Modified"].flatMap { $0.isEmpty || isOfItsOwnSecond($0) ? nil : $0 })
    }

    /// The connection whose responses are treated as one version if no validator distinguishes versions.
    ///
    /// Nil if the content changed in the same second as the response. It may still be changing, so no two responses are
    /// treated as one version.
    package var connectionOfVersion: UInt64? {
        fields["Last-Modified"].map(isOfItsOwnSecond) ?? false ? nil : connection
    }

    private func isOfItsOwnSecond(_ lastModified: String) -> Bool {
        // Both times come from the origin, so an obsolete date's century does not depend on the local clock.
        guard let sent = fields["Date"].flatMap({ HTTPDate($0, now: 0) }),
            let modified = HTTPDate(lastModified, now: sent.seconds)
        else { return false }
        return modified >= sent
    }

    /// Returns the head, with the time of its receipt as `Date` if it has no valid `Date` (RFC 9110 §6.6.1).
    package func dated(_ now: Int64) -> OriginHead {
        guard fields["Date"].flatMap({ HTTPDate($0, now: 0) }) == nil, let date = HTTPDate(seconds: now) else {
            return self
        }
        var head = self
        head.fields = fields.without("Date")
        head.fields.append(name: "Date", value: date.description)
        return head
    }

    /// The head without its entity tag.
    package var withoutEntityTag: OriginHead {
        OriginHead(
            status: status, fields: fields.without("ETag"), connection: connection, location: location,
            privateHosts: privateHosts, movedTo: movedTo)
    }
}

/// The reason why an origin sent no response, or only part of it.
///
/// The failure never contains a URL's query, a header field's value, or media.
public struct OriginFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can conclude from the failure.
    public enum Kind: Hashable, Sendable {
        /// No response arrived: the name was not found, the connection or TLS was refused, or no head arrived in time.
        case unreachable
        /// The response broke off because it was reset, cut short, or stalled. Resuming at the next byte may help.
        case interrupted
        /// The response violates HTTP, or does not match the request. Repeating the request does not help.
        case invalidResponse
        /// The response has an error status.
        case refused(status: Int, retryAfter: Int?)
    }

    /// What the caller can conclude from the failure.
    public let kind: Kind
    /// The reason in a few words without a full stop, such as `connection refused`.
    public let reason: String
    /// The remedy as an instruction, such as `correct the proxy in the settings`; nil if only waiting helps.
    public let remedy: String?

    /// Creates a failure. `reason` and `remedy` are a few words without a full stop, and contain nothing secret.
    public init(_ kind: Kind, _ reason: String, remedy: String? = nil) {
        self.kind = kind
        self.reason = reason
        self.remedy = remedy
    }

    /// The same as ``reason``.
    public var description: String { reason }
}

/// Request fields with the only origin that may receive them.
package struct OriginFields: Hashable, Sendable {
    /// The scheme, host and port, as ``MediaURL`` spells them.
    package let origin: String
    package let fields: HeaderFields

    package init(origin: String, fields: HeaderFields) {
        self.origin = origin
        self.fields = fields
    }

    /// Creates the fields that were given with a URL; nil if there are none.
    package init?(_ fields: HeaderFields, for url: MediaURL) {
        guard !fields.fields.isEmpty else { return nil }
        self.init(origin: url.origin, fields: fields)
    }

    /// Returns the fields for a request to a URL: all of them if the URL is at their origin, otherwise none.
    package func sent(to url: MediaURL) -> HeaderFields { url.origin == origin ? fields : HeaderFields() }
}

/// The addresses that a request may be sent to.
public enum NetworkReach: Hashable, Sendable {
    /// Any address, because the operator gave the URL, which may be on this machine or in the local network.
    case anywhere
    /// Only addresses on the public Internet, because the URL came from a manifest or a redirect.
    case publicOnly
}
