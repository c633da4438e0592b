import VaultModel
import VaultStorage

/// Whether a backup of the keyring fits a vault, and what of it comes back. A pure decision.
struct RestoreJudgement: Hashable, Sendable {
    /// What is known of the backup, of the vault's index, and of what the one opens of the other.
    struct Facts: Hashable, Sendable {
        /// The revision of the backup.
        var revision: Int64
        /// The generation that the backup has new resources use.
        var current: Int
        /// The generations whose keys the backup holds.
        var active: Set<Int>
        var hasLocator: Bool
        /// The highest revision that the backup, or the keyring which is replaced, has proof of.
        var knownRevision: Int64
        /// The revision that the index states: anybody who can write the file may have.
        var indexedRevision: Int64
        /// The generations that the index names.
        var indexed: Set<Int>
        /// How many resources have a key under each generation.
        var resources: [Int: Int]
        /// The generations of which the backup opens a resource key, as a sample shows.
        var opened: Set<Int>
        /// Whether it opens the vault's settings.
        var opensSettings: Bool
    }

    /// The generations whose keys do not come back: they were retired since.
    let retired: Set<Int>
    /// The generation that new resources use.
    let current: Int
    /// The highest revision that the vault has seen, as far as that can be.
    let lastRevision: Int64
    /// What is lost or undone, a clause each; where there is any, only force restores.
    let warnings: [String]

    /// - Throws: ``VaultError`` with code `olderKeyring` where the backup opens nothing of the vault, whatever is wanted.
    init(_ facts: Facts) throws {
        guard facts.hasLocator else {
            throw VaultError(
                .olderKeyring, "the backup was made before the vault's names were changed; use a newer backup")
        }
        // So that a number which cannot be leaves the keyring room to count on.
        let farthest = facts.knownRevision + IndexNeeds.farthestRevision
        lastRevision = min(max(facts.indexedRevision, facts.knownRevision), farthest)
        let retired = Self.retired(facts, lastRevision)
        let left = facts.active.subtracting(retired)
        let lacking = facts.resources.filter { !facts.opened.contains($0.key) }
        let opensSomething = facts.resources.isEmpty ? facts.opensSettings : lacking.count < facts.resources.count
        guard opensSomething, let newest = left.max() else {
            throw VaultError(
                .olderKeyring,
                "the backup opens nothing of this vault: every key that it holds was replaced since; use a newer backup"
            )
        }
        self.retired = retired
        current = left.contains(facts.current) ? facts.current : newest
        warnings = Self.warnings(retired, lacking) + (facts.indexedRevision > farthest ? [Self.impossible] : [])
    }

    /// Generations that the index had and names no more. One that is newer than all that it names has yet to be named.
    private static func retired(_ facts: Facts, _ lastRevision: Int64) -> Set<Int> {
        guard facts.revision < lastRevision, let newest = facts.indexed.max() else { return [] }
        return facts.active.filter { $0 < newest && !facts.indexed.contains($0) }
    }

    private static let impossible =
        "the index states a revision of the keyring that none can have, and has to be made anew with index rebuild"

    private static func warnings(_ retired: Set<Int>, _ lacking: [Int: Int]) -> [String] {
        let numbers = retired.sorted().map(String.init).joined(separator: ", ")
        let gone =
            retired.isEmpty
            ? [] : ["it still holds the key of generation \(numbers), which was retired since; that key is left out"]
        return gone
            + lacking.sorted { $0.key < $1.key }.map { generation, count in
                "it lacks the key of generation \(generation), and \(count) titles open no more"
            }
    }
}
