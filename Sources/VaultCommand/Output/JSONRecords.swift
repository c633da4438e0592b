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
    /// The exit code for the title; not printed.
    let status: ExitStatus

    private enum CodingKeys: CodingKey { case url, size, bytes, type, complete, error }

    init(_ url: String, _ document: ResourceDocument?, failed error: VaultError? = nil) {
        self.url = url
        size = OrNull(document?.size.value)
        bytes = document?.bytes ?? 0
        type = OrNull(document?.type.value)
        complete = document?.isComplete ?? false
        self.error = OrNull(error.map { Problem(code: $0.code.description, message: $0.text) })
        status = error.map { ExitStatus($0.code) } ?? .done
    }
}

/// The result for one title, as `remove`, `pin` and `unpin --json` print it.
struct TitleRecord: Encodable, Sendable {
    /// The result of a success.
    struct Outcome: Sendable {
        /// The number of bytes freed; nil if the command frees none.
        var bytes: Int64?
        /// The result in words.
        let sentence: String
    }

    struct Problem: Codable, Sendable {
        let code: String
        let message: String
    }

    let url: String
    let bytes: Int64?
    let error: OrNull<Problem>
    /// The exit code for the title; not printed.
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
        self.error = OrNull(Problem(code: error.code.description, message: error.text))
        status = ExitStatus(error.code)
    }
}

/// A vault as `status --json` prints it: the status, and the address of the service.
struct StatusRecord: Encodable, Sendable {
    let status: StatusDocument
    let service: OrNull<ServiceRecord>

    init(_ status: StatusDocument, service: ServiceRecord?) {
        self.status = status
        self.service = OrNull(service)
    }

    private enum CodingKeys: CodingKey { case service }

    // The members of the status are encoded beside `service`.
    func encode(to encoder: any Encoder) throws {
        try status.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(service, forKey: .service)
    }
}

extension ResourceSummary {
    /// Returns whether every requested byte is held; false if the length is unknown.
    func holds(_ range: RequestedRange) -> Bool {
        guard let size, let wanted = range.resolved(length: size) else { return false }
        return ByteRanges(held).gaps(in: wanted).isEmpty
    }
}
