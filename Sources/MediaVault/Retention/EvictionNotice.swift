import VaultStorage

/// Tells what made room, once for each run: evictions that follow one another closely, as those of one film do, are one.
struct EvictionNotice {
    private var told = EvictionTally()
    private var seen = EvictionTally()
    private var begun: ContinuousClock.Instant?
    private var lastSeen: ContinuousClock.Instant?

    /// A run is over after so long without an eviction, and is told after so long at the latest.
    static let quiet: Duration = .seconds(5)
    static let longest: Duration = .seconds(60)

    /// Looks at how much was evicted so far.
    mutating func look(_ gone: EvictionTally, now: ContinuousClock.Instant) -> StoreEvent? {
        if gone != seen {
            (seen, lastSeen) = (gone, now)
            begun = begun ?? now
        }
        guard let begun, let lastSeen, now - lastSeen >= Self.quiet || now - begun >= Self.longest else { return nil }
        return end(gone)
    }

    /// Tells what was not told yet.
    mutating func end(_ gone: EvictionTally) -> StoreEvent? {
        defer { (told, seen, begun, lastSeen) = (gone, gone, nil, nil) }
        guard gone != told else { return nil }
        return .evicted(
            titles: gone.resources - told.resources, segments: gone.segments - told.segments,
            bytes: gone.bytes - told.bytes)
    }
}
