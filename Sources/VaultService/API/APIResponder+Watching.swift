import Hummingbird
import MediaVault
import ServiceLifecycle
import VaultModel

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
