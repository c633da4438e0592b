/// One thing that can be asked of the API, described: a method of a route.
struct APIOperation: Sendable {
    /// What an answer with a status is.
    struct Answer: Sendable {
        let status: Int
        let description: String
        var type = "application/json"
        /// The name of its schema; nil where its bytes have none.
        var schema: String?

        /// A document.
        static func json(_ schema: String, _ description: String, status: Int = 200) -> Answer {
            Answer(status: status, description: description, schema: schema)
        }

        /// A problem.
        static func problem(_ status: Int, _ description: String) -> Answer {
            Answer(status: status, description: description, type: "application/problem+json", schema: "Problem")
        }
    }

    let method: String
    let summary: String
    var parameters: [String] = []
    /// The name of the schema of its body.
    var body: String?
    let answers: [Answer]

    /// The operation as OpenAPI has it.
    func tree(of route: APIRoute) -> JSONTree {
        var members: [String: JSONTree] = [
            "operationId": .text(method.lowercased() + route.operationName), "summary": .text(summary),
            "responses": .object(
                Dictionary(answers.map { ("\($0.status)", Self.tree($0, isHead: method == "HEAD")) }) { first, _ in
                    first
                }),
        ]
        if !parameters.isEmpty {
            members["parameters"] = .array(parameters.map { ["$ref": .text("#/components/parameters/\($0)")] })
        }
        if let body {
            members["requestBody"] = [
                "required": true, "content": ["application/json": ["schema": Self.reference(body)]],
            ]
        }
        return .object(members)
    }

    private static func tree(_ answer: Answer, isHead: Bool) -> JSONTree {
        var members: [String: JSONTree] = [
            "description": .text(answer.description),
            "headers": ["X-Request-Id": ["$ref": "#/components/headers/RequestID"]],
        ]
        if !isHead {
            let schema = answer.schema.map(reference) ?? [:]
            members["content"] = .object([answer.type: .object(["schema": schema])])
        }
        return .object(members)
    }

    private static func reference(_ schema: String) -> JSONTree { ["$ref": .text("#/components/schemas/\(schema)")] }
}

extension APIRoute {
    /// What stands after the method in the name of an operation.
    fileprivate var operationName: String {
        let word = self == .openAPI ? "description" : rawValue
        return word.prefix(1).uppercased() + word.dropFirst()
    }
}
