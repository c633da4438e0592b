/// How far a title has been played.
public struct PlaybackPosition: Hashable, Sendable {
    /// The title.
    public let title: TitleID
    /// Where playback continues, in milliseconds from the beginning of the title.
    public let position: Int64
    /// The title's duration in milliseconds, as the player reported it; nil if the player does not know it.
    public let duration: Int64?
    /// When the player reported the position, in seconds since 1970.
    public let changed: Int64

    /// The valid values for positions and durations, in milliseconds: up to ten thousand hours.
    package static let milliseconds: ClosedRange<Int64> = 0...36_000_000_000
    /// The maximum number of titles remembered for one viewer; beyond it, the title played longest ago is forgotten.
    package static let maxCount = 2_000

    /// Creates a position; nil if a value is out of bounds.
    package init?(title: TitleID, position: Int64, duration: Int64?, changed: Int64) {
        guard Self.milliseconds.contains(position), duration.map(Self.milliseconds.contains) ?? true,
            (0...JSONValue.largestInteger).contains(changed)
        else { return nil }
        (self.title, self.position, self.duration, self.changed) = (title, position, duration, changed)
    }
}

/// The playback positions of one viewer, or of the owner.
package struct PlaybackPositions: Hashable, Sendable {
    private var byTitle: [TitleID: PlaybackPosition] = [:]

    /// Creates an empty set of positions.
    package init() {}

    /// All positions, the latest first.
    package var latestFirst: [PlaybackPosition] {
        byTitle.values.sorted { ($1.changed, $0.title.description) < ($0.changed, $1.title.description) }
    }

    package var isEmpty: Bool { byTitle.isEmpty }

    package var count: Int { byTitle.count }

    /// Remembers a position, which replaces the title's previous one.
    package mutating func note(_ position: PlaybackPosition) {
        byTitle[position.title] = position
        guard byTitle.count > PlaybackPosition.maxCount else { return }
        let oldest = byTitle.values.min { ($0.changed, $0.title.description) < ($1.changed, $1.title.description) }
        if let oldest { byTitle[oldest.title] = nil }
    }

    /// Forgets a title's position.
    ///
    /// - Returns: whether the title had a position.
    @discardableResult
    package mutating func forget(_ title: TitleID) -> Bool { byTitle.removeValue(forKey: title) != nil }
}

// Conversion to and from the sealed record.
extension PlaybackPositions {
    /// Creates the positions from their record; nil if the record is malformed.
    package init?(_ record: JSONObject) {
        guard let members = try? record.objects("positions"), members.count <= PlaybackPosition.maxCount else {
            return nil
        }
        for member in members {
            guard let known = try? Self.position(member) else { return nil }
            byTitle[known.title] = known
        }
    }

    private static func position(_ member: JSONObject) throws -> PlaybackPosition? {
        guard let title = TitleID(try member.string("title")) else { return nil }
        return PlaybackPosition(
            title: title, position: try member.integer("position"), duration: try member.optionalInteger("duration"),
            changed: try member.integer("changed"))
    }

    /// The members of the positions' record.
    package var record: JSONObject {
        JSONObject([
            "positions": .array(
                latestFirst.map { position in
                    var member = [
                        "title": JSONValue.string(position.title.description), "position": .integer(position.position),
                        "changed": .integer(position.changed),
                    ]
                    member["duration"] = position.duration.map { .integer($0) }
                    return .object(member)
                })
        ])
    }
}
