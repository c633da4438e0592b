import MediaVault

/// A title as `fetch --json` prints it.
struct FetchedRecord: Encodable, Sendable {
    struct Problem: Encodable, Sendable {
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

    init(_ url: String, _ summary: ResourceSummary?) {
        self.url = url
        size = OrNull(summary?.size)
        bytes = summary?.bytes ?? 0
        type = OrNull(summary?.type)
        complete = summary?.isComplete ?? false
        error = OrNull(nil)
        status = .done
    }

    init(_ url: String, _ progress: TransferProgress?, failed error: VaultError) {
        self.url = url
        size = OrNull(progress?.total)
        bytes = progress?.held ?? 0
        type = OrNull(nil)
        complete = false
        self.error = OrNull(Problem(code: error.code.description, message: error.message))
        status = ExitStatus(error.code)
    }
}
