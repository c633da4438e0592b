extension APIRoute {
    /// The descriptions of the methods that the route supports.
    var operations: [APIOperation] { own.flatMap { $0.method == "GET" && self != .events ? [$0, $0.head] : [$0] } }

    private var own: [APIOperation] {
        switch self {
        case .status:
            [.get("Returns the counts and the state of the vault.", answers: [.json("Status", "The state.")])]
        case .resources:
            [
                .get(
                    "Lists what the vault holds, a page at a time.", parameters: ["After", "Limit"],
                    answers: [.json("Page", "A page of resources."), .badRequest])
            ]
        case .resource: Self.about("Returns what the vault holds of one resource.", "Resource")
        case .explanation:
            Self.about("Returns where the bytes of the last answers of one resource came from.", "Explanation")
        case .content: Self.media
        case .removals:
            [
                .post(
                    "Removes a resource: its bytes, what is known about it, and its key.", body: "Reference",
                    answers: [.json("Removal", "The resource was removed."), .badRequest, .unknown, .storageFailed])
            ]
        case .pins: [.post("Pins a resource, so that no limit evicts it.", body: "Reference", answers: Self.done)]
        case .unpins: [.post("Unpins a resource.", body: "Reference", answers: Self.done)]
        case .modes: [.post("Sets the mode of a resource.", body: "ModeOrder", answers: Self.done)]
        case .prunes:
            [
                .post(
                    "Evicts once what exceeds the given limits, or the vault's own if none are given.",
                    body: "Limits",
                    answers: [.json("Prune", "What was removed."), .badRequest, .storageFailed])
            ]
        case .verifications:
            [
                .post(
                    "Verifies every block, repairs damage on request, and reports progress as lines of JSON.",
                    body: "VerificationOrder", answers: [.lines, .badRequest, .storageFailed])
            ]
        case .revocations:
            [.post("Revokes every playback link, and the admin token that requests it.", answers: Self.done)]
        case .reseals:
            [
                .post(
                    "Reseals the named resources under new keys, or all resources if none are named, and reports "
                        + "progress as lines of JSON.",
                    body: "ResealingOrder", answers: [.lines, .badRequest, .storageFailed])
            ]
        case .shreds:
            [
                .post(
                    "Shreds resources: destroys their keys, and what wrapped them.", body: "ShredOrder",
                    answers: [.json("Shred", "The result for each resource."), .badRequest, .conflict, .storageFailed])
            ]
        case .audit:
            [
                .get(
                    "Returns the audit log, read and checked.", parameters: ["AuditURL"],
                    answers: [.json("Audit", "Receipts and faults."), .badRequest])
            ]
        case .destructions:
            [
                .post(
                    "Makes the whole vault permanently unreadable. The service then answers no more requests about it.",
                    body: "DestructionOrder",
                    answers: [.json("Destruction", "The vault was destroyed."), .badRequest, .conflict, .storageFailed])
            ]
        case .keyring:
            [
                .get("Returns the slots of the keyring.", answers: [.json("Keyring", "The slots.")]),
                .post(
                    "Changes the keyring for a client that proves it has unlocked it. The body contains no secret.",
                    body: "KeyringOrder",
                    answers: [.json("Nothing", "The keyring was changed."), .badRequest, .conflict, .storageFailed]),
            ]
        case .locks:
            [
                .post(
                    "Wipes every key from the service's memory. All answers end, and nothing is opened until it is "
                        + "restarted.",
                    answers: Self.done)
            ]
        case .keys:
            [.get("Returns the state of the keys: each generation, and what needs it.", answers: [Self.keyState])]
        case .rotations:
            [
                .post(
                    "Creates a generation of keys for new resources. With root, also replaces the root key and the "
                        + "token key. With locator, changes all resource ids instead.", body: "RotationOrder",
                    answers: [Self.keyState, .badRequest, .conflict, .storageFailed])
            ]
        case .rewraps:
            [
                .post(
                    "Rewraps every resource key under the current generation, and reports progress as lines of "
                        + "JSON.", answers: [.lines])
            ]
        case .retirements:
            [
                .post(
                    "Retires a generation of keys that nothing needs.", body: "RetirementOrder",
                    answers: [Self.keyState, .badRequest, .conflict, .storageFailed])
            ]
        case .settings:
            [
                .get("Returns the settings of the vault.", answers: [.json("Settings", "The settings.")]),
                APIOperation(
                    method: "PATCH", summary: "Changes the named settings.", body: "SettingsChange",
                    answers: [.json("Settings", "The new settings."), .badRequest, .storageFailed]
                        + APIOperation.Answer.common),
            ]
        case .links:
            [
                .post(
                    "Creates a playback link for a resource on this service.", body: "LinkOrder",
                    answers: [.json("Link", "The link."), .badRequest])
            ]
        case .downloads: Self.downloadOperations
        case .events:
            [
                .get(
                    "Reports changes as they happen, as server-sent events.", parameters: ["OneURL", "ContentID"],
                    answers: [
                        APIOperation.Answer(
                            status: 200, description: "Events until the client or the service ends.",
                            type: "text/event-stream"), .badRequest,
                    ])
            ]
        case .openAPI: [.get("Returns this document.", answers: [.json("Description", "OpenAPI 3.1.")])]
        }
    }

    private static let keyState = APIOperation.Answer.json("Keys", "The state of the keys.")

    private static let done: [APIOperation.Answer] = [
        .json("Nothing", "The request was carried out."), .badRequest, .unknown, .storageFailed,
    ]

    /// Returns operations on a resource, named in the query, or in a body if that needs request fields.
    private static func about(_ summary: String, _ schema: String) -> [APIOperation] {
        let answers: [APIOperation.Answer] = [.json(schema, "The known facts of the resource."), .badRequest, .unknown]
        return [
            .get(summary, parameters: ["URL", "ContentID"], answers: answers),
            .post(summary, body: "Reference", answers: answers),
        ]
    }

    private static var media: [APIOperation] {
        let answers: [APIOperation.Answer] =
            [
                APIOperation.Answer(status: 200, description: "All bytes.", type: "*/*"),
                APIOperation.Answer(status: 206, description: "The requested range.", type: "*/*"),
                APIOperation.Answer(status: 304, description: "The client already has the bytes.", type: "*/*"),
                .badRequest, .problem(412, "The representation does not meet the request's condition."),
                .problem(416, "The range is outside the resource."),
                .problem(503, "The origin asks to retry later, or the service is shutting down."),
            ]
            + [401, 403, 404, 410, 451].map { .problem($0, "The origin answered with this status.") }
            + [
                .problem(502, "The origin failed."),
                .problem(504, "Bytes are not held, and cannot be fetched now."),
            ]
        return [
            .get("Returns the bytes of a resource.", parameters: ["URL", "ContentID", "Range"], answers: answers),
            .post("Returns the bytes of a resource that is named in a body.", body: "Reference", answers: answers),
        ]
    }

    private static let downloadOperations: [APIOperation] = [
        .get(
            "Lists the running and the most recently ended downloads.",
            answers: [.json("Downloads", "The downloads, the most recently started first.")]),
        .post(
            "Fetches the gaps of a resource. A download ends with its client, which gets the progress as lines of "
                + "JSON; a detached one continues without its client.",
            body: "DownloadOrder",
            answers: [.lines, .json("DownloadBegun", "The detached download has begun.", status: 202), .badRequest]),
        APIOperation(
            method: "DELETE", summary: "Ends a download; received data is kept.", parameters: ["DownloadID"],
            answers: [.json("Nothing", "The download ends."), .badRequest, .unknown] + APIOperation.Answer.common),
    ]
}

extension APIOperation {
    fileprivate static func get(_ summary: String, parameters: [String] = [], answers: [Answer]) -> APIOperation {
        APIOperation(method: "GET", summary: summary, parameters: parameters, answers: answers + Answer.common)
    }

    fileprivate static func post(_ summary: String, body: String? = nil, answers: [Answer]) -> APIOperation {
        APIOperation(method: "POST", summary: summary, body: body, answers: answers + Answer.common)
    }

    fileprivate var head: APIOperation {
        APIOperation(method: "HEAD", summary: summary, parameters: parameters, answers: answers)
    }
}

extension APIOperation.Answer {
    fileprivate static let badRequest = problem(400, "The query or the body cannot be used.")
    fileprivate static let conflict = problem(
        409, "It is still needed, another key operation is in progress, or the keys have changed meanwhile.")
    fileprivate static let unknown = problem(404, "It does not exist, or the token is not valid.")
    /// The problems of all routes: each is hidden from clients without a token, and each may fail.
    fileprivate static let common = [
        problem(403, "A web page of another site sent the request."), problem(404, "The token is not valid."),
        problem(415, "The body is not declared as JSON."), problem(500, "The store or the index failed."),
        problem(503, "The service is shutting down."),
    ]
    fileprivate static let storageFailed = problem(507, "The disk is full.")
    fileprivate static let lines = APIOperation.Answer(
        status: 200, description: "Lines of JSON with progress, the last with done or problem.",
        type: "application/x-ndjson")
}
