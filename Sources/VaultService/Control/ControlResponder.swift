import Hummingbird
import Logging
import MediaVault
import VaultModel

/// Answers what comes by the control socket: the routes of the API, to the vault's own user, without a token. No media.
struct ControlResponder: HTTPResponder {
    private let api: APIResponder

    init(vault: Vault) { api = APIResponder(vault: vault) }

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        let isHead = request.method == .head
        do {
            guard await PeerIdentity.mayControl(context.channel) else {
                return Response(ErrorAnswer.foreignUser, isHead: isHead, context: context)
            }
            guard case .api(let route) = Route(target: request.head.path ?? "") else {
                return Response(ErrorAnswer.notFound, isHead: isHead, context: context)
            }
            return try await api.respond(to: request, about: route, context: context)
        } catch {
            // The client is gone, or the service ends: there is nobody to answer.
            context.logger.debug("given up", metadata: ["reason": "\(type(of: error))"])
            return .abandoned(context: context)
        }
    }
}
