/// The schemas of requests and answers (JSON Schema 2020-12).
enum APISchemas {
    static let all: [String: JSONTree] = answers.merging(questions) { $1 }.merging(words) { $1 }

    /// The schemas of values that occur in several places.
    private static let words: [String: JSONTree] = [
        "URL": [
            "type": "string", "format": "uri", "description": "http or https, at most 8192 bytes.",
            "examples": ["https://media.example/film.mp4"],
        ],
        "ContentID": [
            "type": "string", "minLength": 1, "maxLength": 512, "pattern": #"^[^\u0000-\u001f\u007f-\u009f]+$"#,
        ],
        "PageEnd": ["type": "string", "pattern": "^[0-9a-f]{64}$"],
        "Mode": ["enum": ["online", "prefer-vault", "offline", "no-store"]],
        "NamedMode": ["enum": ["online", "prefer-vault", "offline", "no-store", "default"]],
        "Bytes": ["type": "integer", "format": "int64", "minimum": 0],
        "Size": [
            "anyOf": [
                ["type": "string", "pattern": #"^([0-9]+([kKMGT]?B|[KMGT]iB|[kKMGT])|0|default)$"#], ["enum": [0]],
            ],
            "description": "A size with its unit: 5G, 200MiB, 5B. A bare number other than 0 is refused.",
            "examples": ["200MiB"],
        ],
        "Range": [
            "type": "array", "items": ref("Bytes"), "minItems": 2, "maxItems": 2,
            "description": "The first byte, and one past the last.",
        ],
        "Ranges": ["type": "array", "items": ref("Range")],
    ]

    // MARK: Answers

    private static let answers: [String: JSONTree] = [
        "Status": object([
            "vault": ["type": "string", "pattern": "^[0-9a-f]{32}$"], "resources": count, "segments": count,
            "bytes": ref("Bytes"), "bytesFetched": ref("Bytes"), "generation": count, "keysLocked": truth,
            "swapInReach": truth,
            "used": ref("Bytes"), "passedThrough": ref("Bytes"), "evicted": ref("Bytes"),
            "storeFailure": orNull(text), "unlock": object(["method": text, "restsWithVault": truth]),
        ]),
        "Listed": object([
            "url": text, "size": orNull(ref("Bytes")), "bytes": ref("Bytes"), "class": resourceClass,
            "type": orNull(text), "complete": truth,
        ]),
        "Page": object([
            "resources": ["type": "array", "items": ref("Listed")], "damaged": count,
            "next": orNull(ref("PageEnd")),
        ]),
        "Resource": object([
            "url": text, "size": orNull(ref("Bytes")), "held": ref("Ranges"), "bytes": ref("Bytes"),
            "type": orNull(text), "etag": orNull(text), "class": resourceClass, "generation": count,
            "mode": orNull(ref("Mode")),
        ]),
        "Explanation": object([
            "url": text, "size": orNull(ref("Bytes")), "held": ref("Ranges"),
            "answers": [
                "type": "array",
                "items": object(
                    [
                        "ended": ["type": "integer"], "bytes": ref("Bytes"), "omitted": ref("Bytes"),
                        "runs": [
                            "type": "array",
                            "items": object([
                                "first": ref("Bytes"), "end": ref("Bytes"),
                                "source": ["enum": ["vault", "origin", "unstored"]],
                            ]),
                        ],
                    ], optional: ["ended"]),
            ],
        ]),
        "Download": object([
            "id": count, "url": text, "state": ["enum": ["running", "done", "failed", "ended"]],
            "held": ref("Bytes"), "size": orNull(ref("Bytes")), "problem": orNull(ref("Problem")),
        ]),
        "Downloads": object(["downloads": ["type": "array", "items": ref("Download")]]),
        "DownloadBegun": object(["id": count]),
        "Removal": object(["bytes": ref("Bytes"), "erased": truth]),
        "Prune": object([
            "resources": count, "segments": count, "bytes": ref("Bytes"), "used": ref("Bytes"),
        ]),
        "Keys": object([
            "current": whole(from: 1), "act": orNull(text), "locatorChanging": truth, "shreds": count,
            "reseal": orNull(object(["resources": count, "bytes": ref("Bytes"), "due": truth])),
            "folded": ["type": "array", "items": object(["first": whole(from: 1), "last": whole(from: 1)])],
            "generations": [
                "type": "array",
                "items": object([
                    "number": whole(from: 1), "created": count, "backups": count, "resources": count,
                    "bytes": ref("Bytes"), "leaving": count,
                    "state": ["enum": ["current", "active", "retiring", "retired"]],
                ]),
            ],
        ]),
        "Link": object(["path": ["type": "string", "pattern": "^/media/"], "expires": ["type": "integer"]]),
        "Settings": settings,
        "Shred": object([
            "resources": [
                "type": "array",
                "items": object([
                    "url": text, "bytes": orNull(ref("Bytes")), "subject": orNull(subject),
                    "problem": orNull(ref("Problem")),
                ]),
            ],
            "outcome": ["enum": ["destroyed", "removed"]], "generation": count,
        ]),
        "Audit": object([
            "sound": truth, "anchored": truth, "vault": orNull(text), "key": orNull(text),
            "receipts": ["type": "array", "items": receipt],
            "faults": [
                "type": "array",
                "items": object([
                    "line": count,
                    "kind": ["enum": ["unreadable", "signature", "stranger", "sequence", "chain", "cut"]],
                ]),
            ],
        ]),
        "Destruction": object(["vault": text, "resources": count, "backups": count]),
        "Keyring": object([
            "vault": ["type": "string", "pattern": "^[0-9a-f]{32}$"], "revision": count,
            "slots": [
                "type": "array", "minItems": 1, "maxItems": 16,
                "items": object([
                    "number": count, "label": text, "method": unlockMethod, "opsLimit": orNull(count),
                    "memLimit": orNull(ref("Bytes")),
                ]),
            ],
        ]),
        "Nothing": ["type": "object", "maxProperties": 0],
        "Description": ["type": "object", "required": ["openapi", "paths"]],
        "Problem": object(
            [
                "status": ["type": "integer"], "title": text, "detail": text, "code": text, "hint": text,
                "originStatus": ["type": "integer"], "retryAfter": count, "firstMissing": ref("Bytes"),
                "length": ref("Bytes"), "held": ref("Ranges"),
            ],
            optional: [
                "detail", "code", "hint", "originStatus", "retryAfter", "firstMissing", "length", "held",
            ]),
    ]

    // MARK: Questions

    private static let reference: [String: JSONTree] = [
        "url": ref("URL"), "contentID": orNull(ref("ContentID")),
        "fields": orNull([
            "type": "array",
            "items": [
                "type": "array", "minItems": 2, "maxItems": 2, "description": "A name and a value.",
                "prefixItems": [
                    ["type": "string", "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"],
                    ["type": "string", "pattern": #"^[^\u0000-\u0008\u000a-\u001f\u007f]*$"#],
                ],
            ],
            "description": "Fields of requests to the origin. They are secrets, and must not be in a query.",
        ]),
    ]

    private static let questions: [String: JSONTree] = [
        "Reference": object(reference, optional: ["contentID", "fields"]),
        "LinkOrder": object(
            reference.merging([
                "lifetime": orNull([
                    "type": "integer", "minimum": 1, "maximum": 31_536_000,
                    "description": "Seconds; one day if omitted.",
                ])
            ]) { $1 }, optional: ["contentID", "fields", "lifetime"]),
        "DownloadOrder": object(
            reference.merging([
                "connections": orNull(whole), "limitRate": orNull(whole),
                "detached": orNull([
                    "type": "boolean", "description": "Whether the download continues without its client.",
                ]),
            ]) { $1 }, optional: ["contentID", "fields", "connections", "limitRate", "detached"]),
        "ModeOrder": object(
            reference.merging(["mode": ref("NamedMode")]) { $1 }, optional: ["contentID", "fields"]),
        "VerificationOrder": object(
            [
                "repair": orNull(truth),
                "sample": orNull([
                    "type": "number", "exclusiveMinimum": 0, "maximum": 100,
                    "description": "The percentage of segments to check.",
                ]),
                "limitRate": orNull(positive),
            ], optional: ["repair", "sample", "limitRate"]),
        "ResealingOrder": object(
            ["resources": orNull(list(of: "Reference")), "limitRate": orNull(positive)],
            optional: ["resources", "limitRate"]),
        "ShredOrder": object(
            [
                "resources": list(of: "Reference"),
                "quick": orNull(["type": "boolean", "description": "Whether to leave the generation as it is."]),
            ], optional: ["quick"]),
        "DestructionOrder": object(["vault": ["type": "string", "pattern": "^[0-9a-f]{32}$"]]),
        "KeyringOrder": object(
            [
                "revision": count, "act": ["enum": ["add", "replace", "remove", "backup"]], "number": orNull(count),
                "slot": orNull(
                    object(
                        [
                            "number": count, "label": text, "method": unlockMethod, "rootKey": text,
                            "salt": orNull(text), "opsLimit": orNull(count), "memLimit": orNull(count),
                        ], optional: ["salt", "opsLimit", "memLimit"])),
                "proof": ["type": "string", "description": "Proves that the client has the root key."],
            ], optional: ["number", "slot"]),
        "RotationOrder": object(
            [
                "root": orNull(truth), "locator": orNull(truth), "dropSlots": orNull(truth),
                "slots": orNull([
                    "type": "array",
                    "items": object(
                        [
                            "method": ["enum": ["key-file", "passphrase", "credential"]], "path": orNull(text),
                            "name": orNull(text), "loose": orNull(truth),
                        ], optional: ["path", "name", "loose"]),
                    "description":
                        "Files, by path, and credentials of the service's unit, by name. Only on the control socket.",
                ]),
            ], optional: ["root", "locator", "dropSlots", "slots"]),
        "RetirementOrder": object(["generation": whole(from: 1)]),
        "Limits": object(
            [
                "maxSize": orNull(ref("Size")), "maxAge": orNull(limit), "minFree": orNull(ref("Size")),
                "evictDownloads": orNull(truth), "dryRun": orNull(truth),
            ], optional: ["maxSize", "maxAge", "minFree", "evictDownloads", "dryRun"]),
        "SettingsChange": object(settingsChange, optional: Set(settingsChange.keys)),
    ]

    // MARK: Settings

    private static let texts: JSONTree = ["type": "array", "items": text]
    private static let hostFlags: JSONTree = orNull(map(of: truth, host()))

    // Adds members one by one: the compiler takes minutes for one large literal.
    private static let settings: JSONTree = {
        var members: [String: JSONTree] = ["maxSize": ref("Bytes"), "maxAge": count, "minFree": orNull(ref("Bytes"))]
        members["evictDownloads"] = truth
        members["ignoreQuery"] = map(of: texts)
        members["mapHost"] = map(of: text)
        for name in ["allowHost", "ignoreEtag", "immutable"] { members[name] = texts }
        members["mode"] = orNull(ref("Mode"))
        return object(members)
    }()

    private static let settingsChange: [String: JSONTree] = {
        var members: [String: JSONTree] = [:]
        for name in ["maxSize", "minFree"] { members[name] = orNull(ref("Size")) }
        members["maxAge"] = orNull(limit)
        members["evictDownloads"] = orNull(truth)
        let names: JSONTree = ["type": "array", "items": queryName]
        members["ignoreQuery"] = orNull(map(of: orNull(names), host(orEvery: true)))
        members["mapHost"] = orNull(map(of: orNull(host()), host()))
        for name in ["allowHost", "ignoreEtag", "immutable"] { members[name] = hostFlags }
        members["mode"] = orNull(ref("NamedMode"))
        return members
    }()

    // MARK: Pieces

    private static let receipt = object(
        [
            "sequence": count, "time": ["type": "integer"], "act": text, "outcome": text, "generation": count,
            "subject": subject, "resources": count,
        ], optional: ["subject", "resources"])
    private static let subject: JSONTree = ["type": "string", "pattern": "^[0-9a-f]{64}$"]

    private static func list(of schema: String) -> JSONTree {
        ["type": "array", "items": ref(schema), "minItems": 1]
    }

    private static let text: JSONTree = ["type": "string"]
    private static let truth: JSONTree = ["type": "boolean"]
    private static let count: JSONTree = ["type": "integer", "minimum": 0]
    private static let whole: JSONTree = [
        "type": "integer", "format": "int64", "minimum": .number(.min), "maximum": .number(.max),
        "description": "A value out of bounds is clamped.",
    ]
    private static func whole(from least: Int64) -> JSONTree { ["type": "integer", "minimum": .number(least)] }
    private static let positive: JSONTree = [
        "type": "integer", "format": "int64", "minimum": 1, "maximum": .number(.max),
    ]
    /// A limit; 0 means no limit.
    private static let limit: JSONTree = [
        "type": "integer", "format": "int64", "minimum": 0, "maximum": 9_007_199_254_740_991,
    ]
    private static let unlockMethod: JSONTree = ["enum": ["key-file", "command", "credential", "passphrase"]]
    private static let resourceClass: JSONTree = ["enum": ["pinned", "download", "cache"]]
    private static let queryName: JSONTree = [
        "type": "string", "minLength": 1, "maxLength": 256, "pattern": #"^[^\u0000-\u001f\u007f]+$"#,
    ]

    /// Returns the schema of a host as the settings name it.
    private static func host(orEvery: Bool = false) -> JSONTree {
        let name = "[A-Za-z][A-Za-z0-9]{0,30}(\\.[A-Za-z][A-Za-z0-9]{0,30}){0,3}"
        return ["type": "string", "pattern": .text(orEvery ? "^(\\*|\(name))$" : "^\(name)$")]
    }

    private static func ref(_ name: String) -> JSONTree { ["$ref": .text("#/components/schemas/\(name)")] }

    private static func orNull(_ schema: JSONTree) -> JSONTree { ["anyOf": [schema, ["type": "null"]]] }

    /// Returns the schema of an object whose member names the client chooses.
    private static func map(of schema: JSONTree, _ names: JSONTree? = nil) -> JSONTree {
        var members: [String: JSONTree] = ["type": "object", "additionalProperties": schema]
        if let names { members["propertyNames"] = names }
        return .object(members)
    }

    /// Returns the schema of an object with all its members, except optional ones.
    private static func object(_ members: [String: JSONTree], optional: Set<String> = []) -> JSONTree {
        let required = members.keys.filter { !optional.contains($0) }.sorted()
        var schema: [String: JSONTree] = ["type": "object", "properties": .object(members)]
        if !required.isEmpty { schema["required"] = .array(required.map { .text($0) }) }
        return .object(schema)
    }
}
