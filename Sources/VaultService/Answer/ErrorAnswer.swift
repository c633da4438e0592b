import HTTPTypes
import VaultModel

/// The answers to requests that get no media.
enum ErrorAnswer {
    /// The same answer for unknown targets, and for links that are unknown, expired, revoked or out of scope.
    static let notFound = answer(ProblemDocument(status: 404, title: "Not Found"))

    /// Returns the answer to a path that the service does not have. For an API path, the answer states the reason.
    static func notFound(target: String) -> Answer {
        guard target.hasPrefix("/api/") else { return notFound }
        return target.hasPrefix("/api/v1/resources/") ? strangeID : unknownAPIPath
    }

    private static let unknownAPIPath = answer(
        ProblemDocument(
            status: 404, title: "Not Found", detail: "the API has no such path; see /api/v1/openapi.json"))

    private static let strangeID = answer(
        ProblemDocument(
            status: 404, title: "Not Found",
            detail: "the path has no id of a resource, which is eight letters and digits such as k3v7q2ma, or the API "
                + "has no such path; list the resources, and see /api/v1/openapi.json"))

    static let notForViewers = answer(
        ProblemDocument(
            status: 403, title: "Forbidden",
            detail: "viewers list and play what is shared with them; ask the owner of the vault for anything else"))

    static let malformedHost = answer(
        ProblemDocument(
            status: 400, title: "Bad Request", detail: "the request must name its host once, in the Host field"))

    static let misdirectedHost = answer(
        ProblemDocument(
            status: 421, title: "Misdirected Request",
            detail: "this service does not serve the request's host and port; its operator can allow the host",
            hint: .allowHost))

    static let foreignUser = answer(
        ProblemDocument(
            status: 403, title: "Forbidden", detail: "only the vault's own user may use the control socket"))

    static let failedCondition = answer(
        ProblemDocument(
            status: 412, title: "Precondition Failed",
            detail: "the resource does not meet the request's condition; request it without one"))

    static let crossSitePage = answer(
        ProblemDocument(
            status: 403, title: "Forbidden",
            detail: "a web page of another site sent the request; the service's operator can allow that site",
            hint: .allowPage))

    static let notToRun = answer(
        ProblemDocument(
            status: 403, title: "Forbidden",
            detail: "media is never a script, a style or a worker of a page; play it, or fetch it as data"))

    /// - Parameter isGiven: whether the request presented a token or a ticket, which was invalid.
    static func unauthorized(isGiven: Bool) -> Answer {
        let detail =
            isGiven
            ? "the token or ticket is not valid: it may have expired, or been revoked or used; create another"
            : "the request needs a token, in the field Authorization: Bearer"
        return challenge(
            ProblemDocument(status: 401, title: "Unauthorized", detail: detail),
            isGiven ? [("error", "invalid_token")] : [])
    }

    static let spentTicket = challenge(
        ProblemDocument(
            status: 401, title: "Unauthorized",
            detail: "the ticket is not valid: it is good once, and for a minute; create another"),
        [("error", "invalid_token")])

    /// Returns the answer to a viewer whose name and PIN were refused, or who must wait before the next attempt.
    static func refusedSignIn(_ error: VaultError) -> Answer {
        guard error.code == .busy else {
            return challenge(
                ProblemDocument(status: 401, title: "Unauthorized", detail: error.message), [("error", "invalid_token")]
            )
        }
        var document = ProblemDocument(status: 429, title: "Too Many Requests", detail: error.message)
        document.retryAfter = error.retryAfter
        return answer(document, fields: HeaderFields(["Retry-After": String(error.retryAfter ?? 1)]))
    }

    /// Returns the answer to a browser that signs in while the service only reads the vault. This case does not count
    /// as a failure.
    static func noSessions(_ error: VaultError) -> Answer {
        answer(ProblemDocument(status: 503, title: "Service Unavailable", error: error))
    }

    /// - Parameter scope: the least scope that would suffice.
    static func insufficientScope(_ scope: AccessScope) -> Answer {
        challenge(
            ProblemDocument(
                status: 403, title: "Forbidden",
                detail: "the token's scope does not allow this request; use one with the scope \(scope.rawValue)"),
            [("error", "insufficient_scope"), ("scope", scope.rawValue)])
    }

    /// Returns an answer with a challenge that names the token scheme (RFC 6750 §3).
    private static func challenge(_ document: ProblemDocument, _ parameters: [(String, String)]) -> Answer {
        let all = [("realm", "mediavault")] + parameters
        let challenge = "Bearer " + all.map { #"\#($0)="\#($1)""# }.joined(separator: ", ")
        return Answer(
            status: document.status, type: "application/problem+json", body: document.json,
            fields: HeaderFields(["WWW-Authenticate": challenge]))
    }

    static let notJSON = answer(
        ProblemDocument(
            status: 415, title: "Unsupported Media Type",
            detail: "the body must be JSON, with Content-Type: application/json"))

    /// It has no body, because the refused request may be HEAD, whose answer has none.
    static let malformedHead = Answer(bodiless: 400, HeaderFields())

    static let malformedCoding = answer(
        ProblemDocument(
            status: 400, title: "Bad Request",
            detail: "chunked must be the last transfer coding of a request, and occur once"))

    static let unknownCoding = answer(
        ProblemDocument(
            status: 501, title: "Not Implemented", detail: "the only supported transfer coding is chunked"))

    static let malformedChunks = answer(
        ProblemDocument(status: 400, title: "Bad Request", detail: "the body of the request is not validly chunked"))

    static let unknownMethod = answer(
        ProblemDocument(status: 501, title: "Not Implemented", detail: "the service does not know this method"))

    static let unknownVersion = answer(
        ProblemDocument(
            status: 505, title: "HTTP Version Not Supported", detail: "the service speaks HTTP/1.1; use that version"))

    /// The answer if the service is not ready. It has no details, because clients without a token may request it.
    static let notReady = answer(ProblemDocument(status: 503, title: "Service Unavailable"))

    /// - Parameter methods: the supported methods, in the form that `Allow` uses.
    static func methodNotAllowed(_ methods: String = "GET, HEAD") -> Answer {
        answer(ProblemDocument(status: 405, title: "Method Not Allowed"), fields: HeaderFields(["Allow": methods]))
    }

    /// Returns the answer that reports an error of the vault or the origin to a player.
    ///
    /// - Parameter held: the held ranges of the resource. They are reported only if bytes are missing.
    static func answer(to error: VaultError, held: [ByteRange] = []) -> Answer {
        var document = ProblemDocument(error)
        var fields = HeaderFields()
        switch document.status {
        case 416:
            // RFC 9110 §14.4 has no form for an unknown length.
            if let length = error.length {
                fields.append(name: "Content-Range", value: ContentRange.unsatisfied(total: length).description)
            }
        case 503:
            if let seconds = document.retryAfter { fields.append(name: "Retry-After", value: String(seconds)) }
        case 504:
            document.held = held
        default: break
        }
        if document.status != 416 {
            let status = CacheStatus.failed(error.code, originStatus: error.originStatus)
            fields.append(name: "Cache-Status", value: status.value)
        }
        return answer(document, fields: fields)
    }

    static func answer(_ document: ProblemDocument, fields: HeaderFields = HeaderFields()) -> Answer {
        var fields = fields
        // A 401 answer needs a challenge (RFC 9110 §11.6.1). This one makes no browser prompt for a password, because
        // credentials for the origin are given to the vault, not to the service.
        if document.status == 401 { fields.append(name: "WWW-Authenticate", value: #"MediaVault realm="origin""#) }
        return Answer(status: document.status, type: "application/problem+json", body: document.json, fields: fields)
    }
}

/// A short answer, complete with its body.
struct Answer: Hashable, Sendable {
    var status: Int
    var fields: HeaderFields
    var body: [UInt8]
    /// Whether the answer's status allows a body, so that the head states the body's length.
    private(set) var hasBody = true

    init(status: Int, type: String, body: some Sequence<UInt8>, fields: HeaderFields = HeaderFields()) {
        self.status = status
        self.fields = fields
        self.fields.append(name: "Content-Type", value: type)
        self.fields.append(ProtectiveFields.all)
        self.body = Array(body)
    }

    /// Creates an answer without a body (RFC 9110 §15.4.5).
    init(bodiless status: Int, _ fields: HeaderFields) {
        (self.status, self.fields, body) = (status, fields, [])
        hasBody = false
    }

    /// Returns an answer with a JSON document and a final newline.
    static func json(_ document: some Encodable, status: Int = 200) throws -> Answer {
        Answer(
            status: status, type: "application/json",
            body: try JSONText.bytes(of: document) + [UInt8(ascii: "\n")])
    }

    /// The answer that reports that the service is running.
    static let healthy = Answer(status: 200, type: "text/plain; charset=utf-8", body: "ok\n".utf8)
}

/// Header fields that keep media off a browser's disk, and away from other sites' pages.
///
/// They also prevent a page that an origin sent in place of media from acting as one of the service's own pages.
enum ProtectiveFields {
    /// The fields of every answer.
    static let all = HeaderFields([
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
    ])

    /// Returns the fields of an answer whose body came from an origin.
    ///
    /// A browser may show a body as a page if its type is not a known audio, video or image type. Such a body is
    /// sandboxed, so that the page runs no scripts. A video must not be sandboxed, because a browser that opens it
    /// directly would request ranges from within the sandbox. For a player that loads a playlist, the sandbox makes no
    /// difference.
    ///
    /// - Parameter type: the media type that the origin sent.
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

/// The field names of answers, as values of the HTTP library's type. They are created only once, because creating one
/// checks the name.
enum FieldNames {
    private static let known = Dictionary(
        uniqueKeysWithValues: [
            "Accept-Ranges", "Allow", "Cache-Control", "Cache-Status", "Content-Length", "Content-Range",
            "Content-Security-Policy", "Content-Type", "Cross-Origin-Resource-Policy", "ETag", "Last-Modified",
            "Referrer-Policy", "Retry-After", "Server-Timing", "WWW-Authenticate",
            "X-Content-Type-Options",
        ].compactMap { name in HTTPField.Name(name).map { (name, $0) } })

    /// Returns a name as a value of the library's type; nil if the name is not valid.
    static func name(_ name: String) -> HTTPField.Name? { known[name] ?? HTTPField.Name(name) }
}

extension HTTPFields {
    /// Converts fields to the HTTP library's type, which replaces each invalid character in a value with a space.
    init(_ fields: HeaderFields) {
        self.init()
        append(fields)
    }

    /// Converts fields, and appends them.
    mutating func append(_ fields: HeaderFields) {
        reserveCapacity(count + fields.fields.count)
        for field in fields.fields {
            guard let name = FieldNames.name(field.name) else { continue }
            append(HTTPField(name: name, value: field.value))
        }
    }
}
