package import MediaVault
import VaultModel

/// A viewer as `GET /api/v1/viewers` and `viewers list --json` report it, without the PIN.
package struct ViewerDocument: Codable, Hashable, Sendable {
    package let id: String
    package let name: String
    package let created: Timestamp
    /// Whether the viewer has a PIN; without one, only a ticket from the owner lets them in.
    package let hasPIN: Bool
    /// Whether every title is shared with the viewer.
    package let sharesAll: Bool
    /// The number of titles that are shared with the viewer individually.
    package let titles: Int
    /// The number of collections that are shared with the viewer.
    package let collections: Int
    /// The languages in which the viewer wants to hear and read titles; none means those of the vault.
    package let languages: [String]
    /// The places from which sign-ins with the viewer's name failed, latest first.
    package let failures: [FailedSignInsDocument]

    init(_ viewer: Viewer, titles: Int) {
        (id, name, hasPIN, sharesAll) = (viewer.id.hex, viewer.name, viewer.hasPIN, viewer.sharesAll)
        created = Timestamp(seconds: viewer.created)
        (self.titles, collections) = (titles, viewer.collectionCount)
        languages = viewer.languages
        failures = viewer.failedSignIns.map { FailedSignInsDocument($0) }
    }
}

/// Failed sign-ins with a viewer's name from one place.
package struct FailedSignInsDocument: Codable, Hashable, Sendable {
    /// The IPv4 address, or the IPv6 network, of the last failure; null for the service's own machine.
    @OrNull package var address: String?
    /// Whether the place is a browser in which the viewer has signed in before.
    package let knownDevice: Bool
    /// The number of sign-ins that have failed since the last success from that place.
    package let count: Int
    package let last: Timestamp
    /// When the service accepts the next attempt; null if it accepts one now.
    @OrNull package var until: Timestamp?

    init(_ failed: FailedSignIns) {
        (knownDevice, count, last) = (failed.isKnownDevice, failed.count, Timestamp(seconds: failed.last))
        address = failed.address.isEmpty ? nil : Self.text(failed.address)
        until = failed.until.map { Timestamp(seconds: $0) }
    }

    /// Returns the usual text of an IPv4 address or a 64-bit IPv6 network.
    static func text(_ address: [UInt8]) -> String {
        guard address.count == 8 else { return address.map { String($0) }.joined(separator: ".") }
        let groups = stride(from: 0, to: 8, by: 2).map { index in
            String(UInt16(address[index]) << 8 | UInt16(address[index + 1]), radix: 16)
        }
        return groups.joined(separator: ":") + "::/64"
    }
}

/// The viewers of a vault.
package struct ViewersDocument: Codable, Sendable {
    package let viewers: [ViewerDocument]
    /// The number of unreadable records of viewers, shares and positions. Such a record grants no access.
    package let damaged: Int
}

/// The body of `POST /api/v1/viewers`.
package struct ViewerOrder: Codable, Sendable {
    let name: String
    /// The viewer's PIN; nil if only a ticket from the owner lets the viewer in.
    let pin: PIN?
    /// Whether every title is shared with the viewer; false if omitted.
    let sharesAll: Bool?

    package init(name: String, pin: PIN?, sharesAll: Bool) {
        (self.name, self.pin, self.sharesAll) = (name, pin, sharesAll)
    }
}

/// The body of `PATCH /api/v1/viewers`; omitted members stay unchanged.
package struct ViewerChange: Codable, Sendable {
    let id: String
    let name: String?
    let pin: PIN?
    /// False to remove the PIN.
    let hasPIN: Bool?
    let sharesAll: Bool?
    /// The languages in which the viewer wants to hear and read titles; empty for those of the vault.
    let languages: [String]?
    /// True to forget the failed sign-ins with the viewer's name.
    let unlock: Bool?

    package init(
        id: String, name: String? = nil, pin: PIN? = nil, hasPIN: Bool? = nil, sharesAll: Bool? = nil,
        languages: [String]? = nil, unlock: Bool? = nil
    ) {
        (self.id, self.name, self.pin, self.hasPIN, self.sharesAll) = (id, name, pin, hasPIN, sharesAll)
        (self.languages, self.unlock) = (languages, unlock)
    }
}

/// The viewers with whom a title is shared.
package struct ShareDocument: Codable, Hashable, Sendable {
    /// The id of the title.
    package let id: TitleID
    /// The ids of the viewers with whom the title is shared individually.
    package let viewers: [String]
}

/// The titles shared individually, as `GET /api/v1/shares` reports them.
package struct SharesDocument: Codable, Sendable {
    package let shares: [ShareDocument]
}

/// The body of `POST /api/v1/shares`, which names titles, or a collection with all titles that it will have.
package struct ShareOrder: Codable, Sendable {
    let resources: [TitleID]?
    /// The id of a collection.
    let collection: String?
    /// The id of a viewer; null for all viewers.
    @OrNull var viewer: String?
    let shared: Bool

    /// The maximum number of titles per request.
    package static let maxCount = 10_000

    /// Returns the titles that a request names.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if there are none, or more than ``maxCount``.
    static func checked(_ titles: [TitleID]) throws -> [TitleID] {
        guard (1...maxCount).contains(titles.count) else {
            throw VaultError(.invalidArgument, "resources must name 1 to \(maxCount) titles")
        }
        return titles
    }

    package init(_ resources: [TitleID], viewer: String?, shared: Bool) {
        (self.resources, collection, self.shared) = (resources, nil, shared)
        self.viewer = viewer
    }

    package init(collection: String, viewer: String?, shared: Bool) {
        (resources, self.collection, self.shared) = (nil, collection, shared)
        self.viewer = viewer
    }
}

/// The result of sharing titles.
package struct SharedDocument: Codable, Hashable, Sendable {
    /// The number of titles that are now shared with different viewers than before, or of the viewers with whom a
    /// collection is now shared or no longer shared.
    package let changed: Int
}

/// The position up to which a title was played.
struct PositionDocument: Codable, Hashable, Sendable {
    /// The id of the title.
    let id: TitleID
    /// The position from which playback continues, in seconds.
    let seconds: Double
    /// The playing time that the player reported, in seconds.
    @OrNull var duration: Double?
    let changed: Timestamp

    init(_ position: PlaybackPosition) {
        id = position.title
        seconds = Double(position.position) / 1000
        duration = position.duration.map { Double($0) / 1000 }
        changed = Timestamp(seconds: position.changed)
    }
}

/// The positions up to which the requesting person has played titles, latest first.
struct PositionsDocument: Codable, Sendable {
    let positions: [PositionDocument]
}

/// The body of `PUT /api/v1/resources/{id}/position`.
struct PositionOrder: Codable, Sendable {
    private let seconds: Double
    private let duration: Double?

    /// The position in milliseconds.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the value is out of bounds.
    var position: Int64 { get throws { try Self.milliseconds(seconds) } }

    /// The duration in milliseconds; nil if the player does not know it.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the value is out of bounds.
    var length: Int64? { get throws { try duration.map(Self.milliseconds) } }

    /// The maximum position or duration in seconds: ten thousand hours.
    private static let maxSeconds = 36_000_000.0

    private static func milliseconds(_ seconds: Double) throws -> Int64 {
        guard (0...maxSeconds).contains(seconds) else {
            throw VaultError(
                .invalidArgument, "seconds and duration must be between 0 and \(Int(maxSeconds))")
        }
        return Int64(seconds * 1000)
    }
}

/// A title in the form in which a viewer sees it, without any hint of where it came from.
struct ViewedTitleDocument: Codable, Sendable {
    let id: TitleID
    @OrNull var name: String?
    /// A name made from the file's name; null if the title has a name, or if the file's says nothing to people.
    @OrNull var fallbackName: String?
    /// What the media or the file's name state about the album or series; null if neither states anything.
    @OrNull var tags: TitleTags?
    /// The kind of the title's manifest; null for a title that is a single file.
    @OrNull var kind: ManifestKind?
    @OrNull var type: String?
    /// The playing time in milliseconds.
    @OrNull var duration: Int64?
    @OrNull var size: Int64?
    /// The number of bytes that the vault holds.
    let bytes: Int64
    /// The ranges that the vault holds; nil in lists, which would otherwise grow too long.
    @OrNull var held: [ByteRange]?
    /// Whether the vault holds the whole title.
    let complete: Bool
    let added: Timestamp
    /// A value that changes whenever the cover changes; null if no cover is known.
    @OrNull var cover: String?
    /// The languages of the subtitles that were added to the title.
    let subtitles: [String]

    /// Returns nil for a part of a title, which has no id.
    ///
    /// - Parameter hasRanges: whether to include the held ranges.
    init?(_ title: ResourceSummary, hasRanges: Bool = false) {
        self.init(SelectableTitle(title))
        if hasRanges { held = title.held }
    }

    /// Returns nil for a part of a title, which has no id.
    init?(_ title: SelectableTitle) {
        let document = title.document
        guard let id = document.id else { return nil }
        self.id = id
        (name, kind, duration) = (document.name, title.kind, document.duration)
        (fallbackName, tags) = (document.fallbackName, document.tags)
        type = document.type.flatMap { MediaType.one($0) }
        (size, bytes, complete, added) = (document.size, document.bytes, document.complete, document.added)
        (cover, subtitles, held) = (document.cover, title.subtitles, nil)
    }
}

/// One page of the titles that are shared with a viewer.
struct ViewedPageDocument: Codable, Sendable {
    let resources: [ViewedTitleDocument]
    /// The value of `after` for the next page; `null` on the last page.
    @OrNull var next: String?
}

/// The content of the event `resource` for a viewer: the current state of a title that has changed.
struct ViewedChangeDocument: Codable, Sendable {
    let id: TitleID
    let resource: ViewedTitleDocument
}
