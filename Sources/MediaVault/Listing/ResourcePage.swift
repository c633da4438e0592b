import VaultStorage

/// Some resources of a listing, and where to go on.
package struct ResourcePage: Sendable {
    package let resources: [ResourceSummary]
    /// How many rows of the page failed their tags.
    package let damagedCount: Int
    /// What comes after is asked for by this; nil at the end.
    package let next: ResourceID?
}

extension Vault {
    /// The resources after one of them, as many as a page has.
    package func page(after last: ResourceID?, limit: Int) async throws -> ResourcePage {
        let store = store
        return try await pool.run {
            let rows = try store.index.resources(after: last, limit: limit)
            let known = rows.compactMap(\.resource)
            return ResourcePage(
                resources: known.map { ResourceSummary($0) }, damagedCount: rows.count - known.count,
                next: rows.count < limit ? nil : rows.last?.id)
        }
    }
}
