/// What a token allows. Each scope includes the scopes before it.
public enum AccessScope: String, CaseIterable, Codable, Comparable, Sendable {
    /// Reading the metrics, for a scraper.
    case metrics
    /// Listing and reporting, for a dashboard: no media, no keys and no changes.
    case read
    /// Creating playback links, and reading the media that the vault has, for a player.
    case play
    /// Everything that the service can do.
    case admin

    /// Returns whether `other` includes `one` and allows more.
    public static func < (one: AccessScope, other: AccessScope) -> Bool { one.rank < other.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// A token, a set of named playback links, or a browser session, which a vault issues and can revoke individually.
///
/// A grant is a record and not a secret: the token, the links or the session cannot be derived from it.
public struct AccessGrant: Hashable, Sendable {
    /// What was issued.
    public enum Kind: Hashable, Sendable {
        /// A token.
        case token(AccessScope)
        /// Playback links to one or more resources.
        case links(LinkedResources)
        /// A browser session that is signed in as this viewer, or as the vault's owner if nil.
        case session(ViewerID?)

        /// The family that the kind belongs to.
        public var family: Family {
            switch self {
            case .token: .tokens
            case .links: .links
            case .session: .sessions
            }
        }
    }

    /// A group of grants that are listed and revoked together. Names are unique within a family, except for sessions.
    public enum Family: String, CaseIterable, Sendable {
        case tokens, links, sessions

        /// The word for one of the family's grants, as messages use it.
        package var noun: String {
            switch self {
            case .tokens: "token"
            case .links: "named link"
            case .sessions: "session"
            }
        }
    }

    /// The resources that named links lead to.
    public struct LinkedResources: Hashable, Sendable {
        /// The first resource's URL, without credentials.
        public let url: String
        /// The number of resources.
        public let count: Int
        /// The linked titles: at most the first thousand, and none for links that an earlier version created.
        package let titles: [TitleID]

        package static let maxTitles = 1000

        package init(url: String, count: Int, titles: [TitleID] = []) {
            (self.url, self.count, self.titles) = (url, count, Array(titles.prefix(Self.maxTitles)))
        }

        /// Returns whether one of the links leads to a title, that is, whether the record has the title's id or URL.
        ///
        /// - Parameter title: nil if only the title's URL is known.
        package func lead(to title: TitleID?, at url: String) -> Bool {
            self.url == url || title.map(titles.contains) ?? false
        }

        /// Whether the record omits titles that the links lead to: all but the first if an earlier version created the
        /// links, and any beyond the first thousand.
        package var leaveOutTitles: Bool { count > max(titles.count, 1) }
    }

    package let id: GrantID
    /// What was issued.
    public let kind: Kind
    /// The name that the operator chose, which links always have; a session's name is its browser's until the operator
    /// chooses another.
    public package(set) var name: String?
    /// When the grant was created, in seconds since 1970.
    public let created: Int64
    /// When the grant expires, in seconds since 1970; nil if it never expires.
    public let expires: Int64?
    /// The start of the period (in UTC) in which the grant was last used, in seconds since 1970; nil if never used.
    ///
    /// A period is a day, or five minutes for a session.
    public package(set) var lastUsed: Int64?
    /// The token whose ticket began this session; the session ends with the token. Nil if no token began it.
    package let token: GrantID?
    /// Identifies the token key and the epoch with which the grant was issued; under any others, the grant is void.
    package let era: [UInt8]

    /// The length of a day in seconds.
    package static let day: Int64 = 86_400
    /// The maximum life of an owner's session, and its maximum idle time, in seconds. Both are short, because the owner
    /// can do everything.
    package static let (maxSession, maxIdleSession): (Int64, Int64) = (7 * day, day / 2)
    /// The same limits for a viewer's session. They are longer, because a viewer watches on their own device.
    package static let (maxViewing, maxIdleViewing): (Int64, Int64) = (90 * day, 14 * day)
    /// The maximum number of grants in a vault.
    package static let maxCount = 10_000
    /// The maximum length of a name in Unicode scalars; an accent may be a scalar of its own.
    package static let maxNameLength = 100
    /// Characters that change a name's text direction, or are invisible in it.
    private static let hidden: [ClosedRange<UInt32>] = [
        0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200B, 0x200E...0x200F, 0x2028...0x202E,
        0x2060...0x206F, 0xFEFF...0xFEFF,
    ]
    /// The number of characters in ``shortID``.
    package static let shortIDLength = 8

    package init(
        id: GrantID, kind: Kind, name: String?, created: Int64, expires: Int64?, lastUsed: Int64? = nil,
        token: GrantID? = nil, era: [UInt8]
    ) {
        (self.id, self.kind, self.name) = (id, kind, name)
        (self.created, self.expires, self.lastUsed) = (created, expires, lastUsed)
        (self.token, self.era) = (token, era)
    }

    /// The short id that people and programs use: eight hex digits, unique within the vault.
    public var shortID: String { String(id.hex.prefix(Self.shortIDLength)) }

    /// The minimum time, in seconds, between two recorded uses.
    package var usePeriod: Int64 { kind.family == .sessions ? 300 : Self.day }

    /// Returns whether the grant has not expired; a session also expires when it has been idle for too long.
    ///
    /// - Parameter now: seconds since 1970.
    package func isCurrent(at now: Int64) -> Bool {
        guard expires ?? .max > now else { return false }
        guard case .session(let viewer) = kind else { return true }
        let idle = viewer == nil ? Self.maxIdleSession : Self.maxIdleViewing
        return max(created, lastUsed ?? 0) + usePeriod + idle > now
    }

    /// Checks that a name has no invisible part, because two names that look the same would hide which one is revoked.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the name is empty, is longer than ``maxNameLength``
    ///   characters, begins or ends with white space, or contains control characters or invisible characters.
    package static func check(name: String) throws {
        let scalars = name.unicodeScalars
        guard (1...maxNameLength).contains(scalars.count), scalars.allSatisfy(isVisible),
            ![scalars.first, scalars.last].contains(where: { $0.map(isBlank) ?? true })
        else {
            throw VaultError(
                .invalidArgument,
                "a name must be one line of 1 to \(maxNameLength) characters, without blanks at its ends, and without "
                    + "characters that control or cannot be seen")
        }
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory != .control && !hidden.contains { $0.contains(scalar.value) }
    }

    /// Returns whether a character must not begin or end a name: white space, or a joiner, which has nothing to join
    /// there.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || (0x200C...0x200D).contains(scalar.value)
    }
}

/// Identifies a grant: 16 random bytes, never reused.
public typealias GrantID = Identifier<GrantKind>

/// The kind of identifier that names grants.
public enum GrantKind: IdentifierKind {
    /// The number of bytes in a grant's identifier.
    public static let byteCount = 16
}

// Conversion to and from the sealed record.
extension AccessGrant {
    /// Creates a grant from its record; nil if this version does not understand the record.
    package init?(id: GrantID, _ record: JSONObject) {
        do {
            let kind: Kind
            let token = try record.optionalString("token")
            guard token == nil || GrantID(hex: token ?? "") != nil else { return nil }
            switch try record.string("kind") {
            case "token":
                guard let scope = AccessScope(rawValue: try record.string("scope")) else { return nil }
                kind = .token(scope)
            case "links":
                guard let count = Int(exactly: try record.integer("count")) else { return nil }
                let texts = record["titles"] == nil ? [] : try record.strings("titles")
                let titles = texts.compactMap { TitleID($0) }
                guard titles.count == texts.count, texts.count <= LinkedResources.maxTitles else { return nil }
                kind = .links(LinkedResources(url: try record.string("url"), count: count, titles: titles))
            case "session":
                let viewer = try record.optionalString("viewer")
                guard viewer == nil || ViewerID(hex: viewer ?? "") != nil else { return nil }
                kind = .session(viewer.flatMap { ViewerID(hex: $0) })
            default: return nil
            }
            self.init(
                id: id, kind: kind, name: try record.optionalString("name"), created: try record.integer("created"),
                expires: try record.optionalInteger("expires"), lastUsed: try record.optionalInteger("used"),
                token: token.flatMap { GrantID(hex: $0) }, era: try record.base64("era"))
        } catch {
            return nil
        }
    }

    /// The members of the grant's record.
    package var record: JSONObject {
        var record = JSONObject(["created": .integer(created), "era": .string(Base64.encode(era))])
        switch kind {
        case .token(let scope):
            record["kind"] = .string("token")
            record["scope"] = .string(scope.rawValue)
        case .links(let resources):
            record["kind"] = .string("links")
            record["url"] = .string(resources.url)
            record["count"] = .integer(Int64(resources.count))
            if !resources.titles.isEmpty {
                record["titles"] = .array(resources.titles.map { .string($0.description) })
            }
        case .session(let viewer):
            record["kind"] = .string("session")
            record["viewer"] = viewer.map { .string($0.hex) }
        }
        record["name"] = name.map { .string($0) }
        record["expires"] = expires.map { .integer($0) }
        record["used"] = lastUsed.map { .integer($0) }
        record["token"] = token.map { .string($0.hex) }
        return record
    }
}
