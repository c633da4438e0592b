import MediaVault

/// A mode for one resource: `POST /api/v1/modes`.
struct ModeOrder: Codable, Hashable, Sendable {
    let reference: ReferenceDocument
    /// As ``NamedMode`` spells it.
    let mode: String

    init(_ reference: MediaReference, _ mode: VaultMode?) {
        self.reference = ReferenceDocument(reference)
        self.mode = NamedMode(mode).description
    }

    private enum CodingKeys: CodingKey { case mode }

    // The members of the reference stand among the others.
    init(from decoder: any Decoder) throws {
        reference = try ReferenceDocument(from: decoder)
        mode = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .mode)
    }

    func encode(to encoder: any Encoder) throws {
        try reference.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(mode, forKey: .mode)
    }
}
