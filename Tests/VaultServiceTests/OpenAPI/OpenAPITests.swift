import MediaVault
import Testing
import VaultTestSupport

@testable import VaultService

@Suite("OpenAPI description")
struct OpenAPITests {
    private let paths = APIDescription.tree["paths"]?.members ?? [:]

    @Test("The file describes every route and method of the service, and no other")
    func routes() throws {
        #expect(Set(paths.keys) == Set(APIRoute.allCases.map(\.path)))
        for route in APIRoute.allCases {
            let operations = try #require(paths[route.path]).members
            #expect(Set(operations.keys) == Set(route.methods.map { $0.lowercased() }), "\(route)")
            // A client generator names functions by them.
            for (method, operation) in operations {
                let name = route == .openAPI ? "description" : route.rawValue.filter(\.isLetter)
                #expect(operation["operationId"]?.text?.lowercased() == method + name)
            }
        }
    }

    @Test("The file names the parameters of every query, and says which requests have a body")
    func parameters() throws {
        for route in APIRoute.allCases {
            for method in route.methods {
                let operation = try #require(paths[route.path]?[method.lowercased()])
                let parameters = (operation["parameters"]?.elements ?? []).compactMap { APIDescription.target(of: $0) }
                let names = parameters.filter { $0["in"]?.text == "query" }.compactMap { $0["name"]?.text }
                #expect(Set(names) == route.endpoint(for: method)?.parameters, "\(method) \(route)")
                #expect((operation["requestBody"] != nil) == route.endpoint(for: method)?.hasBody, "\(method) \(route)")
            }
        }
    }

    @Test("The file names the least scope of a token for every route and method")
    func scopes() throws {
        for route in APIRoute.allCases {
            for method in route.methods {
                let operation = try #require(paths[route.path]?[method.lowercased()])
                #expect(operation["x-scope"]?.text == route.scope(for: method)?.rawValue, "\(method) \(route)")
            }
        }
    }

    @Test("Every reference in the file resolves, and every part that can be referred to is")
    func references() throws {
        var found: Set<String> = []
        collect(APIDescription.tree, &found)
        #expect(found.count > 50)
        for reference in found {
            #expect(APIDescription.target(of: .object(["$ref": .text(reference)])) != nil, "\(reference)")
        }
        for (kind, parts) in try #require(APIDescription.tree["components"]).members where kind != "securitySchemes" {
            for name in parts.members.keys {
                #expect(found.contains("#/components/\(kind)/\(name)"), "\(kind) \(name)")
            }
        }
    }

    private func collect(_ tree: JSONTree, _ found: inout Set<String>) {
        if let reference = tree["$ref"]?.text { found.insert(reference) }
        for member in tree.members.values { collect(member, &found) }
        for element in tree.elements { collect(element, &found) }
    }

    @Test("The file has the version of the library")
    func version() {
        #expect(APIDescription.tree["info"]?["version"] == .text(Vault.version))
    }

    @Test("Each document and report has the members of its schema, required and optional ones", arguments: WireForm.all)
    func members(form: WireForm) throws {
        let (full, minimal) = (Array(form.full.utf8), Array(form.minimal.utf8))
        #expect(try SchemaCheck.faults(of: full, form.schema) == [])
        #expect(try SchemaCheck.faults(of: minimal, form.schema) == [])
        #expect(try SchemaCheck.differences(of: full, form.schema) == [])
        #expect(try SchemaCheck.differences(of: minimal, form.schema, onlyRequired: true) == [])
    }

    @Test("Every schema with members belongs to a document or report, and the check notices a missing member")
    func schemas() throws {
        let schemas = try #require(APIDescription.tree["components"]?["schemas"]).members
        let described = schemas.filter { $0.value["properties"] != nil }
        #expect(Set(described.keys).isSubset(of: WireForm.all.map(\.schema)))
        #expect(try SchemaCheck.differences(of: Array("{}".utf8), "Removed") == ["$.id"])
        #expect(try SchemaCheck.differences(of: Array(#"{"id":1,"x":2}"#.utf8), "Removed") == ["$.x"])
        #expect(try SchemaCheck.differences(of: Array("{}".utf8), "Removed", onlyRequired: true) == ["$.id"])
        #expect(try SchemaCheck.faults(of: Array("{}".utf8), "Removed").count == 1)
    }

    @Test("The schema of a problem lists every error code and every hint")
    func problems() throws {
        let problem = try #require(APIDescription.schema("Problem")?["properties"])
        let codes = problem["code"]?["enum"]?.elements.compactMap(\.text)
        #expect(codes == VaultError.Code.all.map(\.description))
        #expect(problem["hint"]?["enum"]?.elements.compactMap(\.text) == VaultError.Hint.all.map(\.description))
    }

    @Test("The file describes every status of an error, of the API and of media, and each described one occurs")
    func statuses() throws {
        let errors = VaultError.Code.all.map { VaultError($0, "it failed") }
        let refusals = [401, 403, 404, 410, 429, 451, 500, 503].map { status in
            var error = VaultError(.refused, "it failed")
            error.originStatus = status
            return error
        }
        let media = Set((errors + refusals).map { ProblemDocument($0).status })
        let content = try #require(paths[APIRoute.content.path]?["get"])
        #expect(media.isSubset(of: statuses(of: content)))
        // The origin is asked by the routes for media only.
        let api = Set(errors.map { APIProblem.document($0).status }).subtracting(media)
        let described = Set(paths.values.flatMap(\.members.values).flatMap(statuses))
        #expect(api == [400, 409, 507] && api.isSubset(of: described))
        // Answers that are no error of the vault: successes, conditions, and refusals of the request itself.
        let others: Set = [200, 201, 202, 206, 304, 401, 403, 404, 412, 415, 429]
        #expect(described.subtracting(media).subtracting(api).isSubset(of: others))
    }

    private func statuses(of operation: JSONTree) -> Set<Int> {
        Set((operation["responses"]?.members ?? [:]).keys.compactMap { Int($0) })
    }
}
