package import VaultModel

/// A request as the origin received it.
package struct ScriptedRequest: Sendable {
    /// The number of the request among all requests to this origin, from 0.
    package let number: Int
    package let method: String
    /// The path and query as in the request line.
    package let target: String
    package let fields: HeaderFields

    /// The value of `Range`.
    package var range: String? { fields["Range"] }
    /// The value of `If-Range`.
    package var ifRange: String? { fields["If-Range"] }

    /// Reads a request's head; nil if it is invalid.
    init?(_ head: String, number: Int) {
        var lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        guard let words = lines.popFirst()?.split(separator: " "), words.count == 3 else { return nil }
        var fields = HeaderFields()
        for line in lines where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            fields.append(name: String(line[..<colon]), value: String(line[line.index(after: colon)...]))
        }
        self.number = number
        self.method = String(words[0])
        self.target = String(words[1])
        self.fields = fields
    }
}
