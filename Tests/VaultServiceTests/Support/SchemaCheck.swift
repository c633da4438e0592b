@testable import VaultService

/// Checks JSON against the schemas of the service's own OpenAPI description.
enum SchemaCheck {
    /// Returns the parts of a document that violate the named schema; empty if it conforms.
    static func faults(of document: [UInt8], _ name: String) throws -> [String] {
        faults(
            of: try JSONText.read(JSONDocument.self, from: document).tree,
            ["$ref": .text("#/components/schemas/\(name)")], at: "$")
    }

    private static func faults(of value: JSONTree, _ schema: JSONTree, at place: String) -> [String] {
        guard case .object(let rules) = schema else { return [] }
        if case .text(let reference)? = rules["$ref"] {
            let target = reference.split(separator: "/").dropFirst().reduce(Optional(OpenAPIDocument.whole)) {
                $0?[String($1)]
            }
            return target.map { faults(of: value, $0, at: place) } ?? ["\(place): \(reference) is nowhere"]
        }
        if case .array(let choices)? = rules["anyOf"] {
            let all = choices.map { faults(of: value, $0, at: place) }
            return all.contains { $0.isEmpty } ? [] : all.flatMap(\.self)
        }
        if case .array(let values)? = rules["enum"] {
            return values.contains(value) ? [] : ["\(place): \(value) is none of those allowed"]
        }
        if let type = rules["type"], type != .text(kind(of: value)) { return ["\(place): \(value) is no \(type)"] }
        switch value {
        case .object(let members): return faults(of: members, rules, at: place)
        case .array(let elements):
            return elements.enumerated().flatMap { index, element in
                rules["items"].map { faults(of: element, $0, at: "\(place)[\(index)]") } ?? []
            }
        default: return []
        }
    }

    private static func faults(
        of members: [String: JSONTree], _ rules: [String: JSONTree], at place: String
    ) -> [String] {
        var faults: [String] = []
        if case .array(let names)? = rules["required"] {
            for case .text(let name) in names where members[name] == nil { faults.append("\(place): no \(name)") }
        }
        for (name, member) in members {
            if let schema = rules["properties"]?[name] ?? rules["additionalProperties"] {
                faults += Self.faults(of: member, schema, at: "\(place).\(name)")
            } else if rules["properties"] != nil || rules["maxProperties"] == 0 {
                faults.append("\(place): \(name) is not described")
            }
        }
        return faults
    }

    private static func kind(of value: JSONTree) -> String {
        switch value {
        case .object: "object"
        case .array: "array"
        case .text: "string"
        case .number: "integer"
        case .truth: "boolean"
        case .null: "null"
        }
    }
}
