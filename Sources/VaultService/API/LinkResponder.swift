import Hummingbird
import Logging
import MediaVault

/// Answers requests for playback links.
struct LinkResponder: Sendable {
    let vault: LocalVault

    /// Creates links to resources that the token of the request may play.
    func createLinks(_ order: LinkOrder, _ context: ServiceContext) async throws -> LinkDocument {
        // A named link would stay valid after the token that created it has ended.
        guard order.details.name == nil || context.isAdmin else {
            throw VaultError(
                .invalidArgument, "only a token with the scope admin creates named links; leave out the name")
        }
        let references = try await PlayableReferences(vault.vault, context).references(of: order.documents)
        let ends = context.access.flatMap { $0.isSession || !context.isAdmin ? $0 : nil }
        let created = try await vault.createLinks(
            to: references, order.details, endingWith: ends, by: context.access)
        if let id = created.id { context.logger.notice("named links were created", metadata: ["link": "\(id)"]) }
        return created
    }
}
