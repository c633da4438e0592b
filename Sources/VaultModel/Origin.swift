/// A transport that requests bytes from origins.
///
/// The vault's own implementation uses libcurl. An app can bring another, such as one over `URLSession`, and a test a
/// scripted one. This page says what the vault relies on. `OriginConformance` in the product `MediaVaultTesting` tries
/// all of it against a transport.
///
/// ## What is sent
///
/// A request is sent once, as ``OriginRequest`` says, to the origin itself: no cache answers it, and no cookie of an
/// earlier answer goes along. The target is sent byte for byte. The fields are those of the request, `Range` as in
/// ``OriginRequest/range``, the conditions, and `Accept-Encoding: identity`; a transport may add `Host`, `User-Agent`,
/// `Accept` and what concerns the connection. A connection that was kept from an earlier request may turn out to be
/// closed, and the request is then sent again on a new one. Every other retry is the vault's
/// (``RetryPolicy`` has its limits). Proxies, user agent, credentials of hosts and the other ``NetworkSettings`` are
/// those of the vault's own transport: one of an app has its own.
///
/// ## Redirects
///
/// The transport follows 301, 302, 303, 307 and 308 with a `Location`, at least five in a row (the vault's own: ten),
/// with the same method, range and conditions. It reports where they led as ``OriginHead/location`` and
/// ``OriginHead/movedTo``. Without a `Location` they are answers. It refuses, as
/// ``OriginFailure/Kind/invalidResponse``, a redirect without end, one to something other than http or https, and one
/// from https to http.
///
/// The request's own fields belong to the origin (scheme, host and port) of the requested URL. Once a redirect leads to
/// another origin they are not sent any more, not even if a later redirect leads back. A user name and password in a
/// redirect's target are dropped. Cookies that a redirect sets may go along to the same origin for this one request,
/// because some origins redirect to themselves until a cookie comes back.
///
/// ## Addresses
///
/// ``OriginRequest/reach`` says to which addresses a request may be sent, whatever name or spelling leads to them.
/// A redirect to the host and port of the requested URL, or from its port 80 to its port 443 over TLS, has the same
/// reach; any other only public addresses. What is excluded gets nothing, and the request fails as
/// ``OriginFailure/Kind/invalidResponse``. A transport that lets this pass lets manifests of strangers read from the
/// local network.
///
/// ## The answer
///
/// Every status is an answer, 404 and 503 included: the vault reads the status and `Retry-After`. A 206, 200 or 416 to
/// a range comes as the origin sent it, with its `Content-Range`; the vault compares it with the request, and uses what
/// is right of it. Interim answers (1xx) are skipped. A 304 is passed on.
///
/// Field names may come in any case. Several fields of one name come in order, each on its own, or as one list with
/// commas (RFC 9110 §5.3). A head of 15 KiB and 100 fields is read; an endless one is a failure (the vault's own
/// transport takes 64 KiB and 200 fields, and calls more an invalid response).
///
/// ## The body
///
/// The body is what the origin sent as content: without the transfer coding (chunks, and trailers after them), but with
/// the content coding, which is not undone, so that offsets in it are offsets in what the origin has.
/// `Content-Encoding` stays, even where a transport cannot but decode: the vault then refuses the answer, as the
/// transport may do itself.
///
/// ``OriginResponse/nextBytes()`` returns nil only where the message ends (RFC 9112 §6.3): after `Content-Length`
/// bytes, the last chunk, or the end of a connection that ends the body. A body that ends before is
/// ``OriginFailure/Kind/interrupted``, after the bytes that came, or the vault would take a part for the whole. What
/// comes after `Content-Length` bytes is not delivered. After HEAD, 204 and 304 there is no body, whatever
/// `Content-Length` says.
///
/// ## Failures
///
/// A transport throws ``OriginFailure`` if there is no answer or only a part of it, and ``OriginFailure/Kind`` says
/// what the vault does about each kind. It translates its own errors, such as `URLError`: the vault does not repeat a
/// request that failed with any other error. `CancellationError` means that the caller cancelled, and nothing else: the
/// vault then reports no failure.
///
/// ## Concurrency
///
/// Requests run side by side, on one transport and without a limit on their number that the vault would know of. A
/// transport may make a request wait for a connection. A body that nobody reads at the moment must not hold up another
/// request, and no call may block a thread of the cooperative pool.
///
/// A transport needs no time limit: one that is given to the vault in ``VaultOptions/origin`` is given up when it
/// neither answers nor fails for ``RetryPolicy/silenceLimit``.
public protocol Origin: Sendable {
    /// Sends a request and returns when the head of the response has arrived; the body is received on demand.
    ///
    /// If the task is cancelled, the request ends promptly, and with it the connection or stream that it uses.
    ///
    /// - Throws: ``OriginFailure`` if no response came; `CancellationError` if the task was cancelled.
    func send(_ request: OriginRequest) async throws -> any OriginResponse
}

/// A response whose head has arrived and whose body is arriving.
///
/// A response allows one reader at a time, but ``cancel()`` and ``end()`` may come from any task, also while a reader
/// waits. Releasing the last reference to it cancels the rest of the transfer.
public protocol OriginResponse: AnyObject, Sendable {
    /// The head of the response.
    var head: OriginHead { get }

    /// Returns the next bytes of the body, at least one, rarely more than 64 KiB and never more than 1 MiB; nil at the
    /// body's proper end, and each time after that.
    ///
    /// Bytes are returned as they arrive, without waiting for a full piece. While no caller waits for bytes, no more
    /// than a bounded buffer is read from the network (back-pressure): the vault's own transport holds 128 KiB. With
    /// the system's buffers, it is 16 MiB at most.
    ///
    /// - Throws: ``OriginFailure`` if the body breaks off; `CancellationError` if the task was cancelled, and the
    ///   transfer ends with it.
    func nextBytes() async throws -> [UInt8]?

    /// Ends the transfer now. After that, ``nextBytes()`` throws `CancellationError`. Another call does nothing.
    func cancel()

    /// Ends the transfer now, as ``cancel()`` does, and returns the received bytes that no caller has taken, so that
    /// they can be kept.
    ///
    /// They follow the bytes that ``nextBytes()`` returned without a gap. A transport that has none returns an empty
    /// list.
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

    /// The requested URL. In the requests of a vault it has no user name and password: they are an `Authorization`
    /// field.
    public var url: MediaURL
    /// GET or HEAD.
    public var method: Method
    /// The offset of the first byte to request; nil requests everything, without a `Range` field.
    public var first: Int64?
    /// The offset one past the last byte to request; nil means to the end.
    public var end: Int64?
    /// The value for `If-Range`, which makes the origin send the range only if it still has this representation.
    public var ifRange: String?
    /// The validators for `If-None-Match` and `If-Modified-Since`, both of which are sent if there are both; if they
    /// still match, the origin responds with 304.
    public var ifChangedFrom: Validators?
    /// Additional request fields, such as `Authorization`. They contain no control characters, and none of the fields
    /// that follow from other properties.
    public var fields: HeaderFields
    /// The addresses that the request may be sent to, unless a redirect restricts them further.
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
    /// The header fields, as the last answer had them.
    public var fields: HeaderFields

    /// Identifies the connection on which the response arrived; equal numbers mean the same connection.
    ///
    /// Nil if the transport does not know the connection. Each response then counts as one on a connection of its own.
    public var connection: UInt64?

    /// The URL that responded, without user name and password, if a redirect led away from the requested one; otherwise
    /// nil. References in a manifest are resolved against it.
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
        /// The vault asks again, with growing delays.
        case unreachable
        /// The response broke off because it was reset, cut short, or stalled. The vault resumes at the next byte.
        case interrupted
        /// The response violates HTTP, or does not match the request. The vault does not repeat the request.
        case invalidResponse
        /// The response has an error status. The vault makes this failure from an ``OriginHead``; a transport never
        /// throws it.
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
