import MediaVault
import VaultService

/// A title as `fetch --json` prints it.
struct FetchedRecord: Encodable, Sendable {
    struct Problem: Codable, Sendable {
        let code: String
        let message: String
    }

    /// The title's id; null if the vault has no resource with the URL.
    @OrNull var id: TitleID?
    /// The URL as given, or the URL of the title whose id was given; null if the vault has no title with the id.
    @OrNull var url: String?
    @OrNull var size: Int64?
    let bytes: Int64
    @OrNull var type: String?
    let complete: Bool
    @OrNull var error: Problem?
    /// The exit code for the title, which is not printed.
    let status: ExitStatus
    /// The sentence that reported the failure, which is not printed.
    let failure: String?

    private enum CodingKeys: CodingKey { case id, url, size, bytes, type, complete, error }

    /// Creates the record of a title that was fetched completely.
    ///
    /// - Parameter text: the title's URL or id.
    init(_ text: String, _ progress: DownloadProgress) {
        let given = TitleID(text)
        id = given
        url = given == nil ? text : nil
        size = progress.total
        bytes = progress.held
        type = progress.type
        complete = true
        error = nil
        status = .done
        failure = nil
    }

    /// Creates the record of a title from a summary of what the vault holds of it.
    ///
    /// - Parameter text: the title's URL or id.
    init(_ text: String, _ summary: ResourceSummary?, failed error: VaultError? = nil, _ sentence: String? = nil) {
        let given = TitleID(text)
        failure = sentence
        id = summary?.id ?? given
        url = given == nil ? text : summary?.url
        size = summary?.wholeSize
        bytes = summary?.wholeBytes ?? 0
        type = summary?.type
        complete = summary?.isWhole ?? false
        self.error = error.map { Problem(code: $0.code.description, message: $0.text) }
        status = error.map { ExitStatus($0.code) } ?? .done
    }
}

/// The result for one title, as `remove`, `pin`, `unpin` and `mode --json` print it.
struct TitleRecord: Encodable, Sendable {
    /// The result if the command succeeded.
    struct Outcome: Sendable {
        /// The number of bytes freed; nil for commands that free none.
        var bytes: Int64?
        /// The result in words.
        let sentence: String
    }

    struct Problem: Codable, Sendable {
        let code: String
        let message: String
    }

    /// The title's id; null if the vault has no resource with the URL.
    @OrNull var id: TitleID?
    /// The title's URL; null if the vault has no title with the id.
    @OrNull var url: String?
    let bytes: Int64?
    @OrNull var error: Problem?
    /// The exit code for the title, which is not printed.
    let status: ExitStatus

    private enum CodingKeys: CodingKey { case id, url, bytes, error }

    init(id: TitleID?, _ url: String, _ outcome: Outcome) {
        self.id = id
        self.url = url
        bytes = outcome.bytes
        error = nil
        status = .done
    }

    init(id: TitleID?, _ url: String?, failed error: VaultError) {
        self.id = id
        self.url = url
        bytes = nil
        self.error = Problem(code: error.code.description, message: error.text)
        status = ExitStatus(error.code)
    }
}

/// The output of `init --json`, which states the parts of the vault and which of them the command created.
struct InitRecord: Encodable, Sendable {
    let vault: String
    let isVaultCreated: Bool
    let keyring: String
    let isKeyringCreated: Bool
    /// The path of the key file; null if the keyring has none.
    @OrNull var keyFile: String?
    let isKeyFileCreated: Bool
    /// Whether the secret that unlocks the keyring is on the vault's own disk.
    let restsWithVault: Bool

    private enum CodingKeys: String, CodingKey {
        case vault, keyring, keyFile, restsWithVault
        case isVaultCreated = "vaultCreated"
        case isKeyringCreated = "keyringCreated"
        case isKeyFileCreated = "keyFileCreated"
    }
}

/// The output of `export --json`.
struct ExportRecord: Encodable, Sendable {
    let url: String
    /// The path of the file or folder that was written.
    let file: String
}

/// A playback link as `url --json` prints it.
struct LinkRecord: Encodable, Sendable {
    let url: String
    let link: String
    /// When the link expires; null if it never does.
    @OrNull var expires: Timestamp?
    /// The name under which the vault records the link; null if it has none.
    @OrNull var name: String?
}

/// The output of `status --json`, which is the vault's status and the service's address.
struct StatusRecord: Encodable, Sendable {
    /// The vault's status; nil if the service is locked, because it cannot read the vault without a key.
    let status: StatusDocument?
    let service: ServiceRecord?

    init(_ status: StatusDocument?, service: ServiceRecord?) {
        self.status = status
        self.service = service
    }

    private enum CodingKeys: CodingKey { case locked, service }

    // The status's members are at the same level as the record's own members.
    func encode(to encoder: any Encoder) throws {
        try status?.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(status == nil, forKey: .locked)
        try members.encode(service, forKey: .service)
    }
}

extension ResourceSummary {
    /// Returns whether all bytes of a range are held; false if the length is unknown.
    func holds(_ range: RequestedRange) -> Bool {
        guard let size, let wanted = range.resolved(length: size) else { return false }
        return ByteRanges(held).gaps(in: wanted).isEmpty
    }
}
