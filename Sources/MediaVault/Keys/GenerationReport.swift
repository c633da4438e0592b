import VaultCrypto
import VaultStorage

/// What there is to say of a generation of keys.
public struct GenerationReport: Hashable, Sendable {
    /// Generations are counted from 1.
    public let number: Int
    /// Seconds since 1970.
    public let created: Int64
    /// Where it stands in its life.
    public let state: GenerationState
    /// How many backup files of the keyring hold its key.
    public let backups: Int
    /// Resources that need it: it wraps a key of theirs.
    public let resources: Int
    /// Plaintext bytes that lie sealed under the keys that it wraps.
    public let bytes: Int64
    /// Resources among them that need it no more once the reseal that is not finished is done.
    public let leaving: Int

    init(_ record: GenerationRecord, _ state: GenerationState, _ use: GenerationUse, leaving: Int) {
        number = record.number
        created = record.created
        self.state = state
        backups = record.backups
        resources = use.resources
        bytes = use.bytes
        self.leaving = leaving
    }
}
