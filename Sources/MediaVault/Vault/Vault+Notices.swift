package import VaultModel
import VaultStorage

// Events that a service reports to its operator.
extension Vault {
    /// Registers a closure to call each time a resource's bytes fail their check when they are read, resealed or
    /// verified. The closure must not block.
    ///
    /// - Returns: the id for ``stopListeningForDamage(_:)``.
    package func listenForDamage(_ tell: @escaping @Sendable (ResourceID) -> Void) -> Int {
        loaders.environment.damage.add(tell)
    }

    /// Removes a closure that ``listenForDamage(_:)`` registered.
    package func stopListeningForDamage(_ listener: Int) { loaders.environment.damage.remove(listener) }

    /// Returns the complete titles that the age limit will remove within ``ExpiringTitle/notice``, the soonest first.
    ///
    /// The age limit applies only to titles that were merely played; pinned titles and downloads are kept.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    package func expiringTitles() async throws -> [ExpiringTitle] {
        guard let age = try await quota.limitsInForce().age else { return [] }
        let store = store
        return try await pool.run {
            let soon = try store.quota.expiring(
                within: ExpiringTitle.notice(ofAge: age), age: age, limit: ExpiringTitle.most)
            return try soon.filter { try store.index.resources.find($0.resource)?.isCompleteTitle ?? false }.map {
                ExpiringTitle(resource: $0.resource, expires: Timestamp(seconds: $0.accessed + age))
            }
        }
    }
}

extension StoredResource {
    /// Whether the resource stands for a title that is held whole. Losing a fragment of a title is not worth a notice.
    fileprivate var isCompleteTitle: Bool {
        let summary = ResourceSummary(self)
        return summary.title?.isComplete ?? summary.isComplete
    }
}

/// A complete title that the age limit will soon remove.
package struct ExpiringTitle: Hashable, Sendable {
    package let resource: ResourceID
    /// When the title may be removed.
    package let expires: Timestamp

    /// How many seconds before its removal a title counts as expiring. The period is shorter if the age limit is short.
    package static let notice: Int64 = 86_400
    /// The maximum number of titles returned at a time.
    static let most = 64

    /// Returns how many seconds before its removal a title counts as expiring, if the age limit is `age` seconds.
    static func notice(ofAge age: Int64) -> Int64 { min(notice, age / 2) }
}
