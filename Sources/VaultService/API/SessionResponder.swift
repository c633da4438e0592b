import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import VaultModel

/// Answers requests for browser sessions, and for the tickets that begin them.
struct SessionResponder: Sendable {
    let vault: Vault
    let tickets: Tickets

    /// Creates a ticket for events or for a session. Only an admin may create a ticket for a session.
    func createTicket(
        _ asked: APIRequest, _ request: Request, _ context: ServiceContext
    ) async throws -> TicketDocument {
        let order = request.head.hasBody ? try await asked.body(TicketOrder.self) : TicketOrder(use: nil)
        let use = order.use ?? .events
        guard use == .session || order.viewer == nil else {
            throw VaultError(.invalidArgument, "only a ticket for a session has a viewer; leave out viewer")
        }
        guard use == .events || context.isAdmin else {
            throw VaultError(.invalidArgument, "only a token with the scope admin creates tickets for sessions")
        }
        let viewer = try order.viewer.map { try Operations.Viewers.viewerID($0) }
        guard viewer.map({ vault.viewers.viewer($0) != nil }) ?? true else {
            throw VaultError(.notHeld, "there is no viewer with this id; list the viewers")
        }
        let ticket = try tickets.issue(use, of: viewer, for: context.access)
        if use == .session { context.logger.notice("a ticket was created with which a browser can sign in") }
        return TicketDocument(ticket: ticket.text, lifetime: ticket.lifetime)
    }

    /// Begins, shows or ends a session.
    func respond(to asked: APIRequest, _ request: Request, _ context: ServiceContext) async throws -> Response {
        switch (asked.endpoint.route, request.method) {
        case (.sessions, _):
            return try await SignInResponder(vault: vault, tickets: tickets).signIn(asked, request, context)
        case (_, .delete): return try await signOut(context)
        default:
            return Response(
                try .json(try session(of: context).document), isHead: request.method == .head, context: context)
        }
    }

    private func signOut(_ context: ServiceContext) async throws -> Response {
        let (grant, document) = try session(of: context)
        guard let cookie = context.cookie else { throw Self.noSession }
        try await vault.access.revoke([grant])
        context.logger.notice("a browser signed out", metadata: ["session": "\(document.id)"])
        return Response(try .json(EmptyDocument()), settingCookies: [cookie.ended], context: context)
    }

    /// Returns the session to which a request belongs.
    private func session(of context: ServiceContext) throws -> (grant: AccessGrant, document: SessionDocument) {
        guard let grant = context.access.flatMap({ vault.access.grant(of: $0) }),
            let document = SessionDocument(grant, among: vault.viewers)
        else { throw Self.noSession }
        return (grant, document)
    }

    private static let noSession = VaultError(
        .notHeld, "the request belongs to no session: a browser begins one with a ticket, or with a viewer's PIN")
}
