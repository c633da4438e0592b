extension JSONObject {
    /// The strings of an array; none where the member is missing.
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

    /// The objects of an array; none where the member is missing.
    package func optionalObjects(_ name: String) throws(MemberFailure) -> [JSONObject] {
        self[name] == nil ? [] : try objects(name)
    }
}
