import MediaVault

/// What is asked of `POST /api/v1/shreds`.
struct ShredOrder: Codable, Sendable {
    let resources: [ReferenceDocument]
    let quick: Bool?

    init(_ references: [MediaReference], quick: Bool) {
        resources = references.map { ReferenceDocument($0) }
        self.quick = quick
    }

    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument`.
    func references() throws -> [MediaReference] {
        guard !resources.isEmpty else {
            throw VaultError(.invalidArgument, "the list names no resource; name what is to be shredded")
        }
        return try resources.map { try $0.reference() }
    }
}
