package import VaultModel

/// What went wrong, as `application/problem+json` tells it (RFC 9457).
package struct ProblemDocument: Codable, Hashable, Sendable {
    package var status: Int
    package var title: String
    package var detail: String?
    /// The name of the vault's error, where it is one: what exit codes are made from.
    package var code: String?
    /// The origin's status, where it refused.
    package var originStatus: Int?
    /// Seconds after which the origin may be asked again, a day at most.
    package var retryAfter: Int?
    /// The first byte that is missing.
    package var firstMissing: Int64?
    /// The representation's length, where a range lies outside it.
    package var length: Int64?
    /// The ranges that are held, each its first byte and one past its last.
    package var held: [[Int64]]?

    init(status: Int, title: String, detail: String? = nil) {
        self.status = status
        self.title = title
        self.detail = detail
    }

    /// Tells an error so that ``error`` gives the same again.
    init(status: Int, title: String, error: VaultError) {
        self.init(status: status, title: title, detail: error.message)
        code = error.code.description
        originStatus = error.originStatus
        retryAfter = error.retryAfter.map { min(max(0, $0), Self.longestRetryAfter) }
        firstMissing = error.firstMissing
        length = error.length
    }

    /// The longest wait that is told: an origin may say anything, and a client may believe it.
    private static let longestRetryAfter = 86_400

    /// The error that it tells of; nil where that is none of the vault's.
    package var error: VaultError? {
        guard let code = code.flatMap({ VaultError.Code(name: $0) }) else { return nil }
        var error = VaultError(code, detail ?? title)
        error.originStatus = originStatus
        error.retryAfter = retryAfter
        error.firstMissing = firstMissing
        error.length = length
        return error
    }

    /// The document; it has only what can be written.
    var json: [UInt8] { (try? JSONText.bytes(of: self)) ?? Array("{}".utf8) }
}
