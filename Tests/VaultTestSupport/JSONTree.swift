/// A JSON value as a tree, with exact integers and the nearest `Double` for any other number.
package indirect enum JSONTree: Hashable, Sendable {
    case object([String: JSONTree])
    case array([JSONTree])
    case text(String)
    case number(Int64)
    case fraction(Double)
    case truth(Bool)
    case null

    /// The member of an object; nil if there is none.
    package subscript(name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The members of an object; empty if it is none.
    package var members: [String: JSONTree] {
        guard case .object(let members) = self else { return [:] }
        return members
    }

    /// The elements of an array; empty if it is none.
    package var elements: [JSONTree] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// The text of a string; nil if it is none.
    package var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }
}

extension JSONTree: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let truth = try? container.decode(Bool.self) {
            self = .truth(truth)
        } else if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else if let fraction = try? container.decode(Double.self) {
            self = .fraction(fraction)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let elements = try? container.decode([JSONTree].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }
}
