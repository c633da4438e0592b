import VaultService

/// A vault as `status --json` prints it: what the service tells of it, and where that runs.
struct StatusRecord: Encodable, Sendable {
    let status: StatusDocument
    let service: OrNull<ServiceRecord>

    init(_ status: StatusDocument, service: ServiceRecord?) {
        self.status = status
        self.service = OrNull(service)
    }

    private enum CodingKeys: CodingKey { case service }

    // The members of the document stand among the others.
    func encode(to encoder: any Encoder) throws {
        try status.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(service, forKey: .service)
    }
}
