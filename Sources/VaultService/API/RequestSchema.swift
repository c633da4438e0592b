import Foundation
import VaultModel

/// What the API description says of the body of a request.
struct RequestSchema: Sendable {
    private let schema: JSONShape

    /// - Returns: nil if the request has no body.
    init?(_ route: APIRoute, _ method: String) {
        let operation = Self.description["paths"]?[route.path]?[method.lowercased()]
        guard let schema = operation?["requestBody"]?["content"]?["application/json"]?["schema"] else { return nil }
        self.schema = schema
    }

    private static let description = JSONShape(PackageResources.openapi_json)

    /// Returns a member that the description does not know, as a message may repeat it; nil if there is none.
    ///
    /// - Parameter body: JSON.
    func unknownMember(in body: [UInt8]) -> String? { Self.unknownMember(in: JSONShape(body), schema) }

    private static func unknownMember(in value: JSONShape, _ schema: JSONShape) -> String? {
        if case .text(let reference)? = schema["$ref"] {
            // `#/components/schemas/Name`
            let parts = reference.split(separator: "/").dropFirst().map(String.init)
            return unknownMember(in: value, parts.reduce(description) { $0[$1] ?? .other })
        }
        // Beside properties, `oneOf` only says which of them are required.
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
                    return Self.shown(name)
                }
            }
            return nil
        case .array(let elements):
            guard let items = schema["items"] else { return nil }
            return elements.lazy.compactMap { unknownMember(in: $0, items) }.first
        default: return nil
        }
    }

    private static func shown(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || $0 == 0x5F }
        return isPlain && (1...32).contains(name.utf8.count) ? "the member \(name)" : "a member"
    }
}

/// JSON of any form, as far as schemas are concerned.
private indirect enum JSONShape: Hashable, Sendable {
    case object([String: JSONShape])
    case array([JSONShape])
    case text(String)
    case isFalse
    case other

    /// Reads JSON; anything else is ``other``.
    init(_ json: [UInt8]) {
        // Not by a decoder, which throws for each value of another type, and is slow in deep arrays.
        self.init((try? JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed)) ?? NSNull())
    }

    private init(_ value: Any) {
        switch value {
        case let members as [String: Any]: self = .object(members.mapValues { JSONShape($0) })
        case let elements as [Any]: self = .array(elements.map { JSONShape($0) })
        case let text as String: self = .text(text)
        case let isTrue as Bool where !isTrue: self = .isFalse
        default: self = .other
        }
    }

    subscript(name: String) -> JSONShape? { if case .object(let members) = self { members[name] } else { nil } }
}
