package import MediaVault
import VaultModel

extension Operations {
    /// Operations on subscriptions and their runs.
    package enum Feeds {
        static let all: [any AnyOperation] = [list, add, remove, sync]

        /// The maximum number of bytes in the body of a request that contains a list.
        private static let maxListBytes = 8 << 20

        /// Returns the subscriptions.
        package static let list = Operation<EmptyDocument, SubscriptionsDocument>(.get, "subscriptions", scope: .read) {
            _, vault, _ in
            let found = try await vault.subscriptions.all()
            return SubscriptionsDocument(
                subscriptions: found.subscriptions.map(SubscriptionDocument.init), damaged: found.damaged)
        }

        /// Adds a subscription, or changes the one with the same source.
        package static let add = Operation<SubscriptionOrder, SubscriptionDocument>(
            .post, "subscriptions", scope: .admin
        ) {
            order, vault, _ in
            SubscriptionDocument(
                try await vault.subscriptions.add(order.source, order.choices, tries: order.untried != true))
        }

        /// Removes a subscription, or all subscriptions including unreadable ones. If all are removed, their titles
        /// stay.
        package static let remove = Operation<SubscriptionSelection, UnsubscribedDocument>(
            .delete, "subscriptions", scope: .admin
        ) { selection, vault, _ in
            switch (selection.id, selection.titles, selection.all) {
            case (let id?, let titles, nil):
                return UnsubscribedDocument(
                    removed: try await vault.subscriptions.remove(id, removesTitles: titles ?? false))
            case (nil, nil, true):
                _ = try await vault.subscriptions.removeAll()
                return UnsubscribedDocument(removed: 0)
            default:
                throw VaultError(
                    .invalidArgument,
                    "the query must have either the id of a subscription, with titles=true or false, or all=true")
            }
        }

        /// Runs a subscription, which removes titles that are gone and adds new ones to the download queue.
        package static let sync = Operation<SyncOrder, SyncDocument>(
            .post, "syncs", scope: .admin, maxBytes: maxListBytes
        ) { order, vault, _ in
            SyncDocument(try await run(order, in: vault, queues: true))
        }

        /// Runs a subscription.
        ///
        /// - Parameter queues: whether to add its new titles to the download queue.
        static func run(_ order: SyncOrder, in vault: Vault, queues: Bool) async throws -> SyncReport {
            var list: SyncList?
            var unusable = try order.checkedUnusable
            if let given = order.entries {
                var usable: [SyncEntry] = []
                for entry in given {
                    do {
                        usable.append(
                            SyncEntry(try await entry.reference.reference(in: vault), name: entry.details.name))
                    } catch let error as VaultError
                        where [.invalidURL, .invalidArgument, .notHeld].contains(error.code)
                    {
                        unusable += 1
                    }
                }
                list = .given(usable, unusable: unusable)
            }
            let isDryRun = order.dryRun ?? false
            switch (order.id, order.source) {
            case (let id?, nil):
                return try await vault.subscriptions.sync(id, list, queues: queues, isDryRun: isDryRun)
            case (nil, let source?):
                return try await vault.subscriptions.sync(
                    source.source, source.choices, list, queues: queues, isDryRun: isDryRun)
            default:
                throw VaultError(.invalidArgument, "the request must have either id or source; give one of them")
            }
        }
    }
}

/// The query of `DELETE /api/v1/subscriptions`: one subscription, or all of them.
package struct SubscriptionSelection: Codable, Sendable {
    let id: String?
    /// Whether to also remove the titles that only this subscription added.
    let titles: Bool?
    let all: Bool?

    /// Selects the subscription with an id.
    package init(_ id: String, titles: Bool) { (self.id, self.titles, all) = (id, titles ? true : nil, nil) }

    private init() { (id, titles, all) = (nil, nil, true) }

    /// Selects all subscriptions.
    package static let everything = SubscriptionSelection()
}

extension LocalVault {
    /// Runs a subscription without adding its new titles to the download queue. The caller must fetch them.
    package func run(_ order: SyncOrder) async throws -> SyncReport {
        try await Operations.Feeds.run(order, in: vault, queues: false)
    }
}
