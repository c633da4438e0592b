/// A feed or list that the vault follows, and what to keep of it.
///
/// It is a record: the index stores it sealed.
package struct Subscription: Hashable, Sendable {
    /// Where the list comes from.
    package enum Source: Hashable, Sendable {
        /// A feed at this URL, which may carry a token or credentials.
        case feed(String)
        /// A list that the operator supplies at each run, named by the path of its file.
        case list(String)
    }

    /// Which titles of the feed or list are fetched and kept, and how.
    package struct Choices: Hashable, Sendable {
        /// The name to show; nil for that of the feed.
        package var name: String?
        /// How many of the newest titles to fetch; nil for all.
        package var newest: Int64?
        /// Whether to keep titles that the list no longer names.
        package var keepsGone = false
        /// Whether the publisher's entry ids become the titles' content ids, so that their URLs may change.
        package var usesContentIDs = false
        /// The seconds between two runs by a service; nil if it runs only by hand.
        package var interval: Int64?
        /// The selection of renditions as text; nil for the usual one.
        package var video: String?
        package var audio: String?
        package var subtitles: String?
        /// Whether to fetch content that is not media, too.
        package var takesAnyType = false

        /// Creates the usual choices: all titles, the usual renditions, and runs only by hand.
        package init() {}

        /// The allowed seconds between two runs: five minutes to a year.
        package static let intervals: ClosedRange<Int64> = 300...31_536_000
        /// The allowed values of ``newest``.
        package static let counts: ClosedRange<Int64> = 1...10_000

        /// Checks the choices.
        ///
        /// - Throws: ``VaultError`` with code `invalidArgument`.
        package func check() throws {
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
    package struct Failure: Hashable, Sendable {
        package let code: String
        package let message: String

        package init(code: String, message: String) { (self.code, self.message) = (code, message) }
    }

    package let id: SubscriptionID
    package let source: Source
    package var choices: Choices
    /// When the subscription was added, in seconds since 1970.
    package let added: Int64
    /// The name that the feed states; nil if it states none.
    package var statedName: String?
    /// The URL that the feed has permanently moved to, which is requested instead; nil if it has not moved.
    package var movedTo: String?
    /// Whether the origin reports that the feed is gone for good, so that a service no longer requests it.
    package var isGone = false
    /// The titles that the list named when it was last read.
    package var wanted: Set<TitleID> = []
    /// The titles that the subscription brought into the vault, and may remove.
    package var brought: Set<TitleID> = []
    /// When it last ran, in seconds since 1970; nil if it never did.
    package var lastRun: Int64?
    /// When a service runs it next, in seconds since 1970; nil for at once.
    package var nextRun: Int64?
    /// The number of failed runs since the last success.
    package var failures: Int64 = 0
    /// Why the last run failed; nil if it did not.
    package var failure: Failure?

    package init(_ id: SubscriptionID, _ source: Source, _ choices: Choices, added: Int64) {
        (self.id, self.source, self.choices, self.added) = (id, source, choices, added)
    }

    /// Maximum subscriptions per vault.
    package static let maxCount = 200
    /// Maximum titles that a subscription names, and maximum that it has brought.
    package static let maxTitles = 20_000
    /// The highest number of failures that is recorded.
    private static let maxFailures: Int64 = 1000

    /// Replaces title ids that have changed with the locator.
    ///
    /// - Parameter titles: the new ids by the old ones, of titles that are not stored; stored titles keep their ids.
    package mutating func rename(_ titles: [TitleID: TitleID]) {
        wanted = Set(wanted.map { titles[$0] ?? $0 })
        brought = Set(brought.map { titles[$0] ?? $0 })
        // The new id of a title that is neither stored nor queued can be computed only from the list.
        nextRun = nil
    }

    /// The id that people and programs use: eight hex digits.
    package var shortID: String { String(id.hex.prefix(8)) }

    /// The name to show: the one given, else that of the feed, else ``place``.
    package var shownName: String { choices.name ?? statedName ?? place }

    /// The feed's URL without credentials and query, or the list's name.
    package var place: String {
        switch source {
        case .feed(let text): (try? MediaURL(text))?.description ?? ""
        case .list(let name): name
        }
    }
}

/// The name of a subscription: 16 random bytes.
package typealias SubscriptionID = Identifier<SubscriptionKind>

/// Subscriptions: 16 bytes.
package enum SubscriptionKind: IdentifierKind {
    /// Sixteen.
    package static let byteCount = 16
}

// The sealed record.
extension Subscription {
    /// Reads a record; nil if a member is missing or impossible.
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
            if let failure = try record["failure"].map({ try JSONObject($0, name: "failure") }) {
                self.failure = Failure(code: try failure.string("code"), message: try failure.string("message"))
            }
        } catch {
            return nil
        }
        guard wanted.count <= Self.maxTitles, brought.count <= Self.maxTitles else { return nil }
    }

    /// The members of its record.
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
            "failures": failures == 0 ? nil : min(failures, Self.maxFailures),
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
