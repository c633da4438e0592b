public import VaultModel

/// The options of ``Vault/readiness(_:)``.
public struct ReadinessOptions: Hashable, Sendable {
    /// The time until which titles must play without the network; nil or a past time means now.
    public var until: Timestamp?
    /// The maximum number of seconds since the last verification of the whole vault.
    public var verifiedWithin: Int64
    /// Whether to check all downloaded titles, not only pinned ones.
    public var hasDownloads: Bool

    /// Thirty days, in seconds.
    public static let standardAge: Int64 = 30 * 86_400

    /// Creates options: by default for the pinned titles, as of now, in a vault verified within ``standardAge``.
    public init(until: Timestamp? = nil, verifiedWithin: Int64 = standardAge, hasDownloads: Bool = false) {
        self.until = until
        self.verifiedWithin = verifiedWithin
        self.hasDownloads = hasDownloads
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` if an option is out of bounds.
    package func check() throws {
        guard (1...ContentInformation.maxBytes).contains(verifiedWithin) else {
            throw VaultError(.invalidArgument, "the age of a verification must be at least one second")
        }
    }
}

/// Why a title, or the vault as a whole, is not ready to play without the network.
public enum ReadinessCause: String, Hashable, CaseIterable, Codable, Sendable {
    /// No title was checked, because none is pinned or downloaded.
    case nothingChecked
    /// Bytes of the title are missing.
    case incomplete
    /// Bytes of the title were lost after they were stored, or its files are gone.
    case damaged
    /// The keys of this vault do not open all of the title.
    case unopened
    /// The operating system failed to read files of the title.
    case unreadable
    /// The title is in the download queue.
    case queued
    /// A size limit may evict the title.
    case evictable
    /// The whole vault was never verified, or too long ago.
    case unverified
    /// The last verification of the whole vault left damage.
    case damageLeft
    /// Less of the disk is free than the limits keep free.
    case diskFull
    /// A key operation is running, or was interrupted.
    case keyOperation
    /// Playback links or a token for players end before the requested time.
    case accessEnds
}

/// One thing that is missing, and what to do.
public struct ReadinessFinding: Hashable, Codable, Sendable {
    /// What is missing.
    public let cause: ReadinessCause
    /// One sentence without a full stop: what is missing, and what to do.
    public let message: String

    package init(_ cause: ReadinessCause, _ message: String) { (self.cause, self.message) = (cause, message) }
}

/// A title that is not ready.
public struct UnreadyTitle: Hashable, Codable, Sendable {
    /// The id of the title; nil if it has none, or if no key opens its rows.
    @OrNull public internal(set) var id: TitleID?
    /// The name of the title; nil if it has none.
    @OrNull public internal(set) var name: String?
    /// Its URL without the query; nil if no key opens its rows.
    @OrNull public internal(set) var url: String?
    /// What is missing, at least one thing.
    public let findings: [ReadinessFinding]

    init(id: TitleID?, name: String?, url: String?, findings: [ReadinessFinding]) {
        self.findings = findings
        (self.id, self.name, self.url) = (id, name, url)
    }
}

/// Whether titles will play without the network, and what is missing if not. It contains no secret.
public struct ReadinessReport: Hashable, Codable, Sendable {
    /// Whether nothing is missing.
    public let isReady: Bool
    /// When the check was made.
    public let checked: Timestamp
    /// The time until which titles must play; nil for ``checked``.
    @OrNull public internal(set) var until: Timestamp?
    /// The number of titles that were checked.
    public let titles: Int
    /// The number of bytes held of them.
    public let bytes: Int64
    /// What is missing in the vault as a whole.
    public let findings: [ReadinessFinding]
    /// The titles that are not ready, at most ``maxNamed``.
    public let unready: [UnreadyTitle]
    /// The number of titles that are not ready.
    public let unreadyTitles: Int

    private enum CodingKeys: String, CodingKey {
        case checked, until, titles, bytes, findings, unready, unreadyTitles
        case isReady = "ready"
    }

    /// The maximum number of titles that a report lists.
    public static let maxNamed = 1000
}
