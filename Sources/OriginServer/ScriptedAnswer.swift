import VaultModel

/// An origin's answer: a head, and the steps of its body. Tests take the correct answer of a ``ScriptedResource`` and
/// spoil it.
package struct ScriptedAnswer: Sendable {
    package var status: Int
    /// The fields, sent unchanged. Nothing is added: an answer without `Content-Length` needs ``isChunked`` or
    /// ``closes``.
    package var fields: [(name: String, value: String)]
    /// The steps before the head is sent.
    package var before: [ScriptedStep] = []
    package var body: [ScriptedStep]
    /// Whether the body is sent in chunks, with the last chunk at its end.
    package var isChunked = false
    /// Whether the connection is closed after the answer.
    package var closes = false
    /// How long a client may read nothing before the connection is closed, as in nginx; nil for no limit.
    package var sendTimeout: Duration?
    /// Sent instead of status and fields, byte for byte.
    package var rawHead: String?

    package init(_ status: Int, fields: KeyValuePairs<String, String> = [:], body: [ScriptedStep] = []) {
        self.status = status
        self.fields = fields.map { ($0.key, $0.value) }
        self.body = body
    }

    /// The answer with an HLS playlist; to HEAD, without it.
    ///
    /// - Parameter isFresh: whether it may be reused for an hour without revalidation.
    package static func playlist(
        _ text: String, entityTag: String, isFresh: Bool = false, to request: ScriptedRequest
    ) -> ScriptedAnswer {
        var answer = ScriptedAnswer(
            200,
            fields: [
                "Content-Type": "application/vnd.apple.mpegurl", "Content-Length": "\(text.utf8.count)",
                "ETag": "\"\(entityTag)\"",
            ], body: request.method == "GET" ? [.bytes(Array(text.utf8))] : [])
        if isFresh { answer.set("Cache-Control", "max-age=3600") }
        return answer
    }

    /// An answer of exactly these bytes, including the head, after which the connection is closed.
    package static func raw(_ text: String) -> ScriptedAnswer {
        var answer = ScriptedAnswer(0)
        answer.rawHead = text
        answer.closes = true
        return answer
    }

    /// A redirect without a body.
    package static func redirect(_ status: Int = 302, to location: String) -> ScriptedAnswer {
        ScriptedAnswer(status, fields: ["Location": location, "Content-Length": "0"])
    }

    /// Sets the value of the field, or removes the field.
    package mutating func set(_ name: String, _ value: String?) {
        fields.removeAll { $0.name.isEqualIgnoringCase(name) }
        if let value { fields.append((name, value)) }
    }

    /// Sends the body in chunks, without `Content-Length`.
    package mutating func sendInChunks() {
        set("Content-Length", nil)
        set("Transfer-Encoding", "chunked")
        isChunked = true
    }

    /// Sends the body until the connection ends, without `Content-Length`.
    package mutating func sendUntilClose() {
        set("Content-Length", nil)
        closes = true
    }

    /// Breaks the body off after this many bytes, by `step`: `.close`, `.reset`, or a `.hold` whose gate stays closed.
    package mutating func cut(at count: Int64, by step: ScriptedStep) {
        body = parts(at: count).first + [step]
    }

    /// Does `step` after this many bytes of the body, and continues.
    package mutating func insert(_ step: ScriptedStep, at count: Int64) {
        let (first, rest) = parts(at: count)
        body = first + [step] + rest
    }

    private func parts(at count: Int64) -> (first: [ScriptedStep], rest: [ScriptedStep]) {
        var first: [ScriptedStep] = []
        var rest: [ScriptedStep] = []
        var left = count
        for step in body {
            if left >= step.length {
                first.append(step)
            } else if left <= 0 {
                rest.append(step)
            } else {
                let (one, other) = step.split(at: left)
                first.append(one)
                rest.append(other)
            }
            left -= step.length
        }
        return (first, rest)
    }

    /// The head as it is sent.
    var head: String {
        if let rawHead { return rawHead }
        return "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")\r\n"
            + fields.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
    }

    private static let reasons = [
        200: "OK", 206: "Partial Content", 302: "Found", 304: "Not Modified", 404: "Not Found",
        416: "Range Not Satisfiable",
        503: "Service Unavailable",
    ]
}
