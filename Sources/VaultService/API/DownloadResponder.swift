import Hummingbird
import Logging
import MediaVault
import VaultModel

/// Answers requests for downloads, both those in the queue and those that clients wait for.
struct DownloadResponder: Sendable {
    /// The downloads that clients wait for.
    let registry = DownloadRegistry()
    private let vault: LocalVault

    init(vault: LocalVault) {
        self.vault = vault
        vault.vault.queue.listenForForgetting { [weak registry] in registry?.forgetEnded(of: $0) }
    }

    /// Starts, ends or lists downloads.
    func respond(to asked: APIRequest, _ request: Request, _ context: ServiceContext) async throws -> Response {
        func json(_ document: some Encodable) throws -> Response {
            Response(try .json(document), isHead: request.method == .head, context: context)
        }
        switch request.method {
        case .post: return try await post(asked.body(), context)
        case .delete: return try json(try await end(asked))
        default: return try json(try await list(asked))
        }
    }

    private func post(_ order: DownloadPost, _ context: ServiceContext) async throws -> Response {
        switch order {
        case .queue(let batch):
            return Response(try .json(try await queue(batch), status: 202), context: context)
        case .one(let order) where order.details.detached == true:
            let batch = DownloadBatch(downloads: [order], first: order.details.first)
            return Response(try .json(try await queue(batch), status: 202), context: context)
        case .one(let order):
            return try await download(order, context)
        }
    }

    /// Adds downloads to the queue.
    private func queue(_ batch: DownloadBatch) async throws -> QueuedDocument {
        var orders: [(reference: MediaReference, options: DownloadOptions)] = []
        for order in batch.downloads {
            orders.append((try await order.reference.reference(in: vault.vault), order.details.options))
        }
        return QueuedDocument(downloads: try await vault.queue(orders, first: batch.first ?? false))
    }

    /// Downloads a title for a client that waits for the download.
    private func download(_ order: DownloadRequest, _ context: ServiceContext) async throws -> Response {
        // An invalid reference is refused here, before the answer begins.
        let reference = try await order.reference.reference(in: vault.vault)
        // A process that only reads the vault sends no requests to origins, so it could only report missing bytes.
        try vault.vault.requireOwner(to: "downloads titles")
        let id = try await vault.vault.titles.titleID(of: reference)
        let act: EventStream<DownloadProgress, EmptyDocument>.Act = { [self] tell in
            let number = registry.begin(id, reference.url.absoluteString, contentID: reference.contentID)
            try await run(number, reference, order.details.options, context.logger, tell)
            return EmptyDocument()
        }
        return Response(of: act, context: context)
    }

    /// Ends the downloads of a title, both those that clients wait for and the one in the queue.
    private func end(_ asked: APIRequest) async throws -> EmptyDocument {
        guard let id = try asked.titleID else {
            throw VaultError(.invalidArgument, "the request has no id; add it to the query")
        }
        let wasAttended = registry.end(id)
        do {
            _ = try await vault.vault.queue.change(.cancel, of: .titles([id]))
        } catch let error as VaultError where error.code == .notHeld && wasAttended {
            // The title was not in the queue, but a download that a client waited for has been ended.
        }
        return EmptyDocument()
    }

    /// Returns a page of the queue. The first page begins with the downloads that clients wait for.
    private func list(_ asked: APIRequest) async throws -> DownloadsDocument {
        let page = try await vault.downloads(after: asked["after"], limit: asked.number("limit"))
        guard asked["after"] == nil else { return page }
        return DownloadsDocument(downloads: registry.all + page.downloads, counts: page.counts, next: page.next)
    }

    private func run(
        _ number: DownloadRegistry.Number, _ reference: MediaReference, _ options: DownloadOptions, _ logger: Logger,
        _ tell: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws {
        do {
            try await registry.run(number) { [vault] note in
                try await vault.download(reference, options) { progress in
                    note(progress)
                    tell(progress)
                }
            }
        } catch let error as VaultError where error.code != .closed {
            logger.log(LoggedEvent(failed: error, id: try? await vault.vault.titles.titleID(of: reference)))
            throw error
        }
    }
}
