import MediaVault
import VaultService

/// What became of one title, as `remove`, `pin` and `unpin --json` print it.
struct TitleRecord: Encodable, Sendable {
    /// What a success comes to.
    struct Outcome: Sendable {
        /// The bytes that were freed, where that was the point.
        var bytes: Int64?
        /// For people.
        let sentence: String
    }

    struct Problem: Codable, Sendable {
        let code: String
        let message: String
    }

    let url: String
    let bytes: Int64?
    let error: OrNull<Problem>
    /// What the title means for the exit code; not printed.
    let status: ExitStatus

    private enum CodingKeys: CodingKey { case url, bytes, error }

    init(_ url: String, _ outcome: Outcome) {
        self.url = url
        bytes = outcome.bytes
        error = OrNull(nil)
        status = .done
    }

    init(_ url: String, failed error: VaultError) {
        self.url = url
        bytes = nil
        self.error = OrNull(Problem(code: error.code.description, message: error.message))
        status = ExitStatus(error.code)
    }
}
