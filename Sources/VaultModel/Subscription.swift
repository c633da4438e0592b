/// A list of titles that the vault follows: a feed by its URL, or a list by its name, and what of it is kept.
///
/// It is a record, which the index seals.
package struct Subscription: Hashable, Sendable {
    /// Where the list comes from.
    package enum Source: Hashable, Sendable {
        /// A feed at this URL, which may carry a token or credentials.
        case feed(String)
        /// A list that the operator gives at each run, under this name: the path of its file.
        case list(String)
    }

    /// What of its titles is fetched and kept.
    package struct Choices: Hashable, Sendable {
        /// The name for people; nil for that of the feed.
        package var name: String?
        /// How many of the newest titles are wanted; nil for all.
        package var newest: Int64?
        /// Whether titles that the list no longer names stay.
        package var keepsGone = false
        /// Whether the publisher's names for entries are the titles' content ids, so that their URLs may change.
        package var usesContentIDs = false
        /// The seconds between two runs by a service; nil if it runs by hand only.
        package var interval: Int64?
        /// The selection of renditions as text; nil for the usual one.
        package var video: String?
        package var audio: String?
        package var subtitles: String?
        /// Whether what is no media is fetched, too.
        package var takesAnyType = false

        /// All titles, with the usual renditions, by hand only.
        package init() {}

        /// The seconds that may be between two runs: five minutes to a year.
        package static let intervals: ClosedRange<Int64> = 300...31_536_000
        /// How many titles may be wanted.
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
    /// When it was added, in seconds since 1970.
    package let added: Int64
    /// The name that the feed states; nil if it states none.
    package var statedName: String?
    /// Where the feed went for good, and is asked since; nil if it is where the operator said.
    package var movedTo: String?
    /// Whether its origin says that it is gone for good, so that no service asks again.
    package var isGone = false
    /// The titles that the list named in the last run that read it.
    package var wanted: Set<TitleID> = []
    /// The titles that came into the vault with it, and are its to remove.
    package var brought: Set<TitleID> = []
    /// When it last ran, in seconds since 1970; nil if it never did.
    package var lastRun: Int64?
    /// When a service runs it next, in seconds since 1970; nil for now.
    package var nextRun: Int64?
    /// How often it failed since it last succeeded.
    package var failures: Int64 = 0
    /// Why the last run failed; nil if it did not.
    package var failure: Failure?

    package init(_ id: SubscriptionID, _ source: Source, _ choices: Choices, added: Int64) {
        (self.id, self.source, self.choices, self.added) = (id, source, choices, added)
    }

    /// The most subscriptions of a vault.
    package static let maxCount = 200
    /// The most titles that one has brought, or names.
    package static let maxTitles = 20_000
    /// The most failures that are counted.
    private static let maxFailures: Int64 = 1000

    /// Takes over the ids that titles have under another locator.
    ///
    /// - Parameter titles: those of titles that are not stored; stored ones keep theirs.
    package mutating func rename(_ titles: [TitleID: TitleID]) {
        wanted = Set(wanted.map { titles[$0] ?? $0 })
        brought = Set(brought.map { titles[$0] ?? $0 })
        // A title that is neither stored nor queued has an id that only its list can tell.
        nextRun = nil
    }

    /// The id by which people and programs name it: eight hex digits.
    package var shortID: String { String(id.hex.prefix(8)) }

    /// The name for people: the one given, else that of the feed, else where it comes from, without secrets.
    package var shownName: String { choices.name ?? statedName ?? place }

    /// Where it comes from, without credentials and query.
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

// The record as it is sealed.
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
