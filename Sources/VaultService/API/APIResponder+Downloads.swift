import Foundation
import Hummingbird
import Logging
import MediaVault
import ServiceLifecycle
import VaultModel

// Downloads that the service runs, and addresses for players.
extension APIResponder {
    func download(_ order: DownloadOrder, _ context: ServiceContext) throws -> Response {
        // A malformed URL is refused before the answer begins.
        let reference = try order.reference.reference()
        // A reader has no origin to ask: it would only say that bytes are missing.
        try vault.vault.requireOwner(to: "downloads titles")
        guard !order.isDetached else {
            let id = fetchOn(reference, order.options, context)
            return Response(try .json(DownloadBegun(id: id), status: 202), context: context)
        }
        return events(context) { [self] tell in
            try await run(downloads.begin(reference.url.absoluteString), reference, order.options, tell)
            return NothingDocument()
        }
    }

    func endDownload(_ asked: APIRequest) throws -> NothingDocument {
        guard let id = try asked.number("id") else {
            throw VaultError(.invalidArgument, "the request names no id; give it in the query")
        }
        guard downloads.end(id) else { throw VaultError(.notHeld, "no download of this id runs; see which ones do") }
        return NothingDocument()
    }

    /// Downloads on behalf of nobody who waits; it ends with the vault at the latest.
    private func fetchOn(
        _ reference: MediaReference, _ options: DownloadOptions, _ context: ServiceContext
    ) -> DownloadRegistry.ID {
        let (logger, id) = (context.logger, downloads.begin(reference.url.absoluteString))
        Task {
            do {
                try await run(id, reference, options) { _ in }
            } catch let error as VaultError {
                logger.notice(
                    "a download that was left to the service ended early", metadata: ["reason": "\(error.code)"])
            }
        }
        return id
    }

    private func run(
        _ id: DownloadRegistry.ID, _ reference: MediaReference, _ options: DownloadOptions,
        _ tell: @escaping @Sendable (ProgressDocument) -> Void
    ) async throws {
        try await downloads.run(id) { [vault] note in
            try await vault.download(reference, options) { progress in
                note(progress)
                tell(progress)
            }
        }
    }

    // MARK: Addresses

    /// How long an address stays valid where nothing else is asked, and at most: a link is not a key.
    private static let lifetime: Int64 = 86_400
    private static let longestLifetime: Int64 = 365 * 86_400

    func link(_ order: LinkOrder) throws -> LinkDocument {
        let lifetime = order.lifetime ?? Self.lifetime
        guard (1...Self.longestLifetime).contains(lifetime) else {
            throw VaultError(
                .invalidArgument, "a lifetime is 1 to \(Self.longestLifetime) seconds; correct it")
        }
        let reference = try order.reference.reference()
        guard !reference.url.hasCredentials else {
            throw VaultError(
                .invalidURL, "an address for players cannot carry a user name and password; leave them out of the URL")
        }
        let expires = Int64(Date().timeIntervalSince1970) + lifetime
        return LinkDocument(
            path: try vault.vault.tokens.playbackPath(for: reference, expires: expires), expires: expires)
    }
}

// What those ask who keep an eye on the service.
extension APIResponder {
    /// All metrics, as Prometheus reads them.
    func showMetrics(to request: Request, context: ServiceContext) async throws -> Response {
        try await watching(request, context) {
            Answer(
                status: 200, type: "text/plain; version=0.0.4; charset=utf-8",
                body: try await metrics.text(of: vault.vault).utf8)
        } failing: { error in
            var document = APIProblem.document(error)
            (document.status, document.title) = (503, "Service Unavailable")
            return ErrorAnswer.answer(document)
        }
    }

    /// Whether the service can answer with media: the index can be read, and the end has not begun. Why not is for those
    /// who read its log: anybody may ask.
    func showReadiness(to request: Request, context: ServiceContext) async throws -> Response {
        try await watching(request, context) {
            guard !Task.isShuttingDownGracefully else {
                throw VaultError(.closed, "the service ends; ask another, or wait until it runs again")
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
