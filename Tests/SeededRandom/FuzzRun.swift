import Foundation

/// One run of a test with random changes: repeatable by its seed, and as long as wanted.
package struct FuzzRun {
    package let seed: UInt64
    package let rounds: Int
    package var random: SeededGenerator

    /// Prints the seed. `MEDIAVAULT_FUZZ_SEED` repeats a run; `MEDIAVAULT_FUZZ_ROUNDS` makes it longer.
    package init(_ name: String, rounds: Int) {
        let environment = ProcessInfo.processInfo.environment
        seed = environment["MEDIAVAULT_FUZZ_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... .max)
        self.rounds = environment["MEDIAVAULT_FUZZ_ROUNDS"].flatMap { Int($0) } ?? rounds
        random = SeededGenerator(seed: seed)
        print("\(name): MEDIAVAULT_FUZZ_SEED=\(seed)")
    }
}
