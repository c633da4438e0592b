import Foundation
import VaultModel

/// The API description's schema for a request's query and body.
struct RequestSchema: Sendable {
    /// The names of the defined query parameters.
    let parameters: Set<String>
    /// Whether the API defines a body, of any type, for the request.
    let hasBody: Bool
    private let body: JSONShape

    init(_ route: APIRoute, _ method: String) {
        let operation = Self.description["paths"]?[route.path]?[method.lowercased()]
        var parameters: Set<String> = []
        if case .array(let all)? = operation?["parameters"] {
            for parameter in all.map(Self.target) where parameter["in"] == .text("query") {
                if case .text(let name)? = parameter["name"] { parameters.insert(name) }
            }
        }
        self.parameters = parameters
        let body = (operation?["requestBody"]).map(Self.target)
        hasBody = body != nil
        self.body = body?["content"]?["application/json"]?["schema"] ?? Self.noMembers
    }

    private static let description = JSONShape(PackageResources.openapi_json) ?? .other
    /// The schema for a request without a body.
    private static let noMembers = JSONShape.object(["properties": .object([:]), "additionalProperties": .isFalse])

    /// Returns the value that a `$ref` points to, or the value itself if it is not a `$ref`.
    private static func target(of value: JSONShape) -> JSONShape {
        guard case .text(let reference)? = value["$ref"] else { return value }
        // A reference has the form `#/components/schemas/Name`.
        return reference.split(separator: "/").dropFirst().reduce(description) { $0[String($1)] ?? .other }
    }

    // MARK: The query

    /// Returns a description of the query's fault, which is an unknown or repeated name; nil if there is none.
    func fault(inQuery names: [String]) -> String? {
        if let unknown = names.first(where: { !parameters.contains($0) }) {
            return "the query has \(Self.shown(unknown, "parameter")), which this request does not know"
        }
        let repeated = names.enumerated().first { names[..<$0.offset].contains($0.element) }
        return repeated.map { "the query has \(Self.shown($0.element, "parameter")) twice" }
    }

    // MARK: The body

    /// The message for a body that cannot be read.
    static let unreadable = "the body is not the JSON that this request expects"

    /// Returns a description of the body's fault, which is that the body is unreadable, or that a name is unknown or
    /// repeated; nil if there is none.
    ///
    /// `JSONDecoder` alone does not suffice, because it skips members that it does not look for, even unreadable ones.
    func fault(inBody body: [UInt8]) -> String? {
        guard let shape = JSONShape(body) else { return Self.unreadable }
        if let unknown = Self.unknownMember(in: shape, self.body) {
            return "the body has \(Self.shown(unknown, "member")), which this request does not know"
        }
        return RepeatedMember.first(in: body).map { "the body has \(Self.shown($0, "member")) twice" }
    }

    /// Returns the name of the outermost member that contains a fraction in place of an integer; nil if there is none.
    func fractionalMember(in body: [UInt8]) -> String? {
        guard case .object(let members)? = JSONShape(body) else { return nil }
        let schema = Self.target(of: self.body)
        return members.keys.sorted().first { name in
            guard let known = schema["properties"]?[name], !Self.takesFractions(known) else { return false }
            return members[name]?.hasFraction ?? false
        }
    }

    /// Returns a few words that state what a member of the body must be; nil if a few words do not suffice.
    func expectation(of name: String) -> String? {
        var schema = Self.target(of: Self.target(of: body)["properties"]?[name] ?? .other)
        if case .array(let choices)? = schema["anyOf"] {
            let values = choices.filter { $0["type"] != .text("null") }
            guard values.count == 1, let only = values.first else { return nil }
            schema = Self.target(of: only)
        }
        if case .array(let choices)? = schema["enum"] {
            let words = choices.compactMap { if case .text(let word) = $0 { word } else { nil } }
            return words.count == choices.count ? "must be one of \(words.joined(separator: ", "))" : nil
        }
        guard schema["format"] != .text("date-time") else { return "must be a time such as 2027-01-31T00:00:00Z" }
        guard case .text(let type)? = schema["type"] else { return nil }
        return Self.words[type].map { "must be \($0)" }
    }

    /// The words that messages use for the types of JSON values.
    private static let words = [
        "integer": "an integer", "number": "a number", "string": "a text", "boolean": "true or false",
        "array": "an array", "object": "an object",
    ]

    private static func takesFractions(_ schema: JSONShape) -> Bool {
        let schema = target(of: schema)
        if case .array(let choices)? = schema["anyOf"] { return choices.contains(where: takesFractions) }
        return schema["type"] == .text("number")
    }

    /// Returns the name of a member that the schema does not define; nil if the schema defines all members.
    private static func unknownMember(in value: JSONShape, _ schema: JSONShape) -> String? {
        let schema = target(of: schema)
        // A `oneOf` beside `properties` only states which of the properties are required.
        if case .array(let choices)? = schema["anyOf"] ?? (schema["properties"] == nil ? schema["oneOf"] : nil) {
            let found = choices.filter { $0["type"] != .text("null") }.map { unknownMember(in: value, $0) }
            return found.contains(nil) ? nil : found.first ?? nil
        }
        switch value {
        case .object(let members):
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                if let known = schema["properties"]?[name] {
                    if let unknown = unknownMember(in: member, known) { return unknown }
                } else if schema["additionalProperties"] == .isFalse {
                    return name
                }
            }
            return nil
        case .array(let elements):
            guard let items = schema["items"] else { return nil }
            return elements.lazy.compactMap { unknownMember(in: $0, items) }.first
        default: return nil
        }
    }

    /// Returns words for a client's name that a message may contain. An unusual name is left out, because the client
    /// may have sent anything.
    private static func shown(_ name: String, _ kind: String) -> String {
        let isPlain = name.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || $0 == 0x5F }
        return isPlain && (1...32).contains(name.utf8.count) ? "the \(kind) \(name)" : "a \(kind)"
    }
}

/// Finds a repeated member in a JSON object. Repetition is ambiguous, because some parsers use the first value and
/// others the last.
enum RepeatedMember {
    /// Returns the name of the first repeated member; nil if all are unique.
    ///
    /// - Parameter json: valid JSON, in which Foundation's parsers accept repeated members.
    static func first(in json: [UInt8]) -> String? {
        // The names seen so far in each open object. An open array has an empty set.
        var open: [Set<String>] = []
        var position = 0
        while position < json.count {
            let first = position
            position += 1
            switch json[first] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): open.append([])
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
            case UInt8(ascii: "\""):
                position = end(ofStringAt: first, in: json)
                let next = json[position...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
                guard next == UInt8(ascii: ":"), !open.isEmpty, let name = text(json[first..<position]) else { break }
                guard open[open.count - 1].insert(name).inserted else { return name }
            default: break
            }
        }
        return nil
    }

    /// Returns the position after a string's closing quotation mark.
    private static func end(ofStringAt first: Int, in json: [UInt8]) -> Int {
        var position = first + 1
        while position < json.count, json[position] != UInt8(ascii: "\"") {
            position += json[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, json.count)
    }

    private static func text(_ string: ArraySlice<UInt8>) -> String? {
        // Most names contain no escapes, and so need no parser.
        guard string.contains(UInt8(ascii: "\\")) else {
            return String(decoding: string.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONText.read(from: Array(string))
    }
}

/// JSON of any form, reduced to the details that checking it against a schema needs.
private indirect enum JSONShape: Hashable, Sendable {
    case object([String: JSONShape])
    case array([JSONShape])
    case text(String)
    case isFalse
    /// A number that is not a 64-bit integer.
    case fraction
    case other

    /// Reads JSON; returns nil if any of it is unreadable, such as a number or a text that Swift cannot represent.
    init?(_ json: [UInt8]) {
        // A zero byte indicates an encoding other than UTF-8. `JSONDecoder` is not used, because it would throw for
        // each value of another type and is slow on deep arrays.
        guard !json.contains(0),
            let value = try? JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed)
        else { return nil }
        self.init(value)
    }

    private init(_ value: Any) {
        switch value {
        case let members as [String: Any]: self = .object(members.mapValues { JSONShape($0) })
        case let elements as [Any]: self = .array(elements.map { JSONShape($0) })
        case let text as String: self = .text(text)
        case let isTrue as Bool: self = isTrue ? .other : .isFalse
        case let number as NSNumber: self = Int64(exactly: number) == nil ? .fraction : .other
        default: self = .other
        }
    }

    subscript(name: String) -> JSONShape? { if case .object(let members) = self { members[name] } else { nil } }

    /// Whether the value is, or contains, a number that is not an integer.
    var hasFraction: Bool {
        switch self {
        case .fraction: true
        case .object(let members): members.values.contains(where: \.hasFraction)
        case .array(let elements): elements.contains(where: \.hasFraction)
        case .text, .isFalse, .other: false
        }
    }
}
