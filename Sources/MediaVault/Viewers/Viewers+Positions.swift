public import VaultModel
import VaultStorage

// Remembers how far titles were played.
extension Viewers {
    /// Returns how far a viewer has played titles, the most recently played first.
    ///
    /// - Parameter viewer: the viewer; nil for the owner.
    public func positions(of viewer: ViewerID?) async throws -> [PlaybackPosition] {
        try await pool.run { [self] in
            try followResources()
            return state.withLock { $0.positions[viewer]?.latestFirst ?? [] }
        }
    }

    /// Records how far a viewer has played a title. The position is written to the index within 15 seconds, and when
    /// the vault is closed.
    ///
    /// - Parameters:
    ///   - position: the position in milliseconds from the beginning of the title, at most ten thousand hours.
    ///   - duration: how long the title plays, in milliseconds; nil if the player does not know.
    ///   - title: the title; the caller has checked that the vault has it.
    ///   - viewer: the viewer; nil for the owner.
    /// - Throws: ``VaultError`` with code `invalidArgument` if a number is out of bounds; `notHeld` if there is no such
    ///   viewer; `owned` if this process is not the owner.
    public func setPosition(
        _ position: Int64, duration: Int64?, of title: TitleID, for viewer: ViewerID?
    ) throws {
        try store.requireOwner(to: "remembers positions")
        guard
            let position = PlaybackPosition(
                title: title, position: position, duration: duration, changed: max(0, store.index.now()))
        else {
            throw VaultError(
                .invalidArgument, "a position and a duration must be between 0 and 36000000 seconds")
        }
        try state.withLock { state in
            guard viewer.map({ state.viewers[$0] != nil }) ?? true else { throw Self.unknown }
            state.positions[viewer, default: PlaybackPositions()].note(position)
            state.unwritten.insert(viewer)
        }
    }

    /// How long a position may wait before it is written. It waits because a player reports one every few seconds.
    private static var writeInterval: Duration { .seconds(15) }

    /// Writes positions to the index if the last ones were written long enough ago. Blocks.
    func writePositionsIfDue(now: ContinuousClock.Instant) throws {
        guard written.withLock({ now - $0 >= Self.writeInterval }) else { return }
        try writePositions()
        written.withLock { $0 = now }
    }

    /// Writes all positions that are not yet in the index. Blocks.
    func writePositions() throws {
        try followResources()
        try changing.withLock { _ in
            let unwritten = state.withLock { state in
                defer { state.unwritten = [] }
                return Dictionary(
                    uniqueKeysWithValues: state.unwritten.map { ($0, state.positions[$0] ?? PlaybackPositions()) })
            }
            do {
                try store.viewers.write(unwritten)
            } catch {
                state.withLock { $0.unwritten.formUnion(unwritten.keys) }
                throw error
            }
        }
    }
}
