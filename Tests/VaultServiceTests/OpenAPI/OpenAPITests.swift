import Foundation
import Testing

@testable import VaultService

@Suite("OpenAPI description")
struct OpenAPITests {
    @Test(
        "Every route is described with every method that it supports", arguments: APIRoute.allCases)
    func routes(route: APIRoute) throws {
        #expect(Set(route.operations.map(\.method)) == Set(route.methods))
        guard case .object(let paths)? = OpenAPIDocument.whole["paths"] else {
            Issue.record("the document has no paths")
            return
        }
        #expect(Set(paths.keys) == Set(APIRoute.allCases.map(\.path)))
        guard case .object(let operations)? = paths[route.path] else {
            Issue.record("the route is not described")
            return
        }
        #expect(Set(operations.keys) == Set(route.methods.map { $0.lowercased() }))
    }

    @Test("Every reference in the document resolves")
    func references() throws {
        var found = 0
        try check(OpenAPIDocument.whole, &found)
        #expect(found > 50)
    }

    private func check(_ tree: JSONTree, _ found: inout Int) throws {
        switch tree {
        case .object(let members):
            if case .text(let reference)? = members["$ref"] {
                let place = reference.split(separator: "/").dropFirst()
                let target = place.reduce(Optional(OpenAPIDocument.whole)) { $0?[String($1)] }
                #expect(target != nil, "\(reference)")
                found += 1
            }
            for member in members.values { try check(member, &found) }
        case .array(let elements): for element in elements { try check(element, &found) }
        case .text, .number, .truth, .null: break
        }
    }
}
