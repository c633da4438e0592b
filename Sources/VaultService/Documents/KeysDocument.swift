package import MediaVault

/// How the keys of a vault stand, as `/api/v1/keys` and `keys list --json` tell it.
package struct KeysDocument: Codable, Hashable, Sendable {
    package struct Generation: Codable, Hashable, Sendable {
        package let number: Int
        /// Seconds since 1970.
        package let created: Int64
        /// `current`, `active`, `retiring` or `retired`.
        package let state: String
        /// How many backup files of the keyring hold its key.
        package let backups: Int
        /// Resources that need it.
        package let resources: Int
        /// Plaintext bytes that lie sealed under the keys that it wraps.
        package let bytes: Int64
        /// Resources among them that need it no more once the reseal that is not finished is done.
        package let leaving: Int
    }

    /// Generations that were retired long ago, told of together.
    package struct Folded: Codable, Hashable, Sendable {
        package let first: Int
        package let last: Int
    }

    /// What is left of a reseal that was not finished.
    package struct Reseal: Codable, Hashable, Sendable {
        package let resources: Int
        package let bytes: Int64
        /// Whether the vault goes on with it; where not, these could not be sealed anew in whole.
        package let due: Bool
    }

    /// The generation that new resources use.
    package let current: Int
    package let generations: [Generation]
    /// Generations that are not in the list above, because they were retired long ago.
    package let folded: [Folded]
    /// The act that works on the keys now, by its command.
    package let act: OrNull<String>
    /// Whether resource ids are being computed anew, and that was not finished.
    package let locatorChanging: Bool
    package let reseal: OrNull<Reseal>
    /// Titles whose shred is not finished.
    package let shreds: Int

    package init(_ report: KeyReport) {
        current = report.current
        generations = report.generations.map { generation in
            Generation(
                number: generation.number, created: generation.created, state: generation.state.rawValue,
                backups: generation.backups, resources: generation.resources, bytes: generation.bytes,
                leaving: generation.leaving)
        }
        folded = report.folded.map { Folded(first: $0.lowerBound, last: $0.upperBound) }
        act = OrNull(report.act)
        locatorChanging = report.isLocatorChanging
        reseal = OrNull(
            report.reseal.map { Reseal(resources: $0.resources, bytes: $0.bytes, due: $0.isDue) })
        shreds = report.shreds
    }

    /// Generations other than the current one whose keys still open something.
    package var older: [Generation] { generations.filter { $0.number != current && !$0.isRetired } }
}

extension KeysDocument.Generation {
    /// Whether its key is destroyed.
    package var isRetired: Bool { state == GenerationState.retired.rawValue }
}
