package import MediaVault

/// What a keyring's file tells of itself, as `/api/v1/keyring` and `keys slot list --json` have it.
package struct KeyringListing: Codable, Hashable, Sendable {
    /// A way to unlock.
    package struct Slot: Codable, Hashable, Sendable {
        package let number: Int
        package let label: String
        /// `key-file`, `passphrase`, `command` or `credential`.
        package let method: String
        /// Passes of Argon2id, where it is a passphrase.
        package let opsLimit: OrNull<Int64>
        /// Memory of Argon2id in bytes, where it is a passphrase.
        package let memLimit: OrNull<Int64>
    }

    package let vault: String
    package let revision: Int64
    package let slots: [Slot]

    package init(_ summary: KeyringSummary) {
        vault = summary.vaultID
        revision = summary.revision
        slots = summary.slots.map {
            Slot(
                number: $0.number, label: $0.label, method: $0.method, opsLimit: OrNull($0.opsLimit),
                memLimit: OrNull($0.memLimit))
        }
    }
}
