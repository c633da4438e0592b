import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import VaultModel

// Sessions of browsers, and the tickets with which they begin.
extension APIResponder {
    /// Creates a ticket for events, or for a session, which only an admin may pass on.
    func createTicket(
        _ asked: APIRequest, _ request: Request, _ context: ServiceContext
    ) async throws -> TicketDocument {
        let order = request.head.hasBody ? try await asked.body(TicketOrder.self) : TicketOrder(use: nil)
        let use = order.use ?? .events
        guard use == .events || context.isAdmin else {
            throw VaultError(.invalidArgument, "only a token with the scope admin creates tickets for sessions")
        }
        let ticket = try tickets.issue(use, for: context.access)
        if use == .session { context.logger.notice("a ticket was created with which a browser can sign in") }
        return TicketDocument(ticket: ticket.text, lifetime: ticket.lifetime)
    }

    func sessions(
        _ asked: APIRequest, _ route: APIRoute, _ request: Request, _ context: ServiceContext
    ) async throws -> Response {
        switch (route, request.method) {
        case (.sessions, .post): return try await signIn(asked, request, context)
        case (.sessions, _): return try await grants(asked, route, request, context)
        case (_, .delete): return try await signOut(context)
        default:
            return Response(
                try .json(try session(of: context)), isHead: request.method == .head, context: context)
        }
    }

    /// Begins a session with a ticket, and gives its cookie to the browser.
    private func signIn(_ asked: APIRequest, _ request: Request, _ context: ServiceContext) async throws -> Response {
        guard let cookie = context.cookie else {
            throw VaultError(
                .invalidArgument,
                "a browser signs in on the port of the service, with TLS or on the service's own machine")
        }
        let order: SignInOrder = try await asked.body()
        let now = Int64(Date().timeIntervalSince1970)
        guard let holder = tickets.redeem(order.ticket), holder.use == .session,
            holder.access.map({ vault.vault.tokens.isValid($0, now: now) }) ?? true
        else { return Response(ErrorAnswer.spentTicket, context: context) }
        let begun = try await vault.vault.beginSession(
            of: BrowserName.of(userAgent: request.headers[.userAgent]),
            endingFormer: cookie.secret(in: request.headers))
        guard let document = SessionDocument(begun.grant) else { throw Self.noSession }
        context.logger.notice("a browser signed in", metadata: ["session": "\(document.id)"])
        let answer = try Answer.json(BegunSessionDocument(session: document, proof: begun.secret.proof), status: 201)
        return Response(
            answer, settingCookie: cookie.begun(begun.secret.cookie, lifetime: AccessGrant.maxSession),
            context: context)
    }

    private func signOut(_ context: ServiceContext) async throws -> Response {
        guard let access = context.access, let cookie = context.cookie, let grant = vault.vault.grant(of: access),
            let document = SessionDocument(grant)
        else { throw Self.noSession }
        try await vault.vault.revoke([grant])
        context.logger.notice("a browser signed out", metadata: ["session": "\(document.id)"])
        return Response(try .json(EmptyDocument()), settingCookie: cookie.ended, context: context)
    }

    /// Returns the session that a request belongs to.
    private func session(of context: ServiceContext) throws -> SessionDocument {
        guard let grant = context.access.flatMap({ vault.vault.grant(of: $0) }), let document = SessionDocument(grant)
        else { throw Self.noSession }
        return document
    }

    private static let noSession = VaultError(
        .notHeld, "the request belongs to no session: a browser begins one with a ticket")
}

extension Response {
    fileprivate init(_ answer: Answer, settingCookie cookie: String, context: ServiceContext) {
        self.init(answer, context: context)
        headers[.setCookie] = cookie
    }
}
