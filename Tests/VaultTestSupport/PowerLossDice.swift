import SeededRandom

/// Decides which unsynced changes reached the disk before a power loss. Each seed has one outcome.
///
/// How much reaches the disk differs between seeds: nothing, everything, half of it, nearly all of it.
struct PowerLossDice {
    private var generator: SeededGenerator
    private let chance: Double

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        chance = [0, 1, 0.5, 0.9][Int(seed % 4)]
    }

    mutating func reachedDisk() -> Bool { Double.random(in: 0..<1, using: &generator) < chance }

    /// The size of a file whose size on the disk differs from its current one.
    mutating func size(_ old: Int, _ new: Int) -> Int {
        switch (old == new, reachedDisk(), reachedDisk()) {
        case (true, _, _), (_, true, true): new
        case (_, false, false): old
        default: Int.random(in: min(old, new)...max(old, new), using: &generator)
        }
    }
}
