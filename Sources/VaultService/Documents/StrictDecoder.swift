import VaultModel

/// Decodes the body or the query of a request, and refuses whatever its type does not know.
///
/// Foundation's decoder skips unknown members, takes one of two members with the same name, and does not name the
/// member that has a fraction in place of an integer. This decoder instead notes every name that the type looks for.
/// After a fault, it goes on, because a misspelt member is told before the one that is missing because of it.
enum StrictDecoder {
    /// Why a body is refused. Only the names of members are taken from the body, which may contain a token.
    enum Fault: Error, Equatable {
        case unreadable
        /// A parameter of the query is wrong.
        case wrongParameter(String, expectation: String?)
        /// The type of the body has no member with this name.
        case unknown(String)
        case repeated(String)
        case missing(String)
        /// The value of an outermost member is wrong.
        ///
        /// - Parameter expectation: what the value must be; nil if a part of it is wrong, or if a few words do not say.
        case wrong(String, expectation: String?)

        /// The fault in a few words.
        var message: String {
            switch self {
            case .wrongParameter(let name, let expectation):
                "the request's \(name) \(expectation.map { "must be \($0)" } ?? "is not what this request expects")"
            case .unreadable: "the body is not the JSON that this request expects"
            case .unknown(let name): "the body has \(shown(name, "member")), which this request does not know"
            case .repeated(let name): "the body has \(shown(name, "member")) twice"
            case .missing(let name): "the body lacks the member \(name)"
            case .wrong(let name, let expectation?): "the body's \(name) must be \(expectation)"
            case .wrong(let name, nil): "the body's \(name) is not the JSON that this request expects"
            }
        }
    }

    /// Decodes a body.
    ///
    /// - Parameter more: members that the path of the request adds, which the body itself may not have.
    /// - Throws: ``Fault``, or an error that the type itself throws for an invalid value.
    static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from body: [UInt8], adding more: [String: String] = [:]
    ) throws -> Value {
        let root = BodyNode(try value(of: parsed(body), adding: more))
        let decoded = Result { try BodyDecoder(root).decode(type) }
        if let name = root.unknownMember() { throw Fault.unknown(name) }
        do {
            if let fault = root.fault { throw fault }
            return try decoded.get()
        } catch let error as DecodingError {
            throw fault(error)
        }
    }

    /// Decodes a query, in which every value is a text.
    ///
    /// - Parameter query: the names and values, none of them unknown or repeated.
    /// - Throws: ``Fault``, or an error that the type itself throws for an invalid value.
    static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, query: [(name: String, value: String)]
    ) throws -> Value {
        let values = query.map { ($0.name, JSONValue.string($0.value)) }
        let root = BodyNode(.object(Dictionary(values) { first, _ in first }), isQuery: true)
        do {
            let decoded = try BodyDecoder(root).decode(type)
            if let fault = root.fault { throw fault }
            return decoded
        } catch let error as DecodingError {
            guard case .wrong(let name, let expectation) = fault(error) else { throw fault(error) }
            throw Fault.wrongParameter(name, expectation: expectation)
        }
    }

    /// Returns the names of the members that a type knows.
    static func members(of type: any Decodable.Type) -> Set<String> {
        let root = BodyNode(.object([:]))
        _ = try? BodyDecoder(root).decode(type)
        return root.known
    }

    private static func value(of body: JSONValue, adding more: [String: String]) throws -> JSONValue {
        guard !more.isEmpty, case .object(var members) = body else { return body }
        for (name, text) in more {
            guard members.updateValue(.string(text), forKey: name) == nil else { throw Fault.unknown(name) }
        }
        return .object(members)
    }

    private static func parsed(_ body: [UInt8]) throws -> JSONValue {
        do throws(JSONParser.Failure) {
            return try JSONParser.parse(body, numbers: .all)
        } catch {
            throw error.repeated.map { Fault.repeated($0) } ?? .unreadable
        }
    }

    /// Returns words for a client's name that a message may contain. An unusual name is left out, because the client
    /// may have sent anything.
    static func shown(_ name: String, _ kind: String) -> String {
        let isPlain = name.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || $0 == 0x5F }
        return isPlain && (1...32).contains(name.utf8.count) ? "the \(kind) \(name)" : "a \(kind)"
    }

    // MARK: Decoding errors

    private static func fault(_ error: DecodingError) -> Fault {
        switch error {
        case .keyNotFound(let key, let context):
            guard let outermost = context.codingPath.first else { return .missing(key.stringValue) }
            return .wrong(outermost.stringValue, expectation: nil)
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            guard let outermost = context.codingPath.first else { return .unreadable }
            let isWhole = context.codingPath.count == 1
            return .wrong(outermost.stringValue, expectation: isWhole ? expectation(of: type) : nil)
        case .dataCorrupted(let context):
            return context.codingPath.first.map { .wrong($0.stringValue, expectation: nil) } ?? .unreadable
        @unknown default: return .unreadable
        }
    }

    /// Returns a few words that say what a value of a type is in JSON; nil if a few words do not suffice.
    fileprivate static func expectation(of type: Any.Type) -> String? {
        if let names = names(of: type) { return "one of \(names.joined(separator: ", "))" }
        return switch type {
        case is Timestamp.Type: "a time such as 2027-01-31T00:00:00Z"
        case is any FixedWidthInteger.Type: "an integer"
        case is Double.Type: "a number"
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is any BodyArray.Type: "an array"
        case is any BodyObject.Type: "an object"
        default: nil
        }
    }

    /// Returns the texts of a type that has only a few values; nil for other types.
    fileprivate static func names(of type: Any.Type) -> [String]? {
        func names<Choice: CaseIterable>(_: Choice.Type) -> [String] {
            Choice.allCases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
        }
        guard let choice = type as? any CaseIterable.Type else { return nil }
        let found = names(choice)
        return found.isEmpty ? nil : found
    }
}

extension DecodingError {
    /// Where a value of a wrong type, or a wrong value, is; nil for other errors.
    fileprivate var contextOfValue: Context? {
        switch self {
        case .typeMismatch(_, let context), .dataCorrupted(let context): context
        default: nil
        }
    }
}

/// A type that JSON represents as an array.
private protocol BodyArray {}
extension Array: BodyArray {}

/// A type that JSON represents as an object with members of any name.
private protocol BodyObject {}
extension Dictionary: BodyObject {}

/// A value in a body, with what its type has looked for in it. It belongs to the task that decodes the body.
private final class BodyNode {
    /// The value; nil for a required member that is missing or wrong. Its type then gets a value of its own kind that
    /// nobody uses, so that decoding can go on.
    let value: JSONValue?
    private let key: (any CodingKey)?
    /// The value that contains this one, which outlives it.
    private unowned let parent: BodyNode?
    /// The names that the value's type has looked for, with the values of those that exist.
    private var members: [String: BodyNode] = [:]
    /// The elements that are still being decoded, and those with unknown members.
    private var elements: [BodyNode] = []
    /// The first fault in the body.
    private(set) var fault: (any Error)?
    /// Whether the type gave up, so that it may know more members than it has looked for.
    var isAbandoned = false

    /// Whether the value is a part of a query, in which numbers and words are texts, too.
    let isQuery: Bool

    init(_ value: JSONValue, isQuery: Bool = false) {
        (self.value, key, parent, self.isQuery) = (value, nil, nil, isQuery)
    }

    private init(_ value: JSONValue?, _ key: any CodingKey, in parent: BodyNode) {
        (self.value, self.key, self.parent, isQuery) = (value, key, parent, parent.isQuery)
    }

    /// Where the value is in the body.
    var path: [any CodingKey] { (parent?.path ?? []) + (key.map { [$0] } ?? []) }

    /// The number of keys in ``path``.
    var depth: Int { parent.map { $0.depth + 1 } ?? 0 }

    /// The names that the value's type has looked for.
    var known: Set<String> { Set(members.keys) }

    /// Notes a fault, unless the body has an earlier one.
    func note(_ error: any Error) {
        guard let parent else { return fault = fault ?? error }
        parent.note(error)
    }

    /// Returns the member with a name; nil if there is none.
    func member(_ key: any CodingKey) -> BodyNode? {
        guard case .object(let values)? = value else { return nil }
        if let known = members[key.stringValue] { return known.value == nil ? nil : known }
        let node = BodyNode(values[key.stringValue], key, in: self)
        members[key.stringValue] = node
        return node.value == nil ? nil : node
    }

    /// Returns a stand-in for a required member that is missing or wrong.
    func standIn(_ key: any CodingKey) -> BodyNode { BodyNode(nil, key, in: self) }

    func element(_ value: JSONValue, at index: Int) -> BodyNode { BodyNode(value, BodyKey(index), in: self) }

    func keep(_ element: BodyNode) { elements.append(element) }

    /// Returns the name of the outermost member that no type has looked for; nil if there is none.
    func unknownMember() -> String? {
        guard !isAbandoned else { return nil }
        if case .object(let values)? = value {
            for name in values.keys.sorted() {
                guard let known = members[name] else { return name }
                if let unknown = known.unknownMember() { return unknown }
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
private struct BodyDecoder: Decoder, SingleValueDecodingContainer {
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
        if let found = try scalar(type), let value = found as? Value { return value }
        do {
            if node.value == nil, let name = StrictDecoder.names(of: type)?.first {
                return try BodyDecoder(BodyNode(.string(name))).decode(type)
            }
            return try Value(from: self)
        } catch {
            node.isAbandoned = true
            guard let context = (error as? DecodingError)?.contextOfValue,
                context.codingPath.count == node.depth, StrictDecoder.expectation(of: type) != nil
            else { throw error }
            // A type says more of what it expects than the text that represents it.
            throw mismatch(type)
        }
    }

    /// Returns the value as one of the types that JSON itself has; nil if the type is another one.
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

    /// Returns the value, read from its text if it is a part of a query.
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
            if let member = node.member(key) { return try BodyDecoder(member).decode(type) }
            let context = DecodingError.Context(codingPath: codingPath, debugDescription: "missing")
            fault = DecodingError.keyNotFound(key, context)
        } catch {
            fault = error
        }
        node.note(fault)
        // If the type takes no stand-in, the fault ends the decoding.
        guard let standIn = try? BodyDecoder(node.standIn(key)).decode(type) else { throw fault }
        return standIn
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let member = node.member(key), member.value != .null else { return nil }
        do {
            return try BodyDecoder(member).decode(type)
        } catch {
            node.note(error)
            return nil
        }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try BodyDecoder(node.member(key) ?? node.standIn(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try BodyDecoder(node.member(key) ?? node.standIn(key)).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { BodyDecoder(node) }

    func superDecoder(forKey key: Key) -> any Decoder { BodyDecoder(node.member(key) ?? node.standIn(key)) }
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
        // Of very many elements, only those with a fault are kept.
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
