import VaultModel

/// What a failure comes to for those who administer: what they asked for wrongly is theirs, and what the vault does not
/// have is not found.
enum APIProblem {
    static func document(_ error: VaultError) -> ProblemDocument {
        switch error.code {
        case .invalidURL, .invalidArgument: ProblemDocument(status: 400, title: "Bad Request", error: error)
        case .notHeld: ProblemDocument(status: 404, title: "Not Found", error: error)
        case .wrongKey, .looseKeyFile: ProblemDocument(status: 400, title: "Bad Request", error: error)
        case .busy, .inUse, .olderKeyring: ProblemDocument(status: 409, title: "Conflict", error: error)
        case .diskFull: ProblemDocument(status: 507, title: "Insufficient Storage", error: error)
        default: ErrorAnswer.document(error)
        }
    }
}
