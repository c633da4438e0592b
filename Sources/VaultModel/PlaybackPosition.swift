/// How far a title was played.
public struct PlaybackPosition: Hashable, Sendable {
    /// The title.
    public let title: TitleID
    /// Where it continues, in milliseconds from its beginning.
    public let position: Int64
    /// How long the title plays, in milliseconds, as the player knows it; nil if it does not.
    public let duration: Int64?
    /// When the player said so, in seconds since 1970.
    public let changed: Int64

    /// The milliseconds that a position and a duration can have: up to ten thousand hours.
    package static let milliseconds: ClosedRange<Int64> = 0...36_000_000_000
    /// The most titles of one viewer that are remembered; of more, those that were played longest ago are forgotten.
    package static let maxCount = 2_000

    /// Nil if a value is out of bounds.
    package init?(title: TitleID, position: Int64, duration: Int64?, changed: Int64) {
        guard Self.milliseconds.contains(position), duration.map(Self.milliseconds.contains) ?? true,
            (0...JSONValue.largestInteger).contains(changed)
        else { return nil }
        (self.title, self.position, self.duration, self.changed) = (title, position, duration, changed)
    }
}

/// The positions of one viewer, or of the owner.
package struct PlaybackPositions: Hashable, Sendable {
    private var byTitle: [TitleID: PlaybackPosition] = [:]

    /// None.
    package init() {}

    /// All of them, the latest first.
    package var latestFirst: [PlaybackPosition] {
        byTitle.values.sorted { ($1.changed, $0.title.description) < ($0.changed, $1.title.description) }
    }

    package var isEmpty: Bool { byTitle.isEmpty }

    package var count: Int { byTitle.count }

    /// Remembers a position, in place of the one that the title had.
    package mutating func note(_ position: PlaybackPosition) {
        byTitle[position.title] = position
        guard byTitle.count > PlaybackPosition.maxCount else { return }
        let oldest = byTitle.values.min { ($0.changed, $0.title.description) < ($1.changed, $1.title.description) }
        if let oldest { byTitle[oldest.title] = nil }
    }

    /// Forgets a title.
    ///
    /// - Returns: whether it had a position.
    @discardableResult
    package mutating func forget(_ title: TitleID) -> Bool { byTitle.removeValue(forKey: title) != nil }
}

// The record as it is sealed.
extension PlaybackPositions {
    /// Reads a record; nil if it is not what a writer writes.
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

    /// The members of its record.
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
