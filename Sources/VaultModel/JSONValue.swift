/// A JSON value. Every number that the vault writes is an integer.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number that is not a 64-bit integer, or that has a fraction or an exponent and is not an exact integer. Only
    /// ``JSONParser/Numbers/all`` accepts it.
    case fraction(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The largest integer that every JSON reader represents exactly: 2⁵³ − 1.
    package static let largestInteger: Int64 = (1 << 53) - 1

    /// The value in canonical form (RFC 8785), as UTF-8.
    ///
    /// Members are sorted by UTF-16 code units, and neither `/` nor non-ASCII characters are escaped. There is no white
    /// space.
    package var canonical: [UInt8] {
        var text = ""
        write(to: &text)
        return Array(text.utf8)
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .fraction(let value): text += String(value)
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            let sorted = members.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
            for (index, member) in sorted.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.key, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{8}": text += "\\b"
            case "\t": text += "\\t"
            case "\n": text += "\\n"
            case "\u{C}": text += "\\f"
            case "\r": text += "\\r"
            case ..<" ":
                let hex = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

/// A JSON object with typed access to its members. A missing or mistyped member is an error.
package struct JSONObject: Sendable {
    package private(set) var members: [String: JSONValue]

    /// The error for a member that is missing or invalid.
    package struct MemberFailure: Error {
        package let name: String

        package init(name: String) { self.name = name }
    }

    package init(_ members: [String: JSONValue] = [:]) { self.members = members }

    package init(_ value: JSONValue, name: String) throws(MemberFailure) {
        guard case .object(let members) = value else { throw MemberFailure(name: name) }
        self.members = members
    }

    package subscript(name: String) -> JSONValue? {
        get { members[name] }
        set { members[name] = newValue }
    }

    package func string(_ name: String) throws(MemberFailure) -> String {
        guard case .string(let value)? = members[name] else { throw MemberFailure(name: name) }
        return value
    }

    package func optionalString(_ name: String) throws(MemberFailure) -> String? {
        switch members[name] {
        case .string(let value): return value
        case .null, nil: return nil
        default: throw MemberFailure(name: name)
        }
    }

    package func integer(_ name: String) throws(MemberFailure) -> Int64 {
        guard case .integer(let value)? = members[name] else { throw MemberFailure(name: name) }
        return value
    }

    package func optionalInteger(_ name: String) throws(MemberFailure) -> Int64? {
        switch members[name] {
        case .integer(let value): return value
        case .null, nil: return nil
        default: throw MemberFailure(name: name)
        }
    }

    package func bool(_ name: String) throws(MemberFailure) -> Bool {
        guard case .bool(let value)? = members[name] else { throw MemberFailure(name: name) }
        return value
    }

    package func objects(_ name: String) throws(MemberFailure) -> [JSONObject] {
        guard case .array(let values)? = members[name] else { throw MemberFailure(name: name) }
        var objects: [JSONObject] = []
        for value in values { objects.append(try JSONObject(value, name: name)) }
        return objects
    }

    /// Returns the bytes of a member that contains canonical base64 (RFC 4648 §4, with padding).
    package func base64(_ name: String) throws(MemberFailure) -> [UInt8] {
        guard let bytes = Base64.decode(try string(name)) else { throw MemberFailure(name: name) }
        return bytes
    }
}

extension JSONObject {
    /// Returns the strings in a member that is an array; empty if the member is missing.
    package func strings(_ name: String) throws(MemberFailure) -> [String] {
        guard let value = self[name] else { return [] }
        guard case .array(let values) = value else { throw MemberFailure(name: name) }
        var strings: [String] = []
        for value in values {
            guard case .string(let string) = value else { throw MemberFailure(name: name) }
            strings.append(string)
        }
        return strings
    }

    /// Returns the objects in a member that is an array; empty if the member is missing.
    package func optionalObjects(_ name: String) throws(MemberFailure) -> [JSONObject] {
        self[name] == nil ? [] : try objects(name)
    }
}
