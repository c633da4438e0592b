import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import VaultModel

/// Answers every request: first whose name it came by, then what it is about.
struct ServiceResponder: HTTPResponder {
    private let vault: Vault
    private let hosts: HostCheck

    init(vault: Vault, hosts: HostCheck) {
        self.vault = vault
        self.hosts = hosts
    }

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        var context = context
        context.logger[metadataKey: "method"] = "\(request.method)"
        do {
            return try await answer(to: request, context: context)
        } catch {
            // The client is gone, or the service ends: there is nobody to answer.
            context.logger.debug("given up", metadata: ["reason": "\(type(of: error))"])
            return .abandoned(context: context)
        }
    }

    private func answer(to request: Request, context: ServiceContext) async throws -> Response {
        let isHead = request.method == .head
        func short(_ answer: Answer) -> Response { Response(answer, isHead: isHead, context: context) }

        switch hosts.verdict(on: request.head.hosts, port: context.channel.localAddress?.port ?? 0) {
        case .malformed: return short(ErrorAnswer.malformedHost)
        case .foreign: return short(ErrorAnswer.foreignHost)
        case .allowed: break
        }
        let target = request.head.path ?? ""
        let route = Route(target: target)
        guard route != .unknown else { return short(ErrorAnswer.notFound) }
        if route == .status,
            !(BearerToken.read(request.headers[.authorization]).map(vault.tokens.isAdminToken) ?? false)
        {
            return short(ErrorAnswer.notFound)
        }
        guard isHead || request.method == .get else { return short(ErrorAnswer.methodNotAllowed) }
        switch route {
        case .health: return short(.healthy)
        case .status: return short(try await status())
        case .media, .unknown:
            let now = Int64(Date().timeIntervalSince1970)
            guard let reference = vault.tokens.reference(ofTarget: target, now: now) else {
                return short(ErrorAnswer.notFound)
            }
            let wanted = MediaRequest(
                method: isHead ? .head : .get, range: request.headers[values: .range],
                ifRange: request.headers[values: .ifRange])
            return try await MediaResponder(vault: vault).respond(to: wanted, for: reference, context: context)
        }
    }

    private func status() async throws -> Answer {
        do {
            let document = StatusDocument(try await vault.status())
            return Answer(status: 200, type: "application/json", body: try document.json())
        } catch let error as VaultError {
            return ErrorAnswer.answer(to: error)
        }
    }
}

extension HTTPRequest {
    /// The values of all its `Host` fields; the library keeps the first apart.
    fileprivate var hosts: [String] {
        (authority.map { [$0] } ?? []) + headerFields.filter { $0.name.canonicalName == "host" }.map(\.value)
    }
}
