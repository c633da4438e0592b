import VaultModel

/// A value in a body, and the member names that its type has asked for. Only the task that decodes the body uses it.
final class BodyNode {
    /// The value; nil for a required member that is missing or wrong. Its type then decodes a placeholder that is never
    /// used, so that decoding can continue.
    let value: JSONValue?
    private let key: (any CodingKey)?
    /// The value that contains this one, which outlives it.
    private unowned let parent: BodyNode?
    /// The names that the value's type has asked for.
    private(set) var known: Set<String> = []
    /// The members and elements that are decoded later, and those with unknown members. No others are kept, because a
    /// body may have very many.
    private var members: [String: BodyNode] = [:]
    private var elements: [BodyNode] = []
    /// The first fault in the body.
    private(set) var fault: (any Error)?
    /// Whether decoding stopped at an error, so that the type may know more members than it has asked for.
    var isAbandoned = false

    /// Whether the value is part of a query, in which every value is a string.
    let isQuery: Bool

    init(_ value: JSONValue, isQuery: Bool = false) {
        (self.value, key, parent, self.isQuery) = (value, nil, nil, isQuery)
    }

    private init(_ value: JSONValue?, _ key: any CodingKey, in parent: BodyNode) {
        (self.value, self.key, self.parent, isQuery) = (value, key, parent, parent.isQuery)
    }

    /// The path of the value in the body.
    var path: [any CodingKey] { (parent?.path ?? []) + (key.map { [$0] } ?? []) }

    /// The number of keys in ``path``.
    var depth: Int { parent.map { $0.depth + 1 } ?? 0 }

    /// Records a fault, unless the body has an earlier one.
    func note(_ error: any Error) {
        guard let parent else { return fault = fault ?? error }
        parent.note(error)
    }

    /// Returns the member with a name; nil if there is none.
    func member(_ key: any CodingKey) -> BodyNode? {
        guard case .object(let values)? = value else { return nil }
        known.insert(key.stringValue)
        return values[key.stringValue].map { members[key.stringValue] ?? BodyNode($0, key, in: self) }
    }

    /// Keeps a member, which is decoded later or has an unknown member.
    func keep(_ member: BodyNode, as key: any CodingKey) { members[key.stringValue] = member }

    /// Returns a placeholder for a required member that is missing or wrong.
    func standIn(_ key: any CodingKey) -> BodyNode { BodyNode(nil, key, in: self) }

    func element(_ value: JSONValue, at index: Int) -> BodyNode { BodyNode(value, BodyKey(index), in: self) }

    func keep(_ element: BodyNode) { elements.append(element) }

    /// Returns the name of the outermost member that no type has asked for; nil if there is none.
    func unknownMember() -> String? {
        guard !isAbandoned else { return nil }
        if case .object(let values)? = value {
            for name in values.keys.sorted() {
                guard known.contains(name) else { return name }
                if let unknown = members[name]?.unknownMember() { return unknown }
            }
        }
        return elements.lazy.compactMap { $0.unknownMember() }.first
    }
}

private struct BodyKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ index: Int) { (stringValue, intValue) = (String(index), index) }
    init?(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init?(intValue: Int) { self.init(intValue) }
}

/// Decodes one value of a body.
struct BodyDecoder: Decoder, SingleValueDecodingContainer {
    let node: BodyNode
    var codingPath: [any CodingKey] { node.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ node: BodyNode) { self.node = node }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        switch node.value {
        case .object, nil: KeyedDecodingContainer(BodyMembers<Key>(node: node))
        default: throw mismatch([String: String].self)
        }
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch node.value {
        case .array(let values): BodyElements(node: node, values: values)
        case nil: BodyElements(node: node, values: [])
        default: throw mismatch([String].self)
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { node.value == .null }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        do {
            if let found = try scalar(type), let value = found as? Value { return value }
            if node.value == nil, let name = StrictDecoder.names(of: type)?.first {
                return try BodyDecoder(BodyNode(.string(name))).decode(type)
            }
            return try Value(from: self)
        } catch {
            node.isAbandoned = true
            guard let context = (error as? DecodingError)?.contextOfValue,
                context.codingPath.count == node.depth, StrictDecoder.expectation(of: type) != nil
            else { throw error }
            // Report the type itself, because it says more about what is expected than the text that represents it.
            throw mismatch(type)
        }
    }

    /// Returns the value if `type` is one of JSON's own types; otherwise nil.
    private func scalar(_ type: any Decodable.Type) throws -> (any Decodable)? {
        switch (type, value(as: type)) {
        case (is String.Type, .string(let text)): return text
        case (is String.Type, nil): return ""
        case (is Bool.Type, .bool(let isTrue)): return isTrue
        case (is Bool.Type, nil): return false
        case (is Double.Type, .integer(let number)): return Double(number)
        case (is Double.Type, .fraction(let number)): return number
        case (is Double.Type, nil): return 0.0
        case (let type as any FixedWidthInteger.Type, let value):
            let number: Int64? = if case .integer(let number)? = value { number } else { value == nil ? 0 : nil }
            guard let exact = number.flatMap({ Self.exactly($0, type) }) else { throw mismatch(type) }
            return exact
        case (is String.Type, _), (is Bool.Type, _), (is Double.Type, _): throw mismatch(type)
        default: return nil
        }
    }

    /// Returns the value, parsed from its text if it is part of a query.
    private func value(as type: any Decodable.Type) -> JSONValue? {
        guard node.isQuery, !(type is String.Type), case .string(let text)? = node.value else { return node.value }
        return switch text {
        case "true": .bool(true)
        case "false": .bool(false)
        default: Int64(text).map { .integer($0) } ?? node.value
        }
    }

    private static func exactly<Integer: FixedWidthInteger>(_ number: Int64, _: Integer.Type) -> (any Decodable)? {
        Integer(exactly: number) as? any Decodable
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, DecodingError.Context(codingPath: codingPath, debugDescription: "another type"))
    }
}

/// The members of an object in a body.
private struct BodyMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let node: BodyNode
    var codingPath: [any CodingKey] { node.path }

    var allKeys: [Key] {
        guard case .object(let values)? = node.value else { return [] }
        return values.keys.compactMap { Key(stringValue: $0) }
    }

    func contains(_ key: Key) -> Bool { node.member(key) != nil }

    func decodeNil(forKey key: Key) -> Bool { node.member(key)?.value == .null }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let fault: any Error
        do {
            if let member = node.member(key) { return try decode(type, member, key) }
            let context = DecodingError.Context(codingPath: codingPath, debugDescription: "missing")
            fault = DecodingError.keyNotFound(key, context)
        } catch {
            fault = error
        }
        node.note(fault)
        // If the type cannot decode a placeholder, the fault ends the decoding.
        guard let standIn = try? BodyDecoder(node.standIn(key)).decode(type) else { throw fault }
        return standIn
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let member = node.member(key), member.value != .null else { return nil }
        do {
            return try decode(type, member, key)
        } catch {
            node.note(error)
            return nil
        }
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ member: BodyNode, _ key: Key) throws -> Value {
        defer { if member.unknownMember() != nil { node.keep(member, as: key) } }
        return try BodyDecoder(member).decode(type)
    }

    /// Returns a member that is decoded later, or a placeholder for it.
    private func keptMember(_ key: Key) -> BodyNode {
        guard let member = node.member(key) else { return node.standIn(key) }
        node.keep(member, as: key)
        return member
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try BodyDecoder(keptMember(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try BodyDecoder(keptMember(key)).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { BodyDecoder(node) }

    func superDecoder(forKey key: Key) -> any Decoder { BodyDecoder(keptMember(key)) }
}

/// The elements of an array in a body.
private struct BodyElements: UnkeyedDecodingContainer {
    let node: BodyNode
    let values: [JSONValue]
    private(set) var currentIndex = 0
    var codingPath: [any CodingKey] { node.path }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex == values.count }

    init(node: BodyNode, values: [JSONValue]) { (self.node, self.values) = (node, values) }

    private mutating func next() throws -> BodyNode {
        guard !isAtEnd else {
            let context = DecodingError.Context(codingPath: codingPath, debugDescription: "no more elements")
            throw DecodingError.valueNotFound(JSONValue.self, context)
        }
        defer { currentIndex += 1 }
        return node.element(values[currentIndex], at: currentIndex)
    }

    /// Returns the next element, which is decoded later.
    private mutating func keptNext() throws -> BodyNode {
        let element = try next()
        node.keep(element)
        return element
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, values[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let element = try next()
        // Only elements with a fault are kept, because there may be very many.
        defer { if element.unknownMember() != nil { node.keep(element) } }
        return try BodyDecoder(element).decode(type)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try BodyDecoder(keptNext()).container(keyedBy: type) }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try BodyDecoder(keptNext()).unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { BodyDecoder(try keptNext()) }
}

extension DecodingError {
    /// The location of an invalid value, or of a value of the wrong type; nil for other errors.
    fileprivate var contextOfValue: Context? {
        switch self {
        case .typeMismatch(_, let context), .dataCorrupted(let context): context
        default: nil
        }
    }
}
