import Hummingbird
import MediaVault
import VaultModel

/// Decides whether a request's credential allows it. The credential is a token, a ticket, or the two halves of a
/// session's secret.
struct RequestAuthorizer: Sendable {
    let vault: Vault
    let tickets: Tickets
    let gate: RequestGate

    /// Decides whether a request is allowed, and records in the context the access that allows it.
    ///
    /// - Returns: the refusal; nil if the request is allowed.
    func authorize(
        _ request: Request, _ admission: RequestAdmission, _ context: inout ServiceContext
    ) -> Answer? {
        let cookie = gate.cookie(at: context.channel.localAddress)
        context.cookie = cookie
        let scope = scope(of: admission.route, request.method.rawValue)
        guard let scope else {
            // Only a page signs in without a credential, and another site's page must not sign its visitor in here.
            return gate.isFromOwnPage(admission.request) ? nil : ErrorAnswer.crossSitePage
        }
        // A locked vault can check no credential. Its pages must not take that for a session that has ended.
        if vault.isLocked, admission.route == .api(.session) {
            return ErrorAnswer.answer(APIProblem.document(.vaultLocked))
        }
        let credential = RequestCredential(
            authorization: request.headers[values: .authorization], target: request.head.path ?? "",
            route: admission.route, session: cookie?.secret(in: request.headers))
        let access: TokenAccess
        switch credential {
        case .none: return ErrorAnswer.unauthorized(isGiven: false)
        case .ticket(let text):
            guard
                let holder = tickets.redeem(text, for: .events, now: admission.now)
            else { return ErrorAnswer.unauthorized(isGiven: true) }
            guard let access = holder.access else {
                context.era = holder.era
                return nil
            }
            return note(access, in: &context)
        case .token(let text):
            guard let found = vault.tokens.access(byToken: text, now: admission.now) else {
                return ErrorAnswer.unauthorized(isGiven: true)
            }
            access = found
        case .session(let secret):
            guard let found = vault.tokens.access(bySession: secret, now: admission.now) else {
                return ErrorAnswer.unauthorized(isGiven: true)
            }
            let changes = request.method != .get && request.method != .head
            guard !changes || gate.isFromOwnPage(admission.request) else { return ErrorAnswer.crossSitePage }
            access = found
        }
        guard access.scope >= scope else {
            return access.viewer == nil ? ErrorAnswer.insufficientScope(scope) : ErrorAnswer.notForViewers
        }
        return note(access, in: &context)
    }

    /// Records in the context the access that allows a request, and the viewer who made it.
    ///
    /// - Returns: the refusal if the vault no longer has the viewer; otherwise nil.
    private func note(_ access: TokenAccess, in context: inout ServiceContext) -> Answer? {
        if let viewer = access.viewer, vault.viewers.viewer(viewer) == nil {
            return ErrorAnswer.unauthorized(isGiven: true)
        }
        (context.access, context.viewer) = (access, access.viewer)
        return nil
    }

    /// Returns the least scope that a request needs; nil if it needs no credential.
    private func scope(of route: Route, _ method: String) -> AccessScope? {
        // Unknown paths and methods need a credential too, so that a client without one does not learn which exist.
        guard case .api(let route) = route else { return .metrics }
        return route.methods.contains(method) ? route.scope(for: method) : .metrics
    }
}
