import Foundation
import VaultModel

/// JSON in the form that the service and every `--json` output use.
///
/// The text is one line, with sorted members and unescaped slashes.
package enum JSONText {
    package static func bytes(of value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return escapingControls(Array(try encoder.encode(value)))
    }

    /// Escapes DEL and the control characters U+0080 to U+009F, because some terminals obey them, and the bidirectional
    /// controls, because they could make one name look like another.
    private static func escapingControls(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(where: { $0 == 0x7F || $0 == 0xC2 || $0 == 0xE2 }) else { return text }
        var escaped: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == 0x7F {
                escaped += "\\u007f".utf8
            } else if byte == 0xC2, let next = rest.first, (0x80...0x9F).contains(next) {
                rest.removeFirst()
                escaped += "\\u00\(Hex.encode([next]))".utf8
            } else if byte == 0xE2, let control = turning(rest.prefix(2)) {
                rest.removeFirst(2)
                escaped += control.utf8
            } else {
                escaped.append(byte)
            }
        }
        return escaped
    }

    /// Returns the JSON escape for a bidirectional control, given the bytes after its first; nil for other characters.
    private static func turning(_ bytes: ArraySlice<UInt8>) -> String? {
        switch (bytes.first, bytes.last) {
        case (0x80, let last?) where (0xAA...0xAE).contains(last): "\\u20\(Hex.encode([last - 0x80]))"
        case (0x81, let last?) where (0xA6...0xA9).contains(last): "\\u20\(Hex.encode([last - 0x40]))"
        default: nil
        }
    }

    package static func of(_ value: some Encodable) throws -> String {
        String(decoding: try bytes(of: value), as: UTF8.self)
    }

    package static func read<Value: Decodable>(_ type: Value.Type = Value.self, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}

/// The empty answer `{}` of an operation that returns nothing.
package struct EmptyDocument: Codable, Hashable, Sendable {
    package init() {}
}

/// One line of the answer to a request for a long operation.
///
/// The line is `{"progress":…}` while the operation runs, and finally either `{"done":…}` or `{"problem":…}`.
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
