import Foundation
package import VaultModel

/// JSON as the service and all of `--json` write it: one line, members sorted, slashes as they are.
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

/// A value that is written as `null` where there is none, so that its member is always there.
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

/// `{}`: it is done, and there is nothing to tell.
package struct NothingDocument: Codable, Hashable, Sendable {
    package init() {}
}

/// One line of an answer that tells how a long act comes along: `{"progress":…}` while it runs, and last either
/// `{"done":…}` or `{"problem":…}`.
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
