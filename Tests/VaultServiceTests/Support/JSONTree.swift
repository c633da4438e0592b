@testable import VaultService

/// A JSON value as a tree, with any integer.
indirect enum JSONTree: Hashable, Sendable {
    case object([String: JSONTree])
    case array([JSONTree])
    case text(String)
    case number(Int64)
    case truth(Bool)
    case null

    /// The member of an object; nil if there is none.
    subscript(name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The members of an object; empty if it is none.
    var members: [String: JSONTree] {
        guard case .object(let members) = self else { return [:] }
        return members
    }

    /// The elements of an array; empty if it is none.
    var elements: [JSONTree] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// The text of a string; nil if it is none.
    var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }
}

extension JSONTree: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let truth = try? container.decode(Bool.self) {
            self = .truth(truth)
        } else if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let elements = try? container.decode([JSONTree].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }
}

/// The API's description, from the file that the service sends.
enum APIDescription {
    static let tree: JSONTree = (try? JSONText.read(from: PackageResources.openapi_json)) ?? .null

    /// Returns what a value refers to, or the value itself; nil if the reference leads nowhere.
    static func target(of value: JSONTree) -> JSONTree? {
        guard let reference = value["$ref"]?.text else { return value }
        return reference.split(separator: "/").dropFirst().reduce(Optional(tree)) { $0?[String($1)] }
    }

    /// Returns a schema by its name.
    static func schema(_ name: String) -> JSONTree? { tree["components"]?["schemas"]?[name] }
}
