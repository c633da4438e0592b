import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import VaultModel

/// Answers every request: first whose name it came by, then what it is about.
struct ServiceResponder: HTTPResponder {
    private let vault: Vault
    private let api: APIResponder
    private let gate: RequestGate

    init(vault: Vault, gate: RequestGate) {
        self.vault = vault
        api = APIResponder(vault: vault)
        self.gate = gate
    }

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        var context = context
        context.logger[metadataKey: "method"] = "\(request.method)"
        do {
            return try await answer(to: request, context: context)
        } catch {
            // The client is gone, or the service ends: there is nobody to answer.
            context.logger.debug("given up", metadata: ["reason": "\(type(of: error))"])
            return .abandoned(context: context)
        }
    }

    private func answer(to request: Request, context: ServiceContext) async throws -> Response {
        let target = request.head.path ?? ""
        let route = Route(target: target)
        switch gate.verdict(on: request, about: route, at: context.channel.localAddress) {
        case .refused(let answer): return Response(answer, isHead: request.method == .head, context: context)
        case .preflight(let grant): return grant.preflight(of: request)
        case .admitted(let grant):
            var response = try await answer(to: request, about: route, target, context)
            grant?.mark(&response)
            return response
        }
    }

    private func answer(
        to request: Request, about route: Route, _ target: String, _ context: ServiceContext
    ) async throws -> Response {
        let isHead = request.method == .head
        func short(_ answer: Answer) -> Response { Response(answer, isHead: isHead, context: context) }
        switch route {
        case .unknown:
            // CONNECT names no resource, and OPTIONS may name all.
            let isOfServer = [.connect, .trace, .options].contains(request.method)
            return short(isOfServer ? ErrorAnswer.methodNotAllowed() : ErrorAnswer.notFound)
        case .api(let route):
            guard BearerToken.read(request.headers[.authorization]).map(vault.tokens.isAdminToken) ?? false else {
                return short(ErrorAnswer.notFound)
            }
            return try await api.respond(to: request, about: route, context: context)
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
