public import VaultModel

/// The options of ``VaultChecks/readiness(_:)``.
public struct ReadinessOptions: Hashable, Sendable {
    /// The time until which titles must play without the network; nil or a past time means now.
    public var until: Timestamp?
    /// The maximum age, in seconds, of the last verification of the whole vault.
    public var verifiedWithin: Int64
    /// Whether to check all downloaded titles, not only the pinned ones.
    public var hasDownloads: Bool
    /// The titles to check, whether or not they are pinned or downloaded; nil to check all that are.
    public var titles: Set<TitleID>?

    /// The default for ``verifiedWithin``: thirty days, in seconds.
    public static let standardAge: Int64 = 30 * 86_400

    /// Creates options. By default they cover the pinned titles, as of now, in a vault verified within ``standardAge``.
    public init(
        until: Timestamp? = nil, verifiedWithin: Int64 = standardAge, hasDownloads: Bool = false,
        titles: Set<TitleID>? = nil
    ) {
        self.titles = titles
        self.until = until
        self.verifiedWithin = verifiedWithin
        self.hasDownloads = hasDownloads
    }

    /// Checks that the options are within bounds.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if an option is out of bounds.
    public func check() throws {
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
    /// The whole vault was never verified, or not recently enough.
    case unverified
    /// The last verification of the whole vault left damage unrepaired.
    case damageLeft
    /// The disk has less free space than the limits require.
    case diskFull
    /// A key operation is running or was interrupted.
    case keyOperation
    /// Playback links or a token for players expire before the requested time.
    case accessEnds
}

/// One reason why a title or the vault is not ready, and its remedy.
public struct ReadinessFinding: Hashable, Codable, Sendable {
    /// The kind of reason.
    public let cause: ReadinessCause
    /// One sentence, without a full stop, that says what is wrong and what to do.
    public let message: String

    /// Creates a problem.
    public init(_ cause: ReadinessCause, _ message: String) { (self.cause, self.message) = (cause, message) }
}

/// A title that is not ready.
public struct UnreadyTitle: Hashable, Codable, Sendable {
    /// The title's id; nil if it has none, or if no key opens its rows.
    @OrNull public internal(set) var id: TitleID?
    /// The title's name; nil if it has none.
    @OrNull public internal(set) var name: String?
    /// The title's URL without its query; nil if no key opens its rows.
    @OrNull public internal(set) var url: String?
    /// The reasons why the title is not ready; at least one.
    public let findings: [ReadinessFinding]

    init(id: TitleID?, name: String?, url: String?, findings: [ReadinessFinding]) {
        self.findings = findings
        (self.id, self.name, self.url) = (id, name, url)
    }
}

/// Whether titles will play without the network, and if not, why. A report contains no secrets.
public struct ReadinessReport: Hashable, Codable, Sendable {
    /// Whether all checked titles and the vault as a whole are ready.
    public let isReady: Bool
    /// When the check was made.
    public let checked: Timestamp
    /// The time until which titles must play; nil stands for ``checked``.
    @OrNull public internal(set) var until: Timestamp?
    /// The number of titles that were checked.
    public let titles: Int
    /// The number of bytes of the checked titles that are held.
    public let bytes: Int64
    /// The reasons why the vault as a whole is not ready.
    public let findings: [ReadinessFinding]
    /// The titles that are not ready; at most ``maxNamed`` are listed.
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
