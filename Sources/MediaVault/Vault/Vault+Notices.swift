package import VaultModel
import VaultStorage

// What a service reports to its operator.
extension Vault {
    /// Registers a closure to call each time bytes of a resource fail their check, when they are read, resealed or
    /// verified. It must not block.
    ///
    /// - Returns: the number for ``stopListeningForDamage(_:)``.
    package func listenForDamage(_ tell: @escaping @Sendable (ResourceID) -> Void) -> Int {
        loaders.environment.damage.add(tell)
    }

    /// Ends what ``listenForDamage(_:)`` began.
    package func stopListeningForDamage(_ listener: Int) { loaders.environment.damage.remove(listener) }

    /// Returns the complete titles that the age limit removes within ``ExpiringTitle/notice``, the soonest first.
    ///
    /// The age limit applies only to what was merely played; pinned titles and downloads stay.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    package func expiringTitles() async throws -> [ExpiringTitle] {
        guard let age = try await quota.limitsInForce().age else { return [] }
        let store = store
        return try await pool.run {
            let soon = try store.quota.expiring(
                within: ExpiringTitle.notice(ofAge: age), age: age, limit: ExpiringTitle.most)
            return try soon.filter { try store.index.resource($0.resource)?.isCompleteTitle ?? false }.map {
                ExpiringTitle(resource: $0.resource, expires: Timestamp(seconds: $0.accessed + age))
            }
        }
    }
}

extension StoredResource {
    /// Whether all of the title that it stands for is held: losing a fragment is not worth a notice.
    fileprivate var isCompleteTitle: Bool {
        let summary = ResourceSummary(self)
        return summary.title?.isComplete ?? summary.isComplete
    }
}

/// A complete title that the age limit will soon remove.
package struct ExpiringTitle: Hashable, Sendable {
    package let resource: ResourceID
    /// When it may be removed.
    package let expires: Timestamp

    /// How long before its removal a title counts as expiring, in seconds; less if the age limit itself is short.
    package static let notice: Int64 = 86_400
    /// The maximum number of titles returned at a time.
    static let most = 64

    /// Returns how long before its removal a title counts as expiring under an age limit; both in seconds.
    static func notice(ofAge age: Int64) -> Int64 { min(notice, age / 2) }
}
