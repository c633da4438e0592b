import Hummingbird
import Logging
import MediaVault
import ServiceLifecycle
import VaultModel

// Downloads, both those in the queue and those that clients wait for.
extension APIResponder {
    func post(_ order: DownloadPost, _ context: ServiceContext) async throws -> Response {
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
            let number = downloads.begin(id, reference.url.absoluteString, contentID: reference.contentID)
            try await run(number, reference, order.details.options, context.logger, tell)
            return EmptyDocument()
        }
        return Response(of: act, context: context)
    }

    /// Ends the downloads of a title, both those that clients wait for and the one in the queue.
    func endDownload(_ asked: APIRequest) async throws -> EmptyDocument {
        guard let id = try asked.titleID else {
            throw VaultError(.invalidArgument, "the request has no id; add it to the query")
        }
        let wasAttended = downloads.end(id)
        do {
            _ = try await vault.vault.downloads.change(.cancel, of: .titles([id]))
        } catch let error as VaultError where error.code == .notHeld && wasAttended {
            // The title was not in the queue, but a download that a client waited for has been ended.
        }
        return EmptyDocument()
    }

    /// Returns a page of the queue. The first page begins with the downloads that clients wait for.
    func listDownloads(_ asked: APIRequest) async throws -> DownloadsDocument {
        let page = try await vault.downloads(after: asked["after"], limit: asked.number("limit"))
        guard asked["after"] == nil else { return page }
        return DownloadsDocument(downloads: downloads.all + page.downloads, counts: page.counts, next: page.next)
    }

    private func run(
        _ number: DownloadRegistry.Number, _ reference: MediaReference, _ options: DownloadOptions, _ logger: Logger,
        _ tell: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws {
        do {
            try await downloads.run(number) { [vault] note in
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

// Metrics and readiness.
extension APIResponder {
    /// Sends all metrics in the Prometheus text format. If the vault cannot be read, it still sends the service's own
    /// metrics, because that is when operators need metrics most.
    func showMetrics(to request: Request, context: ServiceContext) async throws -> Response {
        guard context.viewer == nil else {
            return Response(ErrorAnswer.notForViewers, isHead: request.method == .head, context: context)
        }
        return try await watching(request, context) {
            let figures = await figures(context)
            return Answer(
                status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: metrics.text(of: figures).utf8)
        } failing: { _ in
            ErrorAnswer.notReady
        }
    }

    /// Returns the vault's figures; nil if the vault cannot be read. Each such failure is counted, but only the first
    /// is logged until the vault can be read again.
    private func figures(_ context: ServiceContext) async -> VaultFigures? {
        do {
            guard !vault.vault.isDestroyed else { throw VaultError.vaultDestroyed }
            guard !vault.vault.isLocked else { throw VaultError.vaultLocked }
            let figures = try await VaultFigures(of: vault.vault, now: vault.vault.now)
            metrics.noteReadable(true)
            return figures
        } catch let error as VaultError {
            context.failed(error)
            guard metrics.noteReadable(false) else { return nil }
            context.logger.warning(
                "the vault cannot be read", metadata: ["reason": "\(error.code)", "detail": "\(error)"])
        } catch {
            // The client is gone, so no answer is needed.
            return nil
        }
        return nil
    }

    /// Reports whether the service can serve media, that is, whether the index is readable and shutdown has not begun.
    ///
    /// Any client may send this request, so the reason for a failure is logged rather than sent.
    func showReadiness(to request: Request, context: ServiceContext) async throws -> Response {
        try await watching(request, context) {
            guard !Task.isShuttingDownGracefully else {
                throw VaultError(.closed, "the service is shutting down; use another, or wait until it runs again")
            }
            _ = try await vault.vault.settings.limits()
            return .healthy
        } failing: { _ in
            ErrorAnswer.notReady
        }
    }

    private func watching(
        _ request: Request, _ context: ServiceContext, _ answer: () async throws -> Answer,
        failing: (VaultError) -> Answer
    ) async throws -> Response {
        let isHead = request.method == .head
        guard isHead || request.method == .get else {
            return Response(ErrorAnswer.methodNotAllowed(), context: context)
        }
        do {
            return Response(try await answer(), isHead: isHead, context: context)
        } catch let error as VaultError {
            context.failed(error)
            return Response(failing(error), isHead: isHead, context: context)
        }
    }
}
