import Foundation
import Hummingbird
import Logging
import MediaVault

// Tokens and playback links.
extension APIResponder {
    func grants(
        _ asked: APIRequest, _ route: APIRoute, _ request: Request, _ context: ServiceContext
    ) async throws -> Response {
        func json(_ document: some Encodable) throws -> Response {
            Response(try .json(document), isHead: request.method == .head, context: context)
        }
        switch (route, request.method) {
        case (.tokens, .post): return try json(try await createToken(asked.body(), context))
        case (.links, .post): return try json(try await createLinks(asked.body(), context))
        case (.sessions, .delete): return try json(try await revoke(.sessions, asked, context))
        case (.sessions, _): return try json(try await vault.sessions())
        case (_, .delete): return try json(try await revoke(route == .tokens ? .tokens : .links, asked, context))
        case (.tokens, _): return try json(try await vault.tokens())
        default: return try json(try await vault.links())
        }
    }

    private func createToken(_ order: TokenOrder, _ context: ServiceContext) async throws -> CreatedTokenDocument {
        let created = try await vault.createToken(order, by: context.access)
        context.logger.notice(
            "a token was created", metadata: ["token": "\(created.id)", "scope": "\(created.scope.rawValue)"])
        return created
    }

    private func createLinks(_ order: LinkOrder, _ context: ServiceContext) async throws -> LinkDocument {
        // A named link would stay valid after the token that created it has ended.
        guard order.details.name == nil || context.isAdmin else {
            throw VaultError(
                .invalidArgument, "only a token with the scope admin creates named links; leave out the name")
        }
        let playable = PlayableReferences(vault.vault, context)
        var references: [MediaReference] = []
        for document in try order.documents { references.append(try await playable.reference(of: document)) }
        let ends = context.access.flatMap { $0.isSession || !context.isAdmin ? $0 : nil }
        let created = try await vault.createLinks(
            to: references, order.details, endingWith: ends, by: context.access)
        if let id = created.id { context.logger.notice("named links were created", metadata: ["link": "\(id)"]) }
        return created
    }

    private func revoke(
        _ family: AccessGrant.Family, _ asked: APIRequest, _ context: ServiceContext
    ) async throws -> RevocationDocument {
        let document: RevocationDocument
        switch (asked["id"], asked["all"]) {
        case (let id?, nil): document = try await vault.revoke(family, id: id)
        case (nil, "true"): document = try await vault.revoke(family, id: nil)
        default:
            throw VaultError(.invalidArgument, "the query must have either the id of what to revoke, or all=true")
        }
        context.logger.notice(
            "tokens, named links or sessions were revoked",
            metadata: ["kind": "\(family.rawValue)", "count": .number(document.revoked)])
        return document
    }
}

/// The resources that the token of a request may play.
///
/// A token with the scope `play` plays only resources that are already in the vault, identified by id or URL. Otherwise
/// its holder could make the service request any URL, or fill a title that has a content id with bytes from another
/// origin.
struct PlayableReferences: Sendable {
    private let vault: Vault
    private let isAdmin: Bool

    init(_ vault: Vault, _ context: ServiceContext) { (self.vault, isAdmin) = (vault, context.isAdmin) }

    /// Returns the reference to a resource that the token may play.
    ///
    /// - Throws: as ``ReferenceDocument/reference(in:)``, or ``VaultError`` with code `invalidArgument` or `notHeld` if
    ///   the token may not play the resource.
    func reference(of document: ReferenceDocument) async throws -> MediaReference {
        let reference = try await document.reference(in: vault)
        guard !isAdmin else { return reference }
        guard document.fields == nil, document.id != nil || document.contentID == nil, !reference.url.hasCredentials
        else {
            throw VaultError(
                .invalidArgument,
                "a token with the scope play names titles by id or url alone, without contentID, fields and credentials"
            )
        }
        guard let id = try await vault.summary(of: reference)?.id else {
            throw VaultError(.notHeld, "the vault has no record of \(reference); fetch it first")
        }
        // The stored reference is used, because the client's spelling of the URL would be requested from the origin.
        // Moreover, a resource that only a manifest named must not be requested as if the operator had named it.
        return try await vault.reference(of: id, fields: HeaderFields())
    }
}
