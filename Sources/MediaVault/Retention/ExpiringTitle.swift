package import VaultModel

/// A whole title that the age limit will soon remove.
package struct ExpiringTitle: Hashable, Sendable {
    package let resource: ResourceID
    /// When it may be removed.
    package let expires: Timestamp

    /// How long before its removal a title counts as expiring, in seconds; less if the age limit itself is short.
    package static let notice: Int64 = 86_400
    /// The most titles that are returned at a time.
    static let most = 64

    /// Returns how long before its removal a title counts as expiring under an age limit; both in seconds.
    static func notice(ofAge age: Int64) -> Int64 { min(notice, age / 2) }
}
