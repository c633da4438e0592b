import Hummingbird
import MediaVault
import VaultModel

/// Answers the requests of one viewer. A viewer may use only a few routes, and sees only shared titles there.
struct ViewerResponder: Sendable {
    let titles: SharedTitles

    /// Answers a request.
    ///
    /// - Returns: the answer; nil if the route answers viewers and the owner alike.
    func respond(to asked: APIRequest, _ request: Request, _ context: ServiceContext) async throws -> Response? {
        func json(_ document: some Encodable) throws -> Response {
            Response(try .json(document), isHead: request.method == .head, context: context)
        }
        guard asked.endpoint.isForViewers else {
            return Response(ErrorAnswer.notForViewers, isHead: request.method == .head, context: context)
        }
        switch asked.endpoint.route {
        case .resources:
            return try json(
                try await titles.page(after: asked["after"], limit: asked.number("limit"), asked.selection))
        case .resourceByID:
            guard let id = asked.pathID else { throw SharedTitles.unknown }
            return try json(try await titles.title(id))
        case .coverByID, .subtitlesByID:
            guard let id = asked.pathID else { throw SharedTitles.unknown }
            // This throws if the title is not shared with the viewer.
            _ = try await titles.title(id)
            return nil
        case .links: return try json(try await titles.links(to: asked.body(), endingWith: context.access))
        case .events:
            guard !asked.namesResource else {
                throw VaultError(.invalidArgument, "a viewer follows the events of all titles; leave out id and url")
            }
            return nil
        default: return nil
        }
    }
}
