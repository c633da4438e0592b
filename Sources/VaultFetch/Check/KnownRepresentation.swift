package import VaultModel

/// What is known of a representation before an answer comes: what earlier answers said, or the index.
package struct KnownRepresentation: Hashable, Sendable {
    /// The validators it was stored under.
    package var validators: Validators
    /// Its length, where an answer has given it.
    package var length: Int64?

    package init(validators: Validators, length: Int64?) {
        self.validators = validators
        self.length = length
    }
}
