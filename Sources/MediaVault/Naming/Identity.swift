import VaultModel

/// Which request fields say who is asking.
enum Identity {
    /// What identifies the one who sends these fields: every field that might, of one that is alone and is `Authorization`
    /// or `Cookie` the value; nil where none does.
    static func bytes(of fields: HeaderFields) -> [UInt8]? {
        // A field that nobody knows may be a key of somebody's: two that differ in it share nothing.
        let telling = fields.fields.filter { field in !anonymous.contains { $0.isEqualIgnoringCase(field.name) } }
        guard let first = telling.first else { return nil }
        if telling.count == 1, ["Authorization", "Cookie"].contains(where: first.name.isEqualIgnoringCase) {
            return Array(first.value.utf8)
        }
        let lines = telling.map { Array("\($0.name.lowercased()): \($0.value)".utf8) }
        return Array(lines.sorted { $0.lexicographicallyPrecedes($1) }.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// Fields that say how something is asked for, not by whom.
    private static let anonymous = [
        "Accept", "Accept-Language", "Cache-Control", "DNT", "Origin", "Pragma", "Referer", "User-Agent",
    ]
}
