package import VaultModel

/// A request as the origin received it.
package struct ScriptedRequest: Sendable {
    /// The number of the request among all requests to this origin, from 0.
    package let number: Int
    /// The connection that it came on, numbered from 0.
    package let connection: Int
    package let method: String
    /// The path and query as in the request line.
    package let target: String
    package let fields: HeaderFields

    /// The value of `Range`.
    package var range: String? { fields["Range"] }
    /// The value of `If-Range`.
    package var ifRange: String? { fields["If-Range"] }

    /// The request as an app's transport receives it.
    package init(_ request: OriginRequest, number: Int, connection: Int) {
        var fields = request.fields
        let condition = request.ifChangedFrom
        for (name, value) in [
            ("Range", request.range), ("If-Range", request.ifRange),
            ("If-None-Match", condition?.entityTag?.description), ("If-Modified-Since", condition?.lastModified),
        ] {
            if let value { fields.append(name: name, value: value) }
        }
        self.number = number
        self.connection = connection
        method = request.method == .head ? "HEAD" : "GET"
        target = request.url.path + (request.url.query.map { "?" + $0 } ?? "")
        self.fields = fields
    }

    /// Reads a request's head; nil if it is invalid.
    init?(_ head: String, number: Int, connection: Int) {
        var lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        guard let words = lines.popFirst()?.split(separator: " "), words.count == 3 else { return nil }
        var fields = HeaderFields()
        for line in lines where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            fields.append(name: String(line[..<colon]), value: String(line[line.index(after: colon)...]))
        }
        self.number = number
        self.connection = connection
        self.method = String(words[0])
        self.target = String(words[1])
        self.fields = fields
    }
}
