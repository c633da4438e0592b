import Hummingbird
import Logging
import MediaVault
import ServiceLifecycle
import VaultModel

/// Answers requests for the metrics of the service, and for whether it is ready.
struct MonitoringResponder: Sendable {
    let vault: Vault
    let metrics: ServiceMetrics

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
            guard !vault.isDestroyed else { throw VaultError.vaultDestroyed }
            guard !vault.isLocked else { throw VaultError.vaultLocked }
            let figures = try await VaultFigures(of: vault, now: vault.now)
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
            _ = try await vault.settings.limits()
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
