/// A feed or list that the vault follows, with the operator's choices of what to fetch and keep from it.
///
/// The value is a record, which the index stores sealed.
public struct MediaSubscription: Hashable, Sendable {
    /// The source of a subscription's entries.
    public enum Source: Hashable, Sendable {
        /// A feed at this URL, which may carry a token or credentials.
        case feed(String)
        /// A list that the operator supplies at each run, identified by its file's path.
        case list(String)
    }

    /// The choices of which titles in the feed or list are fetched and kept, and how.
    public struct Choices: Hashable, Sendable {
        /// The name to show; nil means the name that the feed states.
        public var name: String?
        /// The number of newest titles to fetch; nil means all titles.
        public var newest: Int64?
        /// Whether titles that the list no longer names are kept.
        public var keepsGone = false
        /// Whether the publisher's entry ids become the titles' content ids, so that a title's URL may change.
        public var usesContentIDs = false
        /// How long, in seconds, a service waits between two runs; nil if the subscription runs only by hand.
        public var interval: Int64?
        /// The selection of video, audio and subtitle renditions, as text; nil means the default selection.
        public var video: String?
        /// The selection of audio renditions, as text; nil means the default selection.
        public var audio: String?
        /// The selection of subtitle renditions, as text; nil means the default selection.
        public var subtitles: String?
        /// Whether content that is not media is fetched, too.
        public var takesAnyType = false

        /// Creates the default choices: all titles, the default renditions, and runs only by hand.
        public init() {}

        /// The allowed values of ``interval``, in seconds: five minutes to a year.
        public static let intervals: ClosedRange<Int64> = 300...31_536_000
        /// The allowed values of ``newest``.
        public static let counts: ClosedRange<Int64> = 1...10_000

        /// Checks the choices.
        ///
        /// - Throws: ``VaultError`` with code `invalidArgument` if the name is invalid, or a number is out of bounds.
        public func check() throws {
            if let name { try AccessGrant.check(name: name) }
            guard Self.counts.contains(newest ?? 1) else {
                throw VaultError(.invalidArgument, "newest must be between 1 and \(Self.counts.upperBound)")
            }
            guard Self.intervals.contains(interval ?? Self.intervals.lowerBound) else {
                throw VaultError(.invalidArgument, "the time between two runs must be between 5m and 365d")
            }
        }
    }

    /// Why the last run failed.
    public struct Failure: Hashable, Sendable {
        /// The name of the error's code, ``VaultError/Code``.
        public let code: String
        /// What happened, in a sentence for people.
        public let message: String

        /// Creates the record of a failure.
        public init(code: String, message: String) { (self.code, self.message) = (code, message) }
    }

    /// The subscription's id.
    public let id: SubscriptionID
    /// Where the entries come from.
    public let source: Source
    /// What to fetch and keep.
    public var choices: Choices
    /// When the subscription was added, in seconds since 1970.
    public let added: Int64
    /// The name that the feed states for itself; nil if it states none.
    public var statedName: String?
    /// The URL to which the feed has permanently moved and from which it is now requested; nil if it has not moved.
    public var movedTo: String?
    /// Whether the origin has reported that the feed is permanently gone, so that a service no longer requests it.
    public var isGone = false
    /// The titles that the list named when it was last read.
    public var wanted: Set<TitleID> = []
    /// The titles that the subscription added to the vault, and may remove again.
    public var brought: Set<TitleID> = []
    /// When the subscription last ran, in seconds since 1970; nil if it never ran.
    public var lastRun: Int64?
    /// When a service next runs the subscription, in seconds since 1970; nil means at once.
    public var nextRun: Int64?
    /// The number of failed runs since the last success.
    public var failures: Int64 = 0
    /// Why the last run failed; nil if it did not fail.
    public var failure: Failure?
    /// When the first run since the last success failed, in seconds since 1970; nil if the last run did not fail, or if
    /// an earlier version recorded the failure.
    public var failingSince: Int64?

    /// Creates a subscription that has not run yet.
    public init(_ id: SubscriptionID, _ source: Source, _ choices: Choices, added: Int64) {
        (self.id, self.source, self.choices, self.added) = (id, source, choices, added)
    }

    /// The maximum number of subscriptions in a vault.
    public static let maxCount = 200
    /// The maximum number of titles in ``wanted``, and the maximum number in ``brought``.
    public static let maxTitles = 20_000
    /// How long, in seconds, a subscription must have failed before the operator is told.
    public static let patience: Int64 = 86_400
    /// The maximum value of ``failures`` that is recorded.
    private static let maxFailures: Int64 = 1000

    /// Replaces title ids that changed when the vault's locator changed.
    ///
    /// - Parameter titles: the new id for each old one, for titles that are not stored; stored titles keep their ids.
    public mutating func rename(_ titles: [TitleID: TitleID]) {
        wanted = Set(wanted.map { titles[$0] ?? $0 })
        brought = Set(brought.map { titles[$0] ?? $0 })
        // For a title that is neither stored nor queued, only the list allows the new id to be computed.
        nextRun = nil
    }

    /// Records how a run ended.
    ///
    /// - Parameters:
    ///   - failure: why the run failed; nil if it did not.
    ///   - now: the time in seconds since 1970.
    public mutating func note(_ failure: Failure?, at now: Int64) {
        failingSince = failure == nil ? nil : self.failure == nil ? now : failingSince ?? now
        failures = failure == nil ? 0 : failures + 1
        self.failure = failure
    }

    /// Returns whether every run has failed for ``patience`` or longer.
    public func isFailing(at now: Int64) -> Bool { failingSince.map { now - $0 >= Self.patience } ?? false }

    /// The titles that the list named when it was last read, and those that the subscription added.
    package var titles: Set<TitleID> { wanted.union(brought) }

    /// The short id that people and programs use: eight hex digits.
    public var shortID: String { String(id.hex.prefix(8)) }

    /// The name to show: the operator's choice, or else the feed's own name, or else ``place``.
    public var shownName: String { choices.name ?? statedName ?? place }

    /// The feed's URL without credentials or its query, or the list's name.
    public var place: String { source.description }
}

extension MediaSubscription: CustomStringConvertible {
    /// The id and ``place``, without credentials or a query.
    public var description: String { "\(shortID), \(place)" }
}

extension MediaSubscription.Source: CustomStringConvertible {
    /// The feed's URL without credentials or its query, or the list's name.
    public var description: String {
        switch self {
        case .feed(let text): (try? MediaURL(text))?.description ?? "a feed"
        case .list(let name): name
        }
    }
}

/// Identifies a subscription: 16 random bytes.
public typealias SubscriptionID = Identifier<SubscriptionKind>

/// The kind of identifier that names subscriptions.
public enum SubscriptionKind: IdentifierKind {
    /// The number of bytes in a subscription's identifier.
    public static let byteCount = 16
}

// Conversion to and from the sealed record.
extension MediaSubscription {
    /// Creates a subscription from its record; nil if a member is missing or invalid.
    package init?(_ id: SubscriptionID, _ record: JSONObject) {
        do {
            let source: Source
            switch (try record.optionalString("url"), try record.optionalString("list")) {
            case (let url?, nil): source = .feed(url)
            case (nil, let name?): source = .list(name)
            default: return nil
            }
            var choices = Choices()
            choices.name = try record.optionalString("name")
            choices.newest = try record.optionalInteger("newest")
            choices.interval = try record.optionalInteger("interval")
            choices.video = try record.optionalString("video")
            choices.audio = try record.optionalString("audio")
            choices.subtitles = try record.optionalString("subtitles")
            choices.keepsGone = record["keepsGone"] == .bool(true)
            choices.usesContentIDs = record["contentIDs"] == .bool(true)
            choices.takesAnyType = record["anyType"] == .bool(true)
            try choices.check()
            self.init(id, source, choices, added: try record.integer("added"))
            statedName = try record.optionalString("statedName")
            movedTo = try record.optionalString("movedTo")
            isGone = record["gone"] == .bool(true)
            wanted = Set(try record.strings("wanted").compactMap { TitleID($0) })
            brought = Set(try record.strings("brought").compactMap { TitleID($0) })
            lastRun = try record.optionalInteger("lastRun")
            nextRun = try record.optionalInteger("nextRun")
            failures = min(try record.optionalInteger("failures") ?? 0, Self.maxFailures)
            failingSince = try record.optionalInteger("failingSince")
            if let failure = try record["failure"].map({ try JSONObject($0, name: "failure") }) {
                self.failure = Failure(code: try failure.string("code"), message: try failure.string("message"))
            }
        } catch {
            return nil
        }
        guard wanted.count <= Self.maxTitles, brought.count <= Self.maxTitles else { return nil }
    }

    /// The members of the subscription's record.
    package var record: JSONObject {
        var record = JSONObject([
            "added": .integer(added), "wanted": Self.list(wanted), "brought": Self.list(brought),
        ])
        switch source {
        case .feed(let url): record["url"] = .string(url)
        case .list(let name): record["list"] = .string(name)
        }
        let texts = [
            "name": choices.name, "statedName": statedName, "video": choices.video, "audio": choices.audio,
            "subtitles": choices.subtitles, "movedTo": movedTo,
        ]
        for (member, text) in texts { record[member] = text.map { .string($0) } }
        let numbers = [
            "newest": choices.newest, "interval": choices.interval, "lastRun": lastRun, "nextRun": nextRun,
            "failures": failures == 0 ? nil : min(failures, Self.maxFailures), "failingSince": failingSince,
        ]
        for (member, number) in numbers { record[member] = number.map { .integer($0) } }
        let facts = [
            ("keepsGone", choices.keepsGone), ("contentIDs", choices.usesContentIDs), ("anyType", choices.takesAnyType),
            ("gone", isGone),
        ]
        for (member, isTrue) in facts where isTrue { record[member] = .bool(true) }
        record["failure"] = failure.map { .object(["code": .string($0.code), "message": .string($0.message)]) }
        return record
    }

    private static func list(_ titles: Set<TitleID>) -> JSONValue {
        .array(titles.map(\.description).sorted().map { .string($0) })
    }
}
