import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers every request that ``CacheHitResponder`` passes on. First the gate decides whether to admit it, and then its
/// route determines the answer.
struct ServiceResponder: HTTPResponder {
    let vault: Vault
    let api: APIResponder
    let gate: RequestGate
    private let authorizer: RequestAuthorizer

    init(vault: Vault, api: APIResponder, gate: RequestGate) {
        (self.vault, self.api, self.gate) = (vault, api, gate)
        authorizer = RequestAuthorizer(vault: vault, tickets: api.tickets, gate: gate)
    }

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        var context = context
        let admission = admission(of: request.head, on: context.channel)
        let open = context.begin("\(request.method)", admission.route, api.metrics, at: admission.arrival)
        do {
            var response = try await answer(to: request, admission, context)
            response.headers[.requestID] = "\(open.id)"
            if gate.requiresTLS(request.head, at: context.channel.localAddress) {
                response.headers[.strictTransportSecurity] = StrictTransport.policy
            }
            return response
        } catch {
            // The client is gone, or the service is shutting down, so no answer is needed.
            context.logger.debug("abandoned", metadata: ["reason": "\(type(of: error))"])
            return .abandoned(context: context)
        }
    }

    /// Returns the decision that the connection's handler made before it passed the request on, or a new decision if
    /// there is none.
    private func admission(of request: HTTPRequest, on channel: any Channel) -> RequestAdmission {
        if let made = CacheHitHandler.takeAdmission(of: request, on: channel), gate.holds(made) { return made }
        var verified: VerifiedTarget?
        return gate.admit(request, at: channel.localAddress, &verified)
    }

    private func answer(
        to request: Request, _ admission: RequestAdmission, _ context: ServiceContext
    ) async throws -> Response {
        switch admission.verdict {
        case .refused(let answer): return Response(answer, isHead: request.method == .head, context: context)
        case .preflight(let grant): return grant.preflight(of: request, context: context)
        case .admitted(let grant):
            var response = try await answer(toAdmitted: request, admission, context)
            grant?.mark(&response.headers)
            return response
        }
    }

    private func answer(
        toAdmitted request: Request, _ admission: RequestAdmission, _ context: ServiceContext
    ) async throws -> Response {
        let isHead = request.method == .head
        func short(_ answer: Answer) -> Response { Response(answer, isHead: isHead, context: context) }
        guard Methods.areKnown(request.method.rawValue) else { return short(ErrorAnswer.unknownMethod) }
        switch admission.route {
        case .unknown:
            // The target of CONNECT names no resource, and that of OPTIONS may stand for the whole server.
            let isOfServer = [.connect, .trace, .options].contains(request.method)
            guard !isOfServer else { return short(ErrorAnswer.methodNotAllowed()) }
            // A client without a token learns nothing, not even which paths exist.
            var context = context
            guard authorizer.authorize(request, admission, &context) == nil else { return short(ErrorAnswer.notFound) }
            return short(ErrorAnswer.notFound(target: request.head.path ?? ""))
        case .api, .metrics:
            var context = context
            if let refusal = authorizer.authorize(request, admission, &context) { return short(refusal) }
            guard case .api(let route) = admission.route else {
                return try await api.monitoring.showMetrics(to: request, context: context)
            }
            guard request.head.hasAcceptableBody else { return short(ErrorAnswer.notJSON) }
            return try await api.respond(to: request, about: route, context: context)
        case .page:
            guard isHead || request.method == .get else { return short(ErrorAnswer.methodNotAllowed()) }
            guard gate.servesPages else { return short(PageFiles.needTLS) }
            // The files are prepared only at the first such request, because most services never get one.
            let page = PageFiles.shared.answer(
                to: request.head.path ?? "", at: gate.origin(of: admission.request),
                knowing: request.headers[.ifNoneMatch], accepting: request.headers[.acceptEncoding])
            return short(page)
        case .readiness: return try await api.monitoring.showReadiness(to: request, context: context)
        case .health, .media:
            guard isHead || request.method == .get else { return short(ErrorAnswer.methodNotAllowed()) }
            guard admission.route == .media else { return short(.healthy) }
            guard let media = admission.media else { return short(ErrorAnswer.notFound) }
            let responder = MediaResponder(
                vault: vault, reference: media.link.reference, through: media.link,
                at: gate.origin(of: admission.request), counting: api.playbacks,
                letsFinish: gate.letsFinish, context: context, arrival: admission.arrival, now: admission.now)
            return try await responder.respond(to: media.request, media.held)
        }
    }
}
