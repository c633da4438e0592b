import MediaVault
import VaultModel

extension Operations {
    /// Operations on collections: titles that belong together.
    package enum Collections {
        static let all: [any AnyOperation] = [list, change, move]

        /// Returns the collections, of which a viewer gets those with titles that are shared with them.
        package static let list = Operation<EmptyDocument, CollectionsDocument>(
            .get, "collections", scope: .read, isForViewers: true
        ) { _, vault, caller in
            guard let viewer = caller.viewer else {
                let collections = vault.collections
                // As with shares, only the owner learns who sees what.
                let isOwner = caller.access.map { $0.scope == .admin } ?? true
                return CollectionsDocument(
                    collections: try await collections.all().map {
                        CollectionDocument(
                            $0, collections.rule(of: $0), viewers: isOwner ? collections.viewers(of: $0) : [],
                            hasOriginNames: true)
                    })
            }
            let shared = try await vault.collections.all(sharedWith: viewer).map {
                CollectionDocument($0, hasOriginNames: false)
            }
            // The order must not tell the names that were left out.
            return CollectionsDocument(
                collections: shared.filter { $0.name != nil }
                    + shared.filter { $0.name == nil }.sorted { $0.id < $1.id })
        }

        /// Names a collection, pins its titles or sets their mode, also of those that come later. An empty name brings
        /// back the one that its titles state.
        package static let change = Operation<CollectionChange, EmptyDocument>(.patch, "collections", scope: .admin) {
            order, vault, _ in
            let mode = try order.mode.map { try NamedMode($0).mode }
            if order.pinned != nil || mode != nil {
                try await vault.collections.setRule(of: order.id, isPinned: order.pinned, mode: mode)
            }
            if let name = order.name { try await vault.collections.rename(order.id, to: name) }
            return EmptyDocument()
        }

        /// Moves titles into the owner's collection of a name, or back to where they belong by themselves.
        package static let move = Operation<CollectionMove, EmptyDocument>(.post, "collections", scope: .admin) {
            order, vault, _ in
            try await vault.collections.move(ShareOrder.checked(order.resources), to: order.name)
            return EmptyDocument()
        }
    }
}
