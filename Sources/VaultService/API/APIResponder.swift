import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers requests to the API, whichever way they came: who may ask was settled before.
struct APIResponder: Sendable {
    private let vault: LocalVault

    init(vault: Vault) { self.vault = LocalVault(vault) }

    func respond(to request: Request, about route: APIRoute, context: ServiceContext) async throws -> Response {
        let isHead = request.method == .head
        guard route.methods.contains(request.method.rawValue) else {
            return Response(
                ErrorAnswer.methodNotAllowed(route.methods.joined(separator: ", ")), isHead: isHead, context: context)
        }
        do {
            return try await answer(APIRequest(request), to: request, about: route, context)
        } catch let error as VaultError {
            context.logger.debug("refused", metadata: ["reason": "\(error.code)"])
            return Response(ErrorAnswer.answer(APIProblem.document(error)), isHead: isHead, context: context)
        }
    }

    private func answer(
        _ asked: APIRequest, to request: Request, about route: APIRoute, _ context: ServiceContext
    ) async throws -> Response {
        func json(_ document: some Encodable, status: Int = 200) throws -> Response {
            Response(try .json(document, status: status), isHead: request.method == .head, context: context)
        }
        switch route {
        case .status: return try json(try await vault.status())
        case .resources: return try json(try await vault.resources(after: asked["after"], limit: asked.number("limit")))
        case .resource: return try json(try await resource(asked.reference()))
        case .content:
            return try await MediaResponder(vault: vault.vault, reference: asked.reference(), context: context)
                .respond(to: request)
        case .removals: return try json(try await vault.remove(asked.body(ReferenceDocument.self).reference()))
        case .pins:
            try await vault.pin(asked.body(ReferenceDocument.self).reference())
            return try json(NothingDocument())
        case .unpins:
            try await vault.unpin(asked.body(ReferenceDocument.self).reference())
            return try json(NothingDocument())
        case .modes:
            let order: ModeOrder = try await asked.body()
            try await vault.setMode(NamedMode(order.mode).mode, of: order.reference.reference())
            return try json(NothingDocument())
        case .prunes: return try json(try await vault.prune(asked.body()))
        case .verifications: return verification(try await asked.body(), context)
        case .revocations:
            try await vault.revokeLinks()
            return try json(NothingDocument())
        case .settings:
            return try json(
                request.method == .patch ? try await vault.change(asked.body()) : try await vault.settings())
        case .downloads:
            let order: DownloadOrder = try await asked.body()
            // A malformed URL is refused before the answer begins.
            let reference = try order.reference.reference()
            guard !order.isDetached else {
                fetchOn(reference, order.options, context)
                return try json(NothingDocument(), status: 202)
            }
            return events(context) { [vault] tell in
                try await vault.download(reference, order.options) { tell($0) }
                return NothingDocument()
            }
        }
    }

    /// A check that repairs goes on beside players, and tells how far it is.
    private func verification(_ order: VerificationOrder, _ context: ServiceContext) -> Response {
        events(context) { [vault] tell in try await vault.verify(order.options) { tell($0) } }
    }

    private func resource(_ reference: MediaReference) async throws -> ResourceDocument {
        guard let document = try await vault.resource(reference) else {
            throw VaultError(.notHeld, "the vault knows nothing of \(reference.url); fetch it first")
        }
        return document
    }

    /// Downloads on behalf of nobody who waits; it ends with the vault at the latest.
    private func fetchOn(_ reference: MediaReference, _ options: DownloadOptions, _ context: ServiceContext) {
        let logger = context.logger
        Task { [vault] in
            do {
                try await vault.download(reference, options) { _ in }
            } catch let error as VaultError {
                logger.notice(
                    "a download that was left to the service ended early", metadata: ["reason": "\(error.code)"])
            }
        }
    }

    private func events<Progress: Codable & Sendable, Outcome: Codable & Sendable>(
        _ context: ServiceContext, _ act: @escaping EventStream<Progress, Outcome>.Act
    ) -> Response {
        let stream = EventStream(watch: ClientWatch(context.channel), act: act)
        return Response(stream, context: context)
    }
}
