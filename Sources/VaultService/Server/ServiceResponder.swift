import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers every request: the gate checks its host and sender, then its route decides.
struct ServiceResponder: HTTPResponder {
    let vault: Vault
    let api: APIResponder
    let gate: RequestGate

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        var context = context
        let open = context.begin("\(request.method)", api.metrics)
        do {
            var response = try await answer(to: request, context: context)
            response.headers[.requestID] = "\(open.id)"
            return response
        } catch {
            // The client is gone, or the service is shutting down, so no answer is needed.
            context.logger.debug("abandoned", metadata: ["reason": "\(type(of: error))"])
            return .abandoned(context: context)
        }
    }

    private func answer(to request: Request, context: ServiceContext) async throws -> Response {
        let target = request.head.path ?? ""
        let route = Route(target: target)
        context.request?.recordRoute(route.word)
        switch gate.verdict(on: request.head, about: route, at: context.channel.localAddress) {
        case .refused(let answer): return Response(answer, isHead: request.method == .head, context: context)
        case .preflight(let grant): return grant.preflight(of: request, context: context)
        case .admitted(let grant):
            var response = try await answer(to: request, about: route, target, context)
            grant?.mark(&response.headers)
            return response
        }
    }

    private func answer(
        to request: Request, about route: Route, _ target: String, _ context: ServiceContext
    ) async throws -> Response {
        let isHead = request.method == .head
        func short(_ answer: Answer) -> Response { Response(answer, isHead: isHead, context: context) }
        guard Methods.areKnown(request.method.rawValue) else { return short(ErrorAnswer.unknownMethod) }
        switch route {
        case .unknown:
            // CONNECT names no resource, and OPTIONS may name the server as a whole.
            let isOfServer = [.connect, .trace, .options].contains(request.method)
            return short(isOfServer ? ErrorAnswer.methodNotAllowed() : ErrorAnswer.notFound)
        case .api, .metrics:
            guard BearerToken.read(request.headers[.authorization]).map(vault.tokens.isAdminToken) ?? false else {
                return short(ErrorAnswer.notFound)
            }
            guard case .api(let route) = route else { return try await api.showMetrics(to: request, context: context) }
            guard request.head.hasAcceptableBody else { return short(ErrorAnswer.notJSON) }
            return try await api.respond(to: request, about: route, context: context)
        case .readiness: return try await api.showReadiness(to: request, context: context)
        case .health, .media:
            guard isHead || request.method == .get else { return short(ErrorAnswer.methodNotAllowed()) }
            return route == .health ? short(.healthy) : try await media(request, target, context)
        }
    }

    private func media(_ request: Request, _ target: String, _ context: ServiceContext) async throws -> Response {
        let isHead = request.method == .head
        let now = Int64(Date().timeIntervalSince1970)
        guard let reference = vault.tokens.reference(ofTarget: target, now: now) else {
            return Response(ErrorAnswer.notFound, isHead: isHead, context: context)
        }
        return try await MediaResponder(vault: vault, reference: reference, context: context).respond(to: request)
    }
}
