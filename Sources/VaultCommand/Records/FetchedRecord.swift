import MediaVault
import VaultService

/// A title as `fetch --json` prints it.
struct FetchedRecord: Encodable, Sendable {
    struct Problem: Codable, Sendable {
        let code: String
        let message: String
    }

    let url: String
    let size: OrNull<Int64>
    let bytes: Int64
    let type: OrNull<String>
    let complete: Bool
    let error: OrNull<Problem>
    /// What the title means for the exit code; not printed.
    let status: ExitStatus

    private enum CodingKeys: CodingKey { case url, size, bytes, type, complete, error }

    init(_ url: String, _ document: ResourceDocument?, failed error: VaultError? = nil) {
        self.url = url
        size = OrNull(document?.size.value)
        bytes = document?.bytes ?? 0
        type = OrNull(document?.type.value)
        complete = document?.isComplete ?? false
        self.error = OrNull(error.map { Problem(code: $0.code.description, message: $0.message) })
        status = error.map { ExitStatus($0.code) } ?? .done
    }
}
