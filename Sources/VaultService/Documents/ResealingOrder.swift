import MediaVault

/// What is asked of `POST /api/v1/reseals`.
struct ResealingOrder: Codable, Sendable {
    /// Everything where there is none.
    let resources: [ReferenceDocument]?
    /// Bytes in a second.
    let limitRate: Int64?

    init(_ references: [MediaReference], bytesPerSecond: Int64?) {
        resources = references.isEmpty ? nil : references.map { ReferenceDocument($0) }
        limitRate = bytesPerSecond
    }

    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument`.
    func references() throws -> [MediaReference] {
        if let limitRate, limitRate <= 0 {
            throw VaultError(.invalidArgument, "a rate is at least one byte in a second")
        }
        // An empty list is no way to say everything: too much would be begun by mistake.
        if let resources, resources.isEmpty {
            throw VaultError(.invalidArgument, "the list names no resource; leave it out to reseal everything")
        }
        return try (resources ?? []).map { try $0.reference() }
    }
}
