/// What is asked of `POST /api/v1/downloads`.
package struct DownloadOrder: Codable, Sendable {
    package var reference: ReferenceDocument
    /// Whether the download goes on without whoever asked for it.
    package var isDetached: Bool

    package init(_ reference: ReferenceDocument, isDetached: Bool = false) {
        self.reference = reference
        self.isDetached = isDetached
    }

    private enum CodingKeys: String, CodingKey { case detached }

    // The members of the reference stand among the others.
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        reference = try ReferenceDocument(from: decoder)
        isDetached = try members.decodeIfPresent(Bool.self, forKey: .detached) ?? false
    }

    package func encode(to encoder: any Encoder) throws {
        try reference.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        if isDetached { try members.encode(true, forKey: .detached) }
    }
}
