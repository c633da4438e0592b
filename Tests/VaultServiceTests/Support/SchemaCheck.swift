import VaultService
import VaultTestSupport

/// Checks JSON against the schemas of the service's own OpenAPI description.
enum SchemaCheck {
    /// Returns the parts of a document that violate the named schema; empty if it conforms.
    static func faults(of document: [UInt8], _ name: String) throws -> [String] {
        faults(
            of: try JSONText.read(from: document),
            .object(["$ref": .text("#/components/schemas/\(name)")]), at: "$")
    }

    private static func faults(of value: JSONTree, _ schema: JSONTree, at place: String) -> [String] {
        guard case .object(let rules) = schema else { return [] }
        if let reference = rules["$ref"] {
            let target = APIDescription.target(of: schema)
            return target.map { faults(of: value, $0, at: place) } ?? ["\(place): \(reference) is nowhere"]
        }
        if case .array(let choices)? = rules["anyOf"] {
            let all = choices.map { faults(of: value, $0, at: place) }
            return all.contains { $0.isEmpty } ? [] : all.flatMap(\.self)
        }
        if case .array(let values)? = rules["enum"] {
            return values.contains(value) ? [] : ["\(place): \(value) is none of those allowed"]
        }
        // Every integer is a number, too.
        if let type = rules["type"]?.text, ![type, type == "number" ? "integer" : type].contains(kind(of: value)) {
            return ["\(place): \(value) is no \(type)"]
        }
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
            } else if rules["properties"] != nil || rules["maxProperties"] == .number(0) {
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
        case .fraction: "number"
        case .truth: "boolean"
        case .null: "null"
        }
    }
}

// Whether an example has the members that a schema declares.
extension SchemaCheck {
    /// Returns the members that a schema declares or requires but no value of an example has, and vice versa; empty if
    /// they are the same. Members of other schemas are not followed.
    ///
    /// - Parameter onlyRequired: compares with the required members rather than with all.
    static func differences(of example: [UInt8], _ name: String, onlyRequired: Bool = false) throws -> [String] {
        guard let schema = APIDescription.schema(name) else { return ["there is no schema \(name)"] }
        return differences(of: [try JSONText.read(from: example)], schema, onlyRequired, at: "$")
    }

    private static func differences(
        of values: [JSONTree], _ schema: JSONTree, _ onlyRequired: Bool, at place: String
    ) -> [String] {
        if case .array(let choices)? = schema["anyOf"] {
            let described = choices.filter { $0["properties"] != nil || $0["items"] != nil }
            let given = values.filter { $0 != .null }
            return given.isEmpty ? [] : described.flatMap { differences(of: given, $0, onlyRequired, at: place) }
        }
        if let items = schema["items"] {
            let elements = values.flatMap(\.elements)
            return elements.isEmpty ? [] : differences(of: elements, items, onlyRequired, at: place + "[]")
        }
        guard let properties = schema["properties"]?.members else { return [] }
        let declared = onlyRequired ? Set(schema["required"]?.elements.compactMap(\.text) ?? []) : Set(properties.keys)
        let found = Set(values.flatMap(\.members.keys))
        return found.symmetricDifference(declared).map { "\(place).\($0)" }
            + properties.flatMap { name, schema in
                let inner = values.compactMap { $0[name] }
                return inner.isEmpty ? [] : differences(of: inner, schema, onlyRequired, at: "\(place).\(name)")
            }
    }
}
