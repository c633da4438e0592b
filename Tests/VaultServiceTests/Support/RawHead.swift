/// The parsed head of an answer.
struct RawHead: Sendable {
    let status: Int
    /// The fields by lower-case name; if a name is repeated, its last value.
    let fields: [String: String]

    init?(_ text: String) {
        let lines = text.split(separator: "\r\n")
        guard let words = lines.first?.split(separator: " "), words.count >= 2, let status = Int(words[1]) else {
            return nil
        }
        self.status = status
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields[line[..<colon].lowercased()] = String(value)
        }
        self.fields = fields
    }

    /// The value of a field, by its name in any case; nil if there is none.
    subscript(name: String) -> String? { fields[name.lowercased()] }
}
