import MediaVault

/// What is asked of `POST /api/v1/downloads`.
struct DownloadOrder: Codable, Sendable {
    let reference: ReferenceDocument
    let connections: Int?
    /// Bytes in a second.
    let limitRate: Int64?
    /// Whether the download goes on without whoever asked for it.
    let isDetached: Bool

    init(_ reference: MediaReference, _ options: DownloadOptions, isDetached: Bool) {
        self.reference = ReferenceDocument(reference)
        connections = options.connections
        limitRate = options.bytesPerSecond
        self.isDetached = isDetached
    }

    var options: DownloadOptions { DownloadOptions(connections: connections ?? 1, bytesPerSecond: limitRate) }

    private enum CodingKeys: String, CodingKey { case connections, limitRate, detached }

    // The members of the reference stand among the others.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        reference = try ReferenceDocument(from: decoder)
        connections = try members.decodeIfPresent(Int.self, forKey: .connections)
        limitRate = try members.decodeIfPresent(Int64.self, forKey: .limitRate)
        isDetached = try members.decodeIfPresent(Bool.self, forKey: .detached) ?? false
    }

    func encode(to encoder: any Encoder) throws {
        try reference.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(connections, forKey: .connections)
        try members.encodeIfPresent(limitRate, forKey: .limitRate)
        if isDetached { try members.encode(true, forKey: .detached) }
    }
}
