package import VaultModel

/// A problem document, `application/problem+json` (RFC 9457).
package struct ProblemDocument: Codable, Hashable, Sendable {
    package var status: Int
    package var title: String
    package var detail: String?
    /// The name of the ``VaultError`` code, if the problem has one. The command derives its exit code from it.
    package var code: String?
    /// The name of the ``VaultError/Hint``, if the error has one.
    package var hint: String?
    /// The status code that the origin sent, if it refused the request.
    package var originStatus: Int?
    /// The number of seconds until the next request to the origin is allowed, at most a day.
    package var retryAfter: Int?
    /// The position of the first missing byte.
    package var firstMissing: Int64?
    /// The representation's length in bytes, if a range is outside it.
    package var length: Int64?
    /// The ranges that the vault holds.
    package var held: [ByteRange]?

    init(status: Int, title: String, detail: String? = nil, hint: VaultError.Hint? = nil) {
        self.status = status
        self.title = title
        self.detail = detail
        self.hint = hint?.description
    }

    /// Creates the document for an error. ``error`` recreates the error from it.
    init(status: Int, title: String, error: VaultError) {
        self.init(status: status, title: title, detail: error.message, hint: error.hint)
        code = error.code.description
        originStatus = error.originStatus
        retryAfter = error.retryAfter.map { min(max(0, $0), Self.longestRetryAfter) }
        firstMissing = error.firstMissing
        length = error.length
    }

    /// The longest wait that is reported, in seconds. It is bounded because an origin may send any value, which a
    /// client may obey.
    private static let longestRetryAfter = 86_400

    /// The error that the document describes; nil if the problem is not a vault error.
    package var error: VaultError? {
        guard let code = code.flatMap({ VaultError.Code(name: $0) }) else { return nil }
        var error = VaultError(code, detail ?? title)
        error.hint = hint.flatMap { VaultError.Hint(name: $0) }
        error.originStatus = originStatus
        error.retryAfter = retryAfter
        error.firstMissing = firstMissing
        error.length = length
        return error
    }

    /// The encoded document. Every member can be encoded, so the fallback is never used.
    var json: [UInt8] { (try? JSONText.bytes(of: self)) ?? Array("{}".utf8) }
}

extension ProblemDocument {
    /// Creates the document for an error, with a status code that a player understands.
    init(_ error: VaultError) {
        let (status, title) = Self.status(of: error)
        self.init(status: status, title: title, error: error)
    }

    private static func status(of error: VaultError) -> (Int, String) {
        switch error.code {
        case .unsatisfiableRange: (416, "Range Not Satisfiable")
        case .notHeld, .unreachable, .integrity: (504, "Gateway Timeout")
        case .refused: refusal(error.originStatus)
        case .invalidResponse, .changed: (502, "Bad Gateway")
        case .closed, .locked, .removed, .busy: (503, "Service Unavailable")
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

/// The problem documents for errors of API requests.
///
/// An invalid request yields 400, and a resource that the vault does not hold yields 404.
enum APIProblem {
    static func document(_ error: VaultError) -> ProblemDocument {
        switch error.code {
        case .invalidURL, .invalidArgument: ProblemDocument(status: 400, title: "Bad Request", error: error)
        case .notHeld: ProblemDocument(status: 404, title: "Not Found", error: error)
        case .wrongKey, .looseKeyFile: ProblemDocument(status: 400, title: "Bad Request", error: error)
        case .busy, .inUse, .olderKeyring: ProblemDocument(status: 409, title: "Conflict", error: error)
        case .diskFull: ProblemDocument(status: 507, title: "Insufficient Storage", error: error)
        default: ProblemDocument(error)
        }
    }
}
