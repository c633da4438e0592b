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
        case .lied, .changed: (502, "Bad Gateway")
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
