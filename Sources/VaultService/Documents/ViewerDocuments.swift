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
    /// How many titles are shared with the viewer individually.
    package let titles: Int
    /// The places from which sign-ins with the viewer's name failed, the latest first.
    package let failures: [FailedSignInsDocument]

    init(_ viewer: Viewer, titles: Int) {
        (id, name, hasPIN, sharesAll) = (viewer.id.hex, viewer.name, viewer.hasPIN, viewer.sharesAll)
        created = Timestamp(seconds: viewer.created)
        self.titles = titles
        failures = viewer.failedSignIns.map { FailedSignInsDocument($0) }
    }
}

/// Failed sign-ins with a viewer's name from one place.
package struct FailedSignInsDocument: Codable, Hashable, Sendable {
    /// The IPv4 address, or the IPv6 network, of the last failure; null for the service's own machine.
    @OrNull package var address: String?
    /// Whether the place is a browser in which the viewer has signed in before.
    package let knownDevice: Bool
    /// How many sign-ins have failed since the last success from that place.
    package let count: Int
    package let last: Timestamp
    /// When the service accepts the next attempt; null if it accepts one now.
    @OrNull package var until: Timestamp?

    init(_ failed: FailedSignIns) {
        (knownDevice, count, last) = (failed.isKnownDevice, failed.count, Timestamp(seconds: failed.last))
        address = failed.address.isEmpty ? nil : Self.text(failed.address)
        until = failed.until.map { Timestamp(seconds: $0) }
    }

    /// Returns an IPv4 address, or a 64-bit IPv6 network, as people write it.
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
    /// How many records of viewers, shares and positions cannot be read; they grant no access.
    package let damaged: Int
}

/// The body of `POST /api/v1/viewers`.
package struct ViewerOrder: Codable, Sendable {
    let name: String
    /// Nil if only a ticket from the owner lets the viewer in.
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
    /// False removes the PIN.
    let hasPIN: Bool?
    let sharesAll: Bool?
    /// True forgets the failed sign-ins with the viewer's name.
    let unlock: Bool?

    package init(
        id: String, name: String? = nil, pin: PIN? = nil, hasPIN: Bool? = nil, sharesAll: Bool? = nil,
        unlock: Bool? = nil
    ) {
        (self.id, self.name, self.pin, self.hasPIN, self.sharesAll) = (id, name, pin, hasPIN, sharesAll)
        self.unlock = unlock
    }
}

/// The viewers with whom a title is shared.
package struct ShareDocument: Codable, Hashable, Sendable {
    /// The title.
    package let id: TitleID
    /// The ids of the viewers with whom it is shared individually.
    package let viewers: [String]
}

/// The titles shared individually, as `GET /api/v1/shares` reports them.
package struct SharesDocument: Codable, Sendable {
    package let shares: [ShareDocument]
}

/// The body of `POST /api/v1/shares`.
package struct ShareOrder: Codable, Sendable {
    let resources: [TitleID]
    /// The id of a viewer; null for all viewers.
    @OrNull var viewer: String?
    let shared: Bool

    /// Maximum titles per request.
    package static let maxCount = 10_000

    package init(_ resources: [TitleID], viewer: String?, shared: Bool) {
        self.resources = resources
        self.viewer = viewer
        self.shared = shared
    }
}

/// The result of sharing titles.
package struct SharedDocument: Codable, Hashable, Sendable {
    /// How many titles are shared with different viewers than before.
    package let changed: Int
}

/// How far a title was played.
struct PositionDocument: Codable, Hashable, Sendable {
    /// The title.
    let id: TitleID
    /// Where playback continues.
    let seconds: Double
    /// The playing time, as the player knows it.
    @OrNull var duration: Double?
    let changed: Timestamp

    init(_ position: PlaybackPosition) {
        id = position.title
        seconds = Double(position.position) / 1000
        duration = position.duration.map { Double($0) / 1000 }
        changed = Timestamp(seconds: position.changed)
    }
}

/// How far the requesting person has played titles, the latest first.
struct PositionsDocument: Codable, Sendable {
    let positions: [PositionDocument]
}

/// The body of `PUT /api/v1/resources/{id}/position`.
struct PositionOrder: Codable, Sendable {
    private let seconds: Double
    private let duration: Double?

    /// The position in milliseconds.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if it is out of bounds.
    var position: Int64 { get throws { try Self.milliseconds(seconds) } }

    /// The duration in milliseconds; nil if the player does not know it.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if it is out of bounds.
    var length: Int64? { get throws { try duration.map(Self.milliseconds) } }

    /// Maximum seconds: ten thousand hours.
    private static let maxSeconds = 36_000_000.0

    private static func milliseconds(_ seconds: Double) throws -> Int64 {
        guard (0...maxSeconds).contains(seconds) else {
            throw VaultError(
                .invalidArgument, "seconds and duration must be between 0 and \(Int(maxSeconds))")
        }
        return Int64(seconds * 1000)
    }
}

/// A title as a viewer sees it, without any hint of where it comes from.
struct ViewedTitleDocument: Codable, Sendable {
    let id: TitleID
    @OrNull var name: String?
    /// The kind of its manifest; null for a file that plays as it is.
    @OrNull var kind: ManifestKind?
    @OrNull var type: String?
    /// The playing time in milliseconds.
    @OrNull var duration: Int64?
    @OrNull var size: Int64?
    /// How many bytes are held.
    let bytes: Int64
    /// The ranges that are held; nil in lists, which would grow too long.
    @OrNull var held: [ByteRange]?
    /// Whether the vault holds all of it.
    let complete: Bool
    let added: Timestamp
    /// A value that changes with the cover; null if it is not known to have one.
    @OrNull var cover: String?

    /// Returns nil for a part of a title, which has no id.
    ///
    /// - Parameter hasRanges: whether to include the held ranges.
    init?(_ title: ResourceSummary, hasRanges: Bool = false) {
        guard let id = title.id else { return nil }
        self.id = id
        (name, kind, duration) = (title.name, title.manifestKind, title.duration)
        type = title.type.flatMap { MediaType.one($0) }
        (size, bytes, complete, added) = (title.wholeSize, title.wholeBytes, title.isWhole, title.added)
        cover = title.cover
        held = hasRanges ? title.held : nil
    }
}

/// One page of the titles that are shared with a viewer.
struct ViewedPageDocument: Codable, Sendable {
    let resources: [ViewedTitleDocument]
    /// The value of `after` for the next page; `null` on the last page.
    @OrNull var next: String?
}

/// The current state of a title that has changed, for a viewer: the event `resource`.
struct ViewedChangeDocument: Codable, Sendable {
    let id: TitleID
    let resource: ViewedTitleDocument
}
