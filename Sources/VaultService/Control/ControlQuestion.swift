import Foundation
import MediaVault
import NIOHTTP1

/// A request by the control socket.
struct ControlQuestion: Sendable {
    let head: HTTPRequestHead
    let body: [UInt8]

    /// A question that carries a document.
    init(_ method: HTTPMethod, _ route: APIRoute, body: some Encodable) throws {
        self.init(method, route, [:], body: try JSONText.bytes(of: body))
    }

    /// A question about one resource, which the query names; where it has request fields, the body does.
    init(_ route: APIRoute, reference: MediaReference, fields: HTTPHeaders = [:]) throws {
        let document = ReferenceDocument(reference)
        if document.fields == nil {
            self.init(.GET, route, ["url": document.url, "contentID": document.contentID], fields: fields)
        } else {
            self.init(.POST, route, [:], body: try JSONText.bytes(of: document), fields: fields)
        }
    }

    /// - Parameters:
    ///   - parameters: the query; those that are nil are left out.
    ///   - fields: header fields beside the usual ones.
    init(
        _ method: HTTPMethod, _ route: APIRoute, _ parameters: KeyValuePairs<String, String?> = [:],
        body: [UInt8] = [], fields: HTTPHeaders = [:]
    ) {
        var target = URLComponents()
        target.path = route.path
        let items = parameters.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
        if !items.isEmpty { target.queryItems = items }
        var fields = fields
        fields.add(name: "Host", value: "localhost")
        fields.add(name: "Content-Length", value: String(body.count))
        if !body.isEmpty { fields.add(name: "Content-Type", value: "application/json") }
        fields.add(name: "User-Agent", value: "MediaVault/\(Vault.version)")
        head = HTTPRequestHead(version: .http1_1, method: method, uri: target.string ?? route.path, headers: fields)
        self.body = body
    }
}
