import Foundation
import Hummingbird
import Logging
import MediaVault

// Subscriptions, and their runs.
extension APIResponder {
    /// The maximum number of bytes in the body of a request that contains a list.
    private static let maxListBytes = 8 << 20

    func subscriptions(_ asked: APIRequest, _ request: Request, _ context: ServiceContext) async throws -> Response {
        func json(_ document: some Encodable) throws -> Response {
            Response(try .json(document), isHead: request.method == .head, context: context)
        }
        switch request.method {
        case .post: return try json(try await vault.subscribe(asked.body()))
        case .delete:
            switch (asked["id"], asked["titles"], asked["all"]) {
            case (let id?, let titles, nil) where ["true", "false", nil].contains(titles):
                return try json(try await vault.unsubscribe(id, titles: titles == "true"))
            case (nil, nil, "true"): return try json(try await vault.unsubscribeAll())
            default:
                throw VaultError(
                    .invalidArgument,
                    "the query must have either the id of a subscription, with titles=true or false, or all=true")
            }
        default: return try json(try await vault.subscriptions())
        }
    }

    func sync(_ asked: APIRequest, _ context: ServiceContext) async throws -> Response {
        let order: SyncOrder = try await asked.body(upTo: Self.maxListBytes)
        return Response(try .json(try await vault.sync(order)), context: context)
    }

    /// Starts running subscriptions on their schedule, and logs each run.
    func startSubscriptions(_ logger: Logger) {
        vault.vault.startSubscriptions { subscription, error in
            // A subscription's name and URL are as private as those of titles.
            let metadata: Logger.Metadata = ["subscription": "\(subscription.shortID)"]
            if let error {
                logger.warning(
                    "a subscription failed", metadata: metadata.merging(["reason": "\(error.code)"]) { $1 })
            } else {
                logger.info("a subscription ran", metadata: metadata)
            }
        }
    }
}
