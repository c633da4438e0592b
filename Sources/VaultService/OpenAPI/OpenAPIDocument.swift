import MediaVault

/// The description of the API that the service gives of itself (OpenAPI 3.1).
enum OpenAPIDocument {
    static let whole: JSONTree = [
        "openapi": "3.1.0",
        "info": [
            "title": "MediaVault", "version": .text(Vault.version),
            "description": .text(
                "What the command does, done by the service that owns the vault. Who has no token is told nothing: every "
                    + "route is 404. Members that are left out and members that are null mean the same."),
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
                    "description": "What the command token prints. The control socket needs none.",
                ]
            ],
            "headers": [
                "RequestID": [
                    "description": "Names the request in the service's log.", "schema": ["type": "string"],
                ]
            ],
            "parameters": parameters, "schemas": .object(APISchemas.all),
        ],
    ]

    private static let parameters: JSONTree = [
        "URL": query("url", "The resource's URL, with its query.", "#/components/schemas/URL", isRequired: true),
        "OneURL": query("url", "Only changes of this resource are told.", "#/components/schemas/URL"),
        "AuditURL": query("url", "Only receipts about this resource are told.", "#/components/schemas/URL"),
        "ContentID": query("contentID", "The caller's own name for the resource.", "#/components/schemas/ContentID"),
        "After": query("after", "The end of the page before.", "#/components/schemas/PageEnd"),
        "Limit": [
            "name": "limit", "in": "query", "description": "How many resources a page has at most.",
            "schema": ["type": "integer", "minimum": 1, "maximum": 1000, "default": 128],
        ],
        "DownloadID": [
            "name": "id", "in": "query", "required": true, "description": "The download's id.",
            "schema": ["type": "integer", "format": "int64", "minimum": 0, "maximum": .number(.max)],
        ],
        "Range": [
            "name": "Range", "in": "header", "description": "The bytes wanted (RFC 9110 §14.2).",
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
