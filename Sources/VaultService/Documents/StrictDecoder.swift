import VaultModel

/// Decodes the body or the query of a request, and refuses members that its type does not know.
///
/// Foundation's decoder skips unknown members, accepts one of two members with the same name, and does not name a
/// member that has a fraction instead of an integer. This decoder records every name that the type asks for. It
/// continues after a fault, so that it can report a misspelt member rather than the member that is missing as a result.
enum StrictDecoder {
    /// Why a body is refused. It contains only member names from the body, because the body may contain a token.
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
        /// - Parameter expectation: what the value must be; nil if only a part of it is wrong, or if a few words do not
        ///   suffice.
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
        try decode(type, BodyNode(value(of: parsed(body), adding: more)))
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ root: BodyNode) throws -> Value {
        let decoded = Result { try BodyDecoder(root).decode(type) }
        if let name = root.unknownMember() { throw Fault.unknown(name) }
        do {
            if let fault = root.fault { throw fault }
            return try decoded.get()
        } catch let error as DecodingError {
            throw fault(error)
        }
    }

    /// Decodes a query, in which every value is a string.
    ///
    /// - Parameter query: the names and values, none of them unknown or repeated.
    /// - Throws: ``Fault``, or an error that the type itself throws for an invalid value.
    static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, query: [(name: String, value: String)]
    ) throws -> Value {
        let values = query.map { ($0.name, JSONValue.string($0.value)) }
        let root = BodyNode(.object(Dictionary(values) { first, _ in first }), isQuery: true)
        do {
            return try decode(type, root)
        } catch Fault.wrong(let name, let expectation) {
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
            // A reader may ignore a byte order mark (RFC 8259 §8.1).
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            return try JSONParser.parse(body.starts(with: mark) ? Array(body.dropFirst(3)) : body, numbers: .all)
        } catch {
            throw error.repeated.map { Fault.repeated($0) } ?? .unreadable
        }
    }

    /// Returns words for a name that a client sent, which are safe in a message. An unusual name is omitted, because
    /// the client may have sent anything.
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
    static func expectation(of type: Any.Type) -> String? {
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

    /// Returns the names of an enumeration's values; nil for other types.
    static func names(of type: Any.Type) -> [String]? {
        func names<Choice: CaseIterable>(_: Choice.Type) -> [String] {
            Choice.allCases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
        }
        guard let choice = type as? any CaseIterable.Type else { return nil }
        let found = names(choice)
        return found.isEmpty ? nil : found
    }
}

/// A type that JSON represents as an array.
private protocol BodyArray {}
extension Array: BodyArray {}

/// A type that JSON represents as an object with arbitrary member names.
private protocol BodyObject {}
extension Dictionary: BodyObject {}
