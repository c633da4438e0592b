import VaultModel

/// Which request fields say who is asking.
enum Identity {
    /// What identifies the one who sends these fields: the value of `Authorization`, else of `Cookie`, else every field
    /// that might; nil where none does.
    static func bytes(of fields: HeaderFields) -> [UInt8]? {
        if let value = fields["Authorization"] ?? fields["Cookie"] { return Array(value.utf8) }
        // A field that nobody knows may be a key of somebody's: two that differ in it share nothing.
        let others = fields.fields.filter { field in !anonymous.contains { $0.isEqualIgnoringCase(field.name) } }
            .map { "\($0.name.lowercased()): \($0.value)" }
        return others.isEmpty ? nil : Array(others.sorted().joined(separator: "\n").utf8)
    }

    /// Fields that say how something is asked for, not by whom.
    private static let anonymous = [
        "Accept", "Accept-Language", "Cache-Control", "DNT", "Origin", "Pragma", "Referer", "User-Agent",
    ]
}
