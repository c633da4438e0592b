package import MediaVault

/// What wrapping all resource keys anew has come to: the last line of `POST /api/v1/rewraps`.
package struct RewrapDocument: Codable, Hashable, Sendable {
    /// The generation that wraps them now.
    package let generation: Int
    /// How many were wrapped anew.
    package let keys: Int
    /// How many do not open, and stay as they are.
    package let unopened: Int
    /// The other generations that the keyring still has.
    package let older: [Int]

    package init(_ report: RewrapReport) {
        generation = report.generation
        keys = report.keys
        unopened = report.unopened
        older = report.older
    }
}
