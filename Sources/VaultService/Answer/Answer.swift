import VaultModel

/// A short answer, complete with its body.
struct Answer: Hashable, Sendable {
    var status: Int
    var fields: HeaderFields
    var body: [UInt8]

    init(status: Int, type: String, body: some Sequence<UInt8>, fields: HeaderFields = HeaderFields()) {
        self.status = status
        self.fields = fields
        self.fields.append(name: "Content-Type", value: type)
        self.fields.append(ProtectiveFields.all)
        self.body = Array(body)
    }

    /// A document, and a line end after it.
    static func json(_ document: some Encodable, status: Int = 200) throws -> Answer {
        Answer(
            status: status, type: "application/json",
            body: try JSONText.bytes(of: document) + [UInt8(ascii: "\n")])
    }

    /// The service is up.
    static let healthy = Answer(status: 200, type: "text/plain; charset=utf-8", body: "ok\n".utf8)
}
