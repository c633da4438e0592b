import Foundation
import Hummingbird
import Logging
import MediaVault
import ServiceLifecycle
import VaultModel

// Downloads that the service runs.
extension APIResponder {
    func download(_ order: DownloadRequest, _ context: ServiceContext) async throws -> Response {
        // A malformed URL is refused before the answer begins.
        let reference = try await order.reference.reference(in: vault.vault)
        // A process that only reads the vault asks no origin, and could only report that bytes are missing.
        try vault.vault.requireOwner(to: "downloads titles")
        guard order.details.detached != true else {
            let id = startDetached(reference, order.details.options, context.logger)
            return Response(try .json(DownloadStarted(id: id), status: 202), context: context)
        }
        return events(context) { [self] tell in
            let id = downloads.begin(reference.url.absoluteString)
            try await run(id, reference, order.details.options, context.logger, tell)
            return EmptyDocument()
        }
    }

    func endDownload(_ asked: APIRequest) throws -> EmptyDocument {
        guard let id = try asked.number("id") else {
            throw VaultError(.invalidArgument, "the request has no id; add it to the query")
        }
        guard downloads.end(id) else {
            throw VaultError(.notHeld, "no download with this id is running; list the downloads")
        }
        return EmptyDocument()
    }

    /// Starts a detached download, which ends with the vault at the latest.
    private func startDetached(
        _ reference: MediaReference, _ options: DownloadOptions, _ logger: Logger
    ) -> DownloadRegistry.ID {
        let id = downloads.begin(reference.url.absoluteString)
        // Its failure is logged and counted, and the list of downloads shows it.
        Task {
            do {
                try await run(id, reference, options, logger) { _ in }
            } catch let error as VaultError where error.code != .closed {
                metrics.failed(error.code)
            }
        }
        return id
    }

    private func run(
        _ id: DownloadRegistry.ID, _ reference: MediaReference, _ options: DownloadOptions, _ logger: Logger,
        _ tell: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws {
        do {
            try await downloads.run(id) { [vault] note in
                try await vault.download(reference, options) { progress in
                    note(progress)
                    tell(progress)
                }
            }
        } catch let error as VaultError where error.code != .closed {
            await logFailure(error, of: id, reference, logger)
            throw error
        }
    }

    /// Logs that a download failed, with the id of its title: a URL would be readable on the disk that has the log.
    private func logFailure(
        _ error: VaultError, of download: DownloadRegistry.ID, _ reference: MediaReference, _ logger: Logger
    ) async {
        var fields: Logger.Metadata = ["download": .number(download), "reason": "\(error.code)"]
        if let id = try? await vault.vault.id(of: reference) { fields["id"] = "\(id.hex)" }
        if let status = error.originStatus { fields["originStatus"] = .number(status) }
        logger.notice("a download failed", metadata: fields)
    }
}

// Metrics and readiness.
extension APIResponder {
    /// Answers with all metrics, in the text format of Prometheus; those of the service alone if the vault cannot be
    /// read, because then they are needed most.
    func showMetrics(to request: Request, context: ServiceContext) async throws -> Response {
        try await watching(request, context) {
            let figures = await figures(context)
            return Answer(
                status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: metrics.text(of: figures).utf8)
        } failing: { _ in
            ErrorAnswer.notReady
        }
    }

    /// Returns the state of the vault; nil if it cannot be read, which is counted each time, and logged once.
    private func figures(_ context: ServiceContext) async -> VaultFigures? {
        do {
            guard !vault.vault.isLocked else { throw VaultError.vaultLocked }
            let figures = try await VaultFigures(of: vault.vault, now: Int64(Date().timeIntervalSince1970))
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

    /// Answers whether the service can serve media: the index can be read, and shutdown has not begun.
    ///
    /// Any client may ask, so the reason for a failure is only logged.
    func showReadiness(to request: Request, context: ServiceContext) async throws -> Response {
        try await watching(request, context) {
            guard !Task.isShuttingDownGracefully else {
                throw VaultError(.closed, "the service is shutting down; use another, or wait until it runs again")
            }
            _ = try await vault.vault.limits()
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
