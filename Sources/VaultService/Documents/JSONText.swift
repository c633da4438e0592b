import Foundation
package import VaultModel

/// JSON as the service and every `--json` output write it.
///
/// It is one line, with sorted members and unescaped slashes.
package enum JSONText {
    package static func bytes(of value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    package static func of(_ value: some Encodable) throws -> String {
        String(decoding: try bytes(of: value), as: UTF8.self)
    }

    package static func read<Value: Decodable>(_ type: Value.Type = Value.self, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}

/// An optional value that is encoded as `null` if absent, so that its member is always present.
package struct OrNull<Value: Codable & Sendable>: Codable, Sendable {
    package let value: Value?

    package init(_ value: Value?) { self.value = value }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        value = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encodeNil() }
    }
}

extension OrNull: Equatable where Value: Equatable {}
extension OrNull: Hashable where Value: Hashable {}

/// The answer `{}` to an operation that returns nothing.
package struct EmptyDocument: Codable, Hashable, Sendable {
    package init() {}
}

/// One line of the answer to a long operation.
///
/// It is `{"progress":…}` while the operation runs, and finally either `{"done":…}` or `{"problem":…}`.
package enum EventDocument<Progress: Codable & Sendable, Outcome: Codable & Sendable>: Codable, Sendable {
    case progress(Progress)
    case done(Outcome)
    case problem(ProblemDocument)

    private enum CodingKeys: CodingKey { case progress, done, problem }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        if let progress = try members.decodeIfPresent(Progress.self, forKey: .progress) {
            self = .progress(progress)
        } else if let outcome = try members.decodeIfPresent(Outcome.self, forKey: .done) {
            self = .done(outcome)
        } else {
            self = .problem(try members.decode(ProblemDocument.self, forKey: .problem))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .progress(let progress): try members.encode(progress, forKey: .progress)
        case .done(let outcome): try members.encode(outcome, forKey: .done)
        case .problem(let problem): try members.encode(problem, forKey: .problem)
        }
    }
}

/// A problem document, `application/problem+json` (RFC 9457).
package struct ProblemDocument: Codable, Hashable, Sendable {
    package var status: Int
    package var title: String
    package var detail: String?
    /// The name of the ``VaultError`` code, if the problem has one; exit codes are derived from it.
    package var code: String?
    /// The origin's status, if it refused the request.
    package var originStatus: Int?
    /// Seconds until the origin may be asked again, at most a day.
    package var retryAfter: Int?
    /// The first missing byte.
    package var firstMissing: Int64?
    /// The representation's length in bytes, if a range is outside it.
    package var length: Int64?
    /// The held ranges, each as its first byte and one past its last.
    package var held: [[Int64]]?

    init(status: Int, title: String, detail: String? = nil) {
        self.status = status
        self.title = title
        self.detail = detail
    }

    /// Creates the document for an error, which ``error`` restores.
    init(status: Int, title: String, error: VaultError) {
        self.init(status: status, title: title, detail: error.message)
        code = error.code.description
        originStatus = error.originStatus
        retryAfter = error.retryAfter.map { min(max(0, $0), Self.longestRetryAfter) }
        firstMissing = error.firstMissing
        length = error.length
    }

    /// The longest reported wait, in seconds: an origin may send any value, and a client may obey it.
    private static let longestRetryAfter = 86_400

    /// The vault's error; nil if the problem is not one.
    package var error: VaultError? {
        guard let code = code.flatMap({ VaultError.Code(name: $0) }) else { return nil }
        var error = VaultError(code, detail ?? title)
        error.originStatus = originStatus
        error.retryAfter = retryAfter
        error.firstMissing = firstMissing
        error.length = length
        return error
    }

    /// The encoded document; all its members can be encoded, so the fallback is never used.
    var json: [UInt8] { (try? JSONText.bytes(of: self)) ?? Array("{}".utf8) }
}
