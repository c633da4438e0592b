/// Typed access to the members of a JSON object; a member that is missing or of another type is an error.
package struct JSONObject: Sendable {
    package private(set) var members: [String: JSONValue]

    /// Which member is missing or not what it should be.
    package struct MemberFailure: Error {
        package let name: String
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

    /// Bytes written as base64 (RFC 4648 §4, with padding), in that one spelling.
    package func base64(_ name: String) throws(MemberFailure) -> [UInt8] {
        guard let bytes = Base64.decode(try string(name)) else { throw MemberFailure(name: name) }
        return bytes
    }
}
