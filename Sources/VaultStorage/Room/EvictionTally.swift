/// What went.
package struct EvictionTally: Hashable, Sendable {
    package var resources = 0
    package var segments = 0
    /// Of files that are gone.
    package var bytes: Int64 = 0

    /// Nothing, unless told otherwise.
    package init(resources: Int = 0, segments: Int = 0, bytes: Int64 = 0) {
        self.resources = resources
        self.segments = segments
        self.bytes = bytes
    }

    static func += (tally: inout EvictionTally, other: EvictionTally) {
        tally.resources += other.resources
        tally.segments += other.segments
        tally.bytes += other.bytes
    }
}
