import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import VaultModel

/// Begins browser sessions: a ticket, or a viewer's name and PIN, becomes a session.
struct SignInResponder: Sendable {
    let vault: Vault
    let tickets: Tickets

    /// Begins a session with a ticket, or with a viewer's name and PIN, and sends its cookie to the browser.
    func signIn(_ asked: APIRequest, _ request: Request, _ context: ServiceContext) async throws -> Response {
        guard let cookie = context.cookie else {
            throw VaultError(
                .invalidArgument,
                "a browser signs in on the port of the service, with TLS or on the service's own machine")
        }
        let order: SignInOrder = try await asked.body(upTo: SignInOrder.maxBytes)
        // This is checked before a PIN is verified or a ticket is redeemed.
        do {
            try vault.access.requireSessions()
        } catch let error as VaultError where error.code == .owned {
            return Response(ErrorAnswer.noSessions(error), context: context)
        }
        let viewer: ViewerID?
        // The viewer's state at the sign-in. With a later state, a browser that signed in with a former PIN would get a
        // mark that is valid for the new PIN.
        let known: Viewer?
        let marks = cookie.marks(in: request.headers)
        var holder: TokenAccess?
        // The era is read first, because checking a PIN takes time, and all access may be revoked before the check
        // succeeds.
        var era = vault.tokens.signInEra
        switch (order.ticket, order.name, order.pin) {
        case (let ticket?, nil, nil):
            let now = vault.now
            guard let passed = tickets.redeem(ticket, for: .session, now: now) else {
                return Response(ErrorAnswer.spentTicket, context: context)
            }
            (viewer, holder, era) = (passed.viewer, passed.access, passed.era)
            known = viewer.flatMap { vault.viewers.viewer($0) }
        case (nil, let name?, let pin?):
            do {
                known = try await vault.viewers.signIn(
                    name: name, pin: pin, from: PeerAddress(context.channel.remoteAddress)?.bytes ?? []
                ) { [tokens = vault.tokens] in tokens.device(marks, of: $0) }
                viewer = known?.id
            } catch let error as VaultError where error.code == .wrongKey || error.code == .busy {
                context.logger.notice("a viewer failed to sign in", metadata: ["reason": "\(error.code)"])
                return Response(ErrorAnswer.refusedSignIn(error), context: context)
            }
        default:
            throw VaultError(.invalidArgument, "the body needs either a ticket, or the name and the pin of a viewer")
        }
        let begun = try await vault.access.beginSession(
            of: viewer, in: BrowserName.of(userAgent: request.headers[.userAgent]), by: holder,
            since: era, endingFormer: cookie.secret(in: request.headers))
        guard let document = SessionDocument(begun.grant, among: vault.viewers) else {
            return Response(ErrorAnswer.spentTicket, context: context)
        }
        context.logger.notice("a browser signed in", metadata: ["session": "\(document.id)"])
        let answer = try Answer.json(BegunSessionDocument(session: document, proof: begun.secret.proof), status: 201)
        let lifetime = viewer == nil ? AccessGrant.maxSession : AccessGrant.maxViewing
        // If no mark can be created, the viewer's browser will be unknown next time, but that is no reason to refuse
        // the sign-in.
        let device = known.flatMap {
            try? vault.tokens.mark(of: $0, addedTo: marks, among: vault.viewers.all)
        }
        return Response(
            answer,
            settingCookies: [device.map(cookie.marked), cookie.begun(begun.secret.cookie, lifetime: lifetime)]
                .compactMap { $0 }, context: context)
    }
}

extension Response {
    /// Creates a response that sets cookies.
    init(_ answer: Answer, settingCookies cookies: [String], context: ServiceContext) {
        self.init(answer, context: context)
        headers[values: .setCookie] = cookies
    }
}
