/// What is asked of `POST /api/v1/links`.
struct LinkOrder: Codable, Sendable {
    let reference: ReferenceDocument
    /// Seconds from now; a day where it is left out.
    let lifetime: Int64?

    private enum CodingKeys: String, CodingKey { case lifetime }

    // The members of the reference stand among the others.
    init(from decoder: any Decoder) throws {
        reference = try ReferenceDocument(from: decoder)
        lifetime = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Int64.self, forKey: .lifetime)
    }

    func encode(to encoder: any Encoder) throws {
        try reference.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(lifetime, forKey: .lifetime)
    }
}
