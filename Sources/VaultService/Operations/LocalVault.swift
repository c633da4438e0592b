package import MediaVault

/// A vault that this process has open: as its owner, where something is to change.
package struct LocalVault: VaultOperator {
    package let vault: Vault

    package init(_ vault: Vault) { self.vault = vault }

    package func status() async throws -> StatusDocument { StatusDocument(try await vault.status()) }

    package func resources(after cursor: String?) async throws -> PageDocument {
        let last = try cursor.map { cursor in
            guard let id = ResourceID(hex: cursor) else {
                throw VaultError(.invalidArgument, "after is no end of a page; take it from the page before")
            }
            return id
        }
        let page = try await vault.page(after: last)
        return PageDocument(
            resources: page.resources.map(ListedDocument.init), damaged: page.damagedCount,
            next: OrNull(page.next?.hex))
    }

    package func resource(_ reference: ReferenceDocument) async throws -> ResourceDocument? {
        try await vault.summary(of: reference.reference()).map(ResourceDocument.init)
    }

    package func download(
        _ order: DownloadOrder, progress: (ProgressDocument) async throws -> Void
    ) async throws {
        for try await step in vault.download(try order.reference.reference()) {
            try await progress(ProgressDocument(step))
        }
        // A download whose task is cancelled ends as if it were done.
        try Task.checkCancellation()
    }
}
