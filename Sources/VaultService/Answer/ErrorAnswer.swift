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

    /// - Parameter methods: those that there are, as `Allow` names them.
    static func methodNotAllowed(_ methods: String = "GET, HEAD") -> Answer {
        answer(ProblemDocument(status: 405, title: "Method Not Allowed"), fields: HeaderFields(["Allow": methods]))
    }

    /// What a failure of the vault, or of the origin behind it, comes to for a player.
    ///
    /// - Parameter held: what the vault holds of the resource, for the answer that bytes are missing.
    static func answer(to error: VaultError, held: [ByteRange] = []) -> Answer {
        var document = document(error)
        switch document.status {
        case 416: return unsatisfiable(document, length: error.length)
        case 503:
            return answer(
                document, fields: error.retryAfter.map { HeaderFields(["Retry-After": String($0)]) } ?? HeaderFields())
        case 504:
            document.held = held.map { [$0.lowerBound, $0.upperBound] }
            return answer(document)
        default: return answer(document)
        }
    }

    /// The failure as a problem, with the status that a player can use.
    static func document(_ error: VaultError) -> ProblemDocument {
        let (status, title) = status(of: error)
        return ProblemDocument(status: status, title: title, error: error)
    }

    static func answer(_ document: ProblemDocument, fields: HeaderFields = HeaderFields()) -> Answer {
        Answer(status: document.status, type: "application/problem+json", body: document.json, fields: fields)
    }

    private static func unsatisfiable(_ document: ProblemDocument, length: Int64?) -> Answer {
        let range = length.map { ContentRange.unsatisfied(total: $0).description }
        return answer(document, fields: range.map { HeaderFields(["Content-Range": $0]) } ?? HeaderFields())
    }

    private static func status(of error: VaultError) -> (Int, String) {
        switch error.code {
        case .unsatisfiableRange: (416, "Range Not Satisfiable")
        case .notHeld, .unreachable, .integrity: (504, "Gateway Timeout")
        case .refused: refusal(error.originStatus)
        case .lied, .changed: (502, "Bad Gateway")
        case .closed, .removed: (503, "Service Unavailable")
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
