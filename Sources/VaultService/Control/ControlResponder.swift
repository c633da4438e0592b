import HTTPTypes
import Hummingbird
import Logging

/// Answers what comes by the control socket: the routes of the API, to the vault's own user, without a token. No media.
struct ControlResponder: HTTPResponder {
    let api: APIResponder

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        let isHead = request.method == .head
        var context = context
        context.isControl = true
        let open = context.begin("\(request.method)", api.metrics)
        var response = await answer(to: request, isHead, context)
        response.headers[.requestID] = "\(open.id)"
        return response
    }

    private func answer(to request: Request, _ isHead: Bool, _ context: ServiceContext) async -> Response {
        do {
            guard await PeerIdentity.mayControl(context.channel) else {
                return Response(ErrorAnswer.foreignUser, isHead: isHead, context: context)
            }
            guard Methods.areKnown(request.method.rawValue) else {
                return Response(ErrorAnswer.unknownMethod, isHead: isHead, context: context)
            }
            let route = Route(target: request.head.path ?? "")
            context.request?.concerns(route.word)
            switch route {
            case .api(let route): return try await api.respond(to: request, about: route, context: context)
            case .metrics: return try await api.showMetrics(to: request, context: context)
            default: return Response(ErrorAnswer.notFound, isHead: isHead, context: context)
            }
        } catch {
            // The client is gone, or the service ends: there is nobody to answer.
            context.logger.debug("given up", metadata: ["reason": "\(type(of: error))"])
            return .abandoned(context: context)
        }
    }
}
