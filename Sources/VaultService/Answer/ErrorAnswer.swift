import VaultModel

/// The answers to requests that get no media.
enum ErrorAnswer {
    /// Unknown, unauthorised, expired and out of scope look the same.
    static let notFound = problem(404, "Not Found")

    static let malformedHost = problem(
        400, "Bad Request", detail: "the request must name its host once, in the Host field")

    static let foreignHost = problem(
        421, "Misdirected Request",
        detail: "this service does not answer to the host and port of the request; serve --host allows another name")

    static let methodNotAllowed = problem(405, "Method Not Allowed", fields: HeaderFields(["Allow": "GET, HEAD"]))

    /// - Parameter length: the representation's, where it is known.
    static func unsatisfiable(length: Int64?) -> Answer {
        var answer = problem(416, "Range Not Satisfiable")
        if let length {
            answer.fields.append(name: "Content-Range", value: ContentRange.unsatisfied(total: length).description)
        }
        return answer
    }

    /// What a failure of the vault, or of the origin behind it, comes to.
    ///
    /// - Parameter held: what the vault holds of the resource, for the answer that bytes are missing.
    static func answer(to error: VaultError, held: [ByteRange] = []) -> Answer {
        switch error.code {
        case .unsatisfiableRange: return unsatisfiable(length: error.length)
        case .notHeld, .unreachable, .integrity: return missing(error, held: held)
        case .refused: return refused(error)
        case .lied, .changed: return problem(502, "Bad Gateway", detail: error.message)
        case .closed, .removed: return problem(503, "Service Unavailable", detail: error.message)
        default: return problem(500, "Internal Server Error", detail: error.message)
        }
    }

    private static func refused(_ error: VaultError) -> Answer {
        switch error.originStatus {
        case 401: return problem(401, "Unauthorized", detail: error.message)
        case 403: return problem(403, "Forbidden", detail: error.message)
        case 404: return problem(404, "Not Found", detail: error.message)
        case 410: return problem(410, "Gone", detail: error.message)
        case 451: return problem(451, "Unavailable For Legal Reasons", detail: error.message)
        case 429, 503:
            var answer = problem(503, "Service Unavailable", detail: error.message)
            if let seconds = error.retryAfter { answer.fields.append(name: "Retry-After", value: String(seconds)) }
            return answer
        default: return problem(502, "Bad Gateway", detail: error.message)
        }
    }

    private static func missing(_ error: VaultError, held: [ByteRange]) -> Answer {
        let document = ProblemDocument(
            status: 504, title: "Gateway Timeout", detail: error.message, firstMissing: error.firstMissing,
            held: held.map { [$0.lowerBound, $0.upperBound] })
        return Answer(status: 504, type: "application/problem+json", body: document.json)
    }

    private static func problem(
        _ status: Int, _ title: String, detail: String? = nil, fields: HeaderFields = HeaderFields()
    ) -> Answer {
        Answer(
            status: status, type: "application/problem+json",
            body: ProblemDocument(status: status, title: title, detail: detail).json, fields: fields)
    }
}
