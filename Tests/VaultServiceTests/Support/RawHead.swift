/// The parsed head of an answer.
struct RawHead: Sendable {
    let status: Int
    /// The fields by lower-case name; if a name is repeated, its last value.
    let fields: [String: String]
    /// The values of all `Set-Cookie` fields.
    let cookies: [String]

    init?(_ text: String) {
        let lines = text.split(separator: "\r\n")
        guard let words = lines.first?.split(separator: " "), words.count >= 2, let status = Int(words[1]) else {
            return nil
        }
        self.status = status
        var fields: [String: String] = [:]
        var cookies: [String] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields[line[..<colon].lowercased()] = String(value)
            if line[..<colon].lowercased() == "set-cookie" { cookies.append(String(value)) }
        }
        self.cookies = cookies
        self.fields = fields
    }

    /// The value of the field with this name, ignoring case; nil if there is none.
    subscript(name: String) -> String? { fields[name.lowercased()] }
}
