import HTTPTypes
import VaultModel

/// The answers to requests that get no media.
enum ErrorAnswer {
    /// Unknown, unauthorised, expired and out of scope look the same.
    static let notFound = answer(ProblemDocument(status: 404, title: "Not Found"))

    static let malformedHost = answer(
        ProblemDocument(
            status: 400, title: "Bad Request", detail: "the request must name its host once, in the Host field"))

    static let foreignHost = answer(
        ProblemDocument(
            status: 421, title: "Misdirected Request",
            detail: "this service does not answer to the host and port of the request; serve --host allows another name"
        ))

    static let foreignUser = answer(
        ProblemDocument(status: 403, title: "Forbidden", detail: "the control socket is for the vault's own user"))

    static let failedCondition = answer(
        ProblemDocument(
            status: 412, title: "Precondition Failed",
            detail: "the resource is not the one that the request names; ask for it without a condition"))

    static let foreignPage = answer(
        ProblemDocument(
            status: 403, title: "Forbidden",
            detail: "a web page that is not the service's own has asked; serve --allow-origin lets one play"))

    static let notJSON = answer(
        ProblemDocument(
            status: 415, title: "Unsupported Media Type", detail: "the body must be application/json, and say so"))

    static let malformedCoding = answer(
        ProblemDocument(
            status: 400, title: "Bad Request", detail: "the last transfer coding of a request must be chunked, once"))

    static let unknownCoding = answer(
        ProblemDocument(
            status: 501, title: "Not Implemented", detail: "of transfer codings the service knows chunked alone"))

    static let malformedChunks = answer(
        ProblemDocument(status: 400, title: "Bad Request", detail: "the body of the request does not come in chunks"))

    static let unknownMethod = answer(
        ProblemDocument(status: 501, title: "Not Implemented", detail: "the service does not know the method"))

    static let unknownVersion = answer(
        ProblemDocument(
            status: 505, title: "HTTP Version Not Supported", detail: "the service speaks HTTP/1.1; ask by that"))

    /// Whoever asks without a token learns no more.
    static let notReady = answer(ProblemDocument(status: 503, title: "Service Unavailable"))

    /// - Parameter methods: those that there are, as `Allow` names them.
    static func methodNotAllowed(_ methods: String = "GET, HEAD") -> Answer {
        answer(ProblemDocument(status: 405, title: "Method Not Allowed"), fields: HeaderFields(["Allow": methods]))
    }

    /// What a failure of the vault, or of the origin behind it, comes to for a player.
    ///
    /// - Parameter held: what the vault holds of the resource, for the answer that bytes are missing.
    static func answer(to error: VaultError, held: [ByteRange] = []) -> Answer {
        var document = document(error)
        var fields = HeaderFields()
        switch document.status {
        case 416:
            // RFC 9110 §14.4 has no form for a length that nobody knows.
            if let length = error.length {
                fields.append(name: "Content-Range", value: ContentRange.unsatisfied(total: length).description)
            }
        case 503:
            if let seconds = document.retryAfter { fields.append(name: "Retry-After", value: String(seconds)) }
        case 504:
            document.held = held.map { [$0.lowerBound, $0.upperBound] }
        default: break
        }
        if document.status != 416 {
            let status = CacheStatus.failed(error.code, originStatus: error.originStatus)
            fields.append(name: "Cache-Status", value: status.value)
        }
        return answer(document, fields: fields)
    }

    /// The failure as a problem, with the status that a player can use.
    static func document(_ error: VaultError) -> ProblemDocument {
        let (status, title) = status(of: error)
        return ProblemDocument(status: status, title: title, error: error)
    }

    static func answer(_ document: ProblemDocument, fields: HeaderFields = HeaderFields()) -> Answer {
        var fields = fields
        // There must be a challenge (RFC 9110 §11.6.1), and no browser is to ask for a password of the service's: what the
        // origin wants is given to the vault, not to the service.
        if document.status == 401 { fields.append(name: "WWW-Authenticate", value: #"MediaVault realm="origin""#) }
        return Answer(status: document.status, type: "application/problem+json", body: document.json, fields: fields)
    }

    private static func status(of error: VaultError) -> (Int, String) {
        switch error.code {
        case .unsatisfiableRange: (416, "Range Not Satisfiable")
        case .notHeld, .unreachable, .integrity: (504, "Gateway Timeout")
        case .refused: refusal(error.originStatus)
        case .invalidResponse, .changed: (502, "Bad Gateway")
        case .closed, .removed, .busy: (503, "Service Unavailable")
        default: (500, "Internal Server Error")
        }
    }

    private static func refusal(_ originStatus: Int?) -> (Int, String) {
        switch originStatus {
        case 401: (401, "Unauthorized")
        case 403: (403, "Forbidden")
        case 404: (404, "Not Found")
        case 410: (410, "Gone")
        case 451: (451, "Unavailable For Legal Reasons")
        case 429, 503: (503, "Service Unavailable")
        default: (502, "Bad Gateway")
        }
    }
}

/// A short answer, complete with its body.
struct Answer: Hashable, Sendable {
    var status: Int
    var fields: HeaderFields
    var body: [UInt8]

    init(status: Int, type: String, body: some Sequence<UInt8>, fields: HeaderFields = HeaderFields()) {
        self.status = status
        self.fields = fields
        self.fields.append(name: "Content-Type", value: type)
        self.fields.append(ProtectiveFields.all)
        self.body = Array(body)
    }

    /// A document, and a line end after it.
    static func json(_ document: some Encodable, status: Int = 200) throws -> Answer {
        Answer(
            status: status, type: "application/json",
            body: try JSONText.bytes(of: document) + [UInt8(ascii: "\n")])
    }

    /// The service is up.
    static let healthy = Answer(status: 200, type: "text/plain; charset=utf-8", body: "ok\n".utf8)
}

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

/// The names of the fields that answers have, as the HTTP library wants them: it checks each that it is given.
enum FieldNames {
    private static let known = Dictionary(
        uniqueKeysWithValues: [
            "Accept-Ranges", "Allow", "Cache-Control", "Cache-Status", "Content-Length", "Content-Range",
            "Content-Security-Policy", "Content-Type", "Cross-Origin-Resource-Policy", "ETag", "Last-Modified",
            "Referrer-Policy", "Retry-After", "Server-Timing", "WWW-Authenticate",
            "X-Content-Type-Options",
        ].compactMap { name in HTTPField.Name(name).map { (name, $0) } })

    /// The name as the library has it; nil where it is none.
    static func name(_ name: String) -> HTTPField.Name? { known[name] ?? HTTPField.Name(name) }
}
