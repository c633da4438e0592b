package import MediaVault
import VaultModel

/// A collection as `GET /api/v1/collections` and `collection list --json` report it.
package struct CollectionDocument: Codable, Sendable {
    package let id: String
    package let kind: CollectionKind
    /// The name; null if nothing names the collection.
    @OrNull package var name: String?
    /// The ids of the titles, in the order in which people play them.
    package let titles: [TitleID]
    /// The ids of the viewers with whom the collection is shared; empty unless the owner asks.
    package let viewers: [String]
    /// Whether all titles are pinned, also those that come later.
    package let pinned: Bool
    /// The mode of all titles, also of those that come later; null if each has its own.
    @OrNull package var mode: VaultMode?

    /// - Parameters:
    ///   - rule: what applies to all titles.
    ///   - viewers: the viewers with whom the collection is shared.
    ///   - hasOriginNames: whether the name may reveal where the titles came from.
    init(
        _ collection: TitleCollection, _ rule: CollectionRule? = nil, viewers: [ViewerID] = [], hasOriginNames: Bool
    ) {
        pinned = rule?.isPinned ?? false
        mode = rule?.mode
        (id, kind, self.viewers) = (collection.id, collection.kind, viewers.map(\.hex))
        titles = collection.titles.compactMap(\.id)
        name = collection.isNamedByOrigin && !hasOriginNames ? nil : collection.name
    }
}

/// The collections of a vault.
package struct CollectionsDocument: Codable, Sendable {
    package let collections: [CollectionDocument]
}

/// The body of `PATCH /api/v1/collections`.
package struct CollectionChange: Codable, Sendable {
    /// The id of the collection.
    let id: String
    /// The new name; empty to bring back the one that the titles state.
    let name: String?
    /// Whether all titles are pinned, also those that come later.
    let pinned: Bool?
    /// The name of the mode of all titles, also of those that come later.
    let mode: String?

    package init(_ id: String, name: String? = nil, pinned: Bool? = nil, mode: NamedMode? = nil) {
        (self.id, self.name, self.pinned, self.mode) = (id, name, pinned, mode?.description)
    }
}

/// The body of `POST /api/v1/collections`.
package struct CollectionMove: Codable, Sendable {
    /// The ids of the titles.
    let resources: [TitleID]
    /// The name of the collection; null to let the titles belong where they belong by themselves.
    @OrNull var name: String?

    package init(_ resources: [TitleID], to name: String?) {
        self.resources = resources
        self.name = name
    }
}
