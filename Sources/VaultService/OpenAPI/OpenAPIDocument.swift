import MediaVault

/// The service's own description of its API (OpenAPI 3.1).
enum OpenAPIDocument {
    static let whole: JSONTree = [
        "openapi": "3.1.0",
        "info": [
            "title": "MediaVault", "version": .text(Vault.version),
            "description": .text(
                "The operations of the command, performed by the service that owns the vault. Without a token, every "
                    + "route is 404. Omitted members and null members mean the same."),
        ],
        "security": [["adminToken": []]],
        "paths": .object(
            Dictionary(
                uniqueKeysWithValues: APIRoute.allCases.map { route in
                    let operations = route.operations.map { ($0.method.lowercased(), $0.tree(of: route)) }
                    return (route.path, .object(Dictionary(uniqueKeysWithValues: operations)))
                })),
        "components": [
            "securitySchemes": [
                "adminToken": [
                    "type": "http", "scheme": "bearer",
                    "description": "The output of the command token. The control socket needs none.",
                ]
            ],
            "headers": [
                "RequestID": [
                    "description": "Identifies the request in the service's log.", "schema": ["type": "string"],
                ]
            ],
            "parameters": parameters, "schemas": .object(APISchemas.all),
        ],
    ]

    private static let parameters: JSONTree = [
        "URL": query("url", "The resource's URL, with its query.", "#/components/schemas/URL", isRequired: true),
        "OneURL": query("url", "Reports only changes of this resource.", "#/components/schemas/URL"),
        "AuditURL": query("url", "Returns only receipts about this resource.", "#/components/schemas/URL"),
        "ContentID": query("contentID", "The caller's own name for the resource.", "#/components/schemas/ContentID"),
        "After": query("after", "The value of next from the previous page.", "#/components/schemas/PageEnd"),
        "Limit": [
            "name": "limit", "in": "query", "description": "The most resources of a page.",
            "schema": ["type": "integer", "minimum": 1, "maximum": 1000, "default": 128],
        ],
        "DownloadID": [
            "name": "id", "in": "query", "required": true, "description": "The download's id.",
            "schema": ["type": "integer", "format": "int64", "minimum": 0, "maximum": .number(.max)],
        ],
        "Range": [
            "name": "Range", "in": "header", "description": "The requested bytes (RFC 9110 §14.2).",
            "schema": ["type": "string"], "example": "bytes=0-1023",
        ],
    ]

    private static func query(
        _ name: String, _ description: String, _ schema: String, isRequired: Bool = false
    ) -> JSONTree {
        [
            "name": .text(name), "in": "query", "required": .truth(isRequired), "description": .text(description),
            "schema": ["$ref": .text(schema)],
        ]
    }
}

/// The description of one method of a route.
struct APIOperation: Sendable {
    /// The description of an answer with a status.
    struct Answer: Sendable {
        let status: Int
        let description: String
        var type = "application/json"
        /// The name of its schema; nil if its bytes have none.
        var schema: String?

        /// Returns the description of a JSON document.
        static func json(_ schema: String, _ description: String, status: Int = 200) -> Answer {
            Answer(status: status, description: description, schema: schema)
        }

        /// Returns the description of a problem.
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

    /// Returns the operation in the form of OpenAPI.
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
    /// The part of an operation's name after the method.
    fileprivate var operationName: String {
        let word = self == .openAPI ? "description" : rawValue
        return word.prefix(1).uppercased() + word.dropFirst()
    }
}

/// A JSON value that can be written as a literal.
indirect enum JSONTree: Hashable, Sendable {
    case object([String: JSONTree])
    case array([JSONTree])
    case text(String)
    case number(Int64)
    case truth(Bool)
    case null

    /// The member of an object; nil if there is none.
    subscript(name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }
}

extension JSONTree: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
    init(dictionaryLiteral members: (String, JSONTree)...) { self = .object(Dictionary(uniqueKeysWithValues: members)) }
    init(arrayLiteral elements: JSONTree...) { self = .array(elements) }
    init(stringLiteral text: String) { self = .text(text) }
    init(integerLiteral number: Int64) { self = .number(number) }
    init(booleanLiteral truth: Bool) { self = .truth(truth) }
}

extension JSONTree: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let members): try container.encode(members)
        case .array(let elements): try container.encode(elements)
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .truth(let truth): try container.encode(truth)
        case .null: try container.encodeNil()
        }
    }
}
