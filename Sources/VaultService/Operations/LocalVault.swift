package import MediaVault

/// A vault that this process has open: as its owner, where something is to change.
package struct LocalVault: VaultOperator {
    package let vault: Vault

    private static let pageSize = 128
    private static let mostInPage = 1000

    package init(_ vault: Vault) { self.vault = vault }

    package func status() async throws -> StatusDocument { StatusDocument(try await vault.status()) }

    package func resources(after cursor: String?, limit: Int?) async throws -> PageDocument {
        let last = try cursor.map { cursor in
            guard let id = ResourceID(hex: cursor) else {
                throw VaultError(.invalidArgument, "after is no end of a page; take it from the page before")
            }
            return id
        }
        let limit = limit ?? Self.pageSize
        guard (1...Self.mostInPage).contains(limit) else {
            throw VaultError(.invalidArgument, "a page has 1 to \(Self.mostInPage) resources; correct the limit")
        }
        let page = try await vault.page(after: last, limit: limit)
        return PageDocument(
            resources: page.resources.map(ListedDocument.init), damaged: page.damagedCount,
            next: OrNull(page.next?.hex))
    }

    package func resource(_ reference: MediaReference) async throws -> ResourceDocument? {
        try await vault.summary(of: reference).map(ResourceDocument.init)
    }

    package func read(
        _ reference: MediaReference, _ range: RequestedRange, to take: (ArraySlice<UInt8>) async throws -> Void
    ) async throws {
        try await telling(of: reference) {
            let reader = try await vault.read(reference, range: range)
            defer { reader.cancel() }
            var window = try ByteWindow(range, of: reader)
            while !window.isDone, let bytes = try await reader.next() { try await take(window.cut(bytes)) }
            // A reader whose task is cancelled ends as if it were done.
            try Task.checkCancellation()
            try window.check()
            if reader.isShortened, let missing = reader.range?.upperBound {
                var error = VaultError(
                    .notHeld,
                    "\(reference.url) is held only up to byte \(missing), and the rest cannot be fetched now")
                error.firstMissing = missing
                throw error
            }
        }
    }

    package func download(
        _ reference: MediaReference, _ options: DownloadOptions, progress: (ProgressDocument) async throws -> Void
    ) async throws {
        try await telling(of: reference) {
            for try await step in vault.download(reference, options: options) {
                try await progress(ProgressDocument(step))
            }
            // So does a download.
            try Task.checkCancellation()
        }
    }

    package func beginDownload(_ reference: MediaReference, _ options: DownloadOptions) async throws {
        throw VaultError(
            .invalidArgument,
            "there is no service to leave a download to; start one with serve, or fetch without --detach")
    }

    private func telling(of reference: MediaReference, _ act: () async throws -> Void) async throws {
        do {
            try await act()
        } catch let error as VaultError {
            throw error.told(in: await vault.modeInForce(for: reference))
        }
    }
}
