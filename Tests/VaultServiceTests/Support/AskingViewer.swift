import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import NIOEmbedded
import VaultModel

@testable import VaultService

/// A signed-in viewer who sends API requests to the service of a vault.
struct AskingViewer: Sendable {
    let vault: Vault
    let viewer: ViewerID
    /// The grant with which the links of their session end.
    var access: TokenAccess?
    private let api: APIResponder

    init(_ vault: Vault, _ viewer: ViewerID) {
        (self.vault, self.viewer) = (vault, viewer)
        api = APIResponder(vault: vault, metrics: ServiceMetrics())
    }

    /// Sends a request, and returns the whole answer.
    func ask(
        _ method: String, _ rest: String, _ body: String = ""
    ) async throws -> (status: Int, head: HTTPFields, body: String) {
        let path = "/api/v1/\(rest)"
        guard case .api(let route) = Route(target: path), let method = HTTPRequest.Method(method) else {
            return (404, HTTPFields(), "")
        }
        var head = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
        if !body.isEmpty { head.headerFields[.contentLength] = String(body.utf8.count) }
        var context = ServiceContext(
            source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: .silent))
        (context.viewer, context.access) = (viewer, access)
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body)))
        let response = try await api.respond(to: request, about: route, context: context)
        let written = Locked("")
        try await response.body.write(RecordingWriter { text in written.withLock { $0 += text } })
        return (response.status.code, response.headers, written.withLock(\.self))
    }
}
