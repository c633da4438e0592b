import VaultTestSupport

@testable import VaultService

/// The API's description, from the file that the service sends.
enum APIDescription {
    static let tree: JSONTree = (try? JSONText.read(from: PackageResources.openapi_json)) ?? .null

    /// Returns what a value refers to, or the value itself; nil if the reference leads nowhere.
    static func target(of value: JSONTree) -> JSONTree? {
        guard let reference = value["$ref"]?.text else { return value }
        return reference.split(separator: "/").dropFirst().reduce(Optional(tree)) { $0?[String($1)] }
    }

    /// Returns a schema by its name.
    static func schema(_ name: String) -> JSONTree? { tree["components"]?["schemas"]?[name] }
}

extension APIRoute: CaseIterable {
    /// Every route of the service.
    static var allCases: [APIRoute] { Endpoint.byRoute.keys.sorted { $0.rawValue < $1.rawValue } }

    static let status = APIRoute(rawValue: "status")

    /// Returns whether a signed-in viewer may use a method.
    func isForViewers(_ method: String) -> Bool { endpoint(for: method)?.isForViewers ?? false }
}
