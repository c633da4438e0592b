extension APIRoute {
    /// What can be asked, described: the same methods that the route answers to.
    var operations: [APIOperation] { own.flatMap { $0.method == "GET" && self != .events ? [$0, $0.head] : [$0] } }

    private var own: [APIOperation] {
        switch self {
        case .status:
            [.get("Counts and state of the vault.", answers: [.json("Status", "The state.")])]
        case .resources:
            [
                .get(
                    "What the vault holds, a page at a time.", parameters: ["After", "Limit"],
                    answers: [.json("Page", "Some resources."), .badRequest])
            ]
        case .resource: Self.about("What the vault holds of one resource.", "Resource")
        case .explanation: Self.about("Where the bytes of the last answers of one resource came from.", "Explanation")
        case .content: Self.media
        case .removals:
            [
                .post(
                    "Removes a resource: its bytes, what is known of it, and its key.", body: "Reference",
                    answers: [.json("Removal", "It is gone."), .badRequest, .unknown, .storageFailed])
            ]
        case .pins: [.post("Keeps a resource whatever the limits say.", body: "Reference", answers: Self.done)]
        case .unpins: [.post("Lets limits touch a resource again.", body: "Reference", answers: Self.done)]
        case .modes: [.post("Gives a resource a mode of its own.", body: "ModeOrder", answers: Self.done)]
        case .prunes:
            [
                .post(
                    "Lets go of what lies beyond limits, once: those given, or those in force where none is.",
                    body: "Limits",
                    answers: [.json("Prune", "What went."), .badRequest, .storageFailed])
            ]
        case .verifications:
            [
                .post(
                    "Opens every block, repairs where told to, and tells how far it is, a line of JSON for each step.",
                    body: "VerificationOrder", answers: [.lines, .badRequest, .storageFailed])
            ]
        case .revocations:
            [.post("Revokes every playback address and the admin token that asks for it.", answers: Self.done)]
        case .reseals:
            [
                .post(
                    "Gives resources new keys, all of them where none is named, seals every segment anew, and tells how "
                        + "far it is, a line of JSON for each step.",
                    body: "ResealingOrder", answers: [.lines, .badRequest, .storageFailed])
            ]
        case .shreds:
            [
                .post(
                    "Forgets resources for good: their keys, and what wrapped them.", body: "ShredOrder",
                    answers: [.json("Shred", "What became of each."), .badRequest, .conflict, .storageFailed])
            ]
        case .audit:
            [
                .get(
                    "The audit log, read and checked.", parameters: ["AuditURL"],
                    answers: [.json("Audit", "Receipts and faults."), .badRequest])
            ]
        case .destructions:
            [
                .post(
                    "Makes the whole vault unreadable, for ever. The service answers no more questions about it.",
                    body: "DestructionOrder",
                    answers: [.json("Destruction", "It is gone."), .badRequest, .conflict, .storageFailed])
            ]
        case .keyring:
            [
                .get("What the keyring tells of itself: its slots.", answers: [.json("Keyring", "The slots.")]),
                .post(
                    "Changes the keyring as somebody orders who has unlocked it and proves that. No secret stands in it.",
                    body: "KeyringOrder",
                    answers: [.json("Nothing", "It is done."), .badRequest, .conflict, .storageFailed]),
            ]
        case .locks:
            [
                .post(
                    "Wipes every key from the service's memory. All answers end, and nothing is opened until it is started "
                        + "anew.",
                    answers: Self.done)
            ]
        case .keys: [.get("How the keys stand: each generation, and what needs it.", answers: [Self.keyState])]
        case .rotations:
            [
                .post(
                    "Makes a new generation of keys, which new resources use; with root a new root key and token key too; "
                        + "with locator all resource ids anew instead.", body: "RotationOrder",
                    answers: [Self.keyState, .badRequest, .conflict, .storageFailed])
            ]
        case .rewraps:
            [
                .post(
                    "Wraps every resource key anew under the current generation, and tells how far it is, a line of "
                        + "JSON for each step.", answers: [.lines])
            ]
        case .retirements:
            [
                .post(
                    "Destroys a generation of keys that nothing needs.", body: "RetirementOrder",
                    answers: [Self.keyState, .badRequest, .conflict, .storageFailed])
            ]
        case .settings:
            [
                .get("The settings of the vault.", answers: [.json("Settings", "The settings.")]),
                APIOperation(
                    method: "PATCH", summary: "Changes the settings that are named.", body: "SettingsChange",
                    answers: [.json("Settings", "The settings as they are now."), .badRequest, .storageFailed]
                        + APIOperation.Answer.common),
            ]
        case .links:
            [
                .post(
                    "Makes the address under which a player finds a resource on this service.", body: "LinkOrder",
                    answers: [.json("Link", "The address."), .badRequest])
            ]
        case .downloads: Self.downloadOperations
        case .events:
            [
                .get(
                    "What changes, as it changes: server-sent events.", parameters: ["OneURL", "ContentID"],
                    answers: [
                        APIOperation.Answer(
                            status: 200, description: "Events until the client or the service ends.",
                            type: "text/event-stream"), .badRequest,
                    ])
            ]
        case .openAPI: [.get("This document.", answers: [.json("Description", "OpenAPI 3.1.")])]
        }
    }

    private static let keyState = APIOperation.Answer.json("Keys", "How the keys stand now.")

    private static let done: [APIOperation.Answer] = [
        .json("Nothing", "It is done."), .badRequest, .unknown, .storageFailed,
    ]

    /// A resource is named in the query, or, where request fields are needed for that, in a body.
    private static func about(_ summary: String, _ schema: String) -> [APIOperation] {
        let answers: [APIOperation.Answer] = [.json(schema, "What is known."), .badRequest, .unknown]
        return [
            .get(summary, parameters: ["URL", "ContentID"], answers: answers),
            .post(summary, body: "Reference", answers: answers),
        ]
    }

    private static var media: [APIOperation] {
        let answers: [APIOperation.Answer] =
            [
                APIOperation.Answer(status: 200, description: "All bytes.", type: "*/*"),
                APIOperation.Answer(status: 206, description: "The range asked for.", type: "*/*"),
                APIOperation.Answer(status: 304, description: "The client has it already.", type: "*/*"),
                .badRequest, .problem(412, "It is not what the request says it is."),
                .problem(416, "The range lies outside the resource."),
                .problem(503, "The origin asks to come later, or the service ends."),
            ]
            + [401, 403, 404, 410, 451].map { .problem($0, "The origin answers so.") }
            + [
                .problem(502, "The origin failed."),
                .problem(504, "The bytes are not held, and cannot be fetched now."),
            ]
        return [
            .get("The bytes of a resource.", parameters: ["URL", "ContentID", "Range"], answers: answers),
            .post("The same, named in a body.", body: "Reference", answers: answers),
        ]
    }

    private static let downloadOperations: [APIOperation] = [
        .get(
            "The downloads that the service runs, and those that ended last.",
            answers: [.json("Downloads", "Those that began last first.")]),
        .post(
            "Fetches what is missing of a resource. It ends with whoever asked, who is told how far it is line by line; "
                + "one that is detached goes on by itself.",
            body: "DownloadOrder",
            answers: [.lines, .json("DownloadBegun", "It goes on by itself.", status: 202), .badRequest]),
        APIOperation(
            method: "DELETE", summary: "Ends a download; what was received is kept.", parameters: ["DownloadID"],
            answers: [.json("Nothing", "It ends."), .badRequest, .unknown] + APIOperation.Answer.common),
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
        409, "Something needs it, another act works on the keys, or they have changed meanwhile.")
    fileprivate static let unknown = problem(404, "There is none, or the token is not the right one.")
    /// Every route is hidden from who has no token, and any may come to grief.
    fileprivate static let common = [
        problem(403, "A web page of another site asks."), problem(404, "The token is not the right one."),
        problem(415, "The body does not say that it is JSON."), problem(500, "The store or the index failed."),
        problem(503, "The service ends."),
    ]
    fileprivate static let storageFailed = problem(507, "The disk is full.")
    fileprivate static let lines = APIOperation.Answer(
        status: 200, description: "A line of JSON for each step, the last with done or problem.",
        type: "application/x-ndjson")
}
