/// JSON as a value that can be written down as it is.
indirect enum JSONTree: Hashable, Sendable {
    case object([String: JSONTree])
    case array([JSONTree])
    case text(String)
    case number(Int64)
    case truth(Bool)
    case null

    /// The member of an object; nil where there is none.
    subscript(name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }
}

extension JSONTree: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
    init(dictionaryLiteral members: (String, JSONTree)...) { self = .object(Dictionary(uniqueKeysWithValues: members)) }
    init(arrayLiteral elements: JSONTree...) { self = .array(elements) }
    init(stringLiteral text: String) { self = .text(text) }
    init(integerLiteral number: Int64) { self = .number(number) }
    init(booleanLiteral truth: Bool) { self = .truth(truth) }
}

extension JSONTree: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let members): try container.encode(members)
        case .array(let elements): try container.encode(elements)
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .truth(let truth): try container.encode(truth)
        case .null: try container.encodeNil()
        }
    }
}
