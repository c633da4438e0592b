package import MediaVault

/// The settings of a vault, as `/api/v1/settings` and `config get --json` tell them.
package struct SettingsDocument: Codable, Hashable, Sendable {
    /// Bytes; 0 is no limit.
    package let maxSize: Int64
    /// Seconds; 0 is for ever.
    package let maxAge: Int64
    /// Bytes; 0 is none, and null is as in a new vault: a part of the disk.
    package let minFree: OrNull<Int64>
    /// Whether the size may cost titles that were fetched by name.
    package let evictDownloads: Bool
    /// Names of query items that name nothing, by host; those of ``everyHost`` count for all.
    package let ignoreQuery: [String: [String]]
    /// Hosts that are named as others.
    package let mapHost: [String: String]
    /// Private hosts that may be led to, in ascending order.
    package let allowHost: [String]
    /// Hosts whose entity tags say nothing, in ascending order.
    package let ignoreEtag: [String]
    /// Hosts whose content never changes, in ascending order.
    package let immutable: [String]
    /// The mode that was set; null where none was.
    package let mode: OrNull<String>

    /// What stands for every host in ``ignoreQuery``.
    package static let everyHost = "*"

    package init(_ limits: RoomLimits, _ policy: KeyPolicy, _ mode: VaultMode?) {
        maxSize = limits.maxSize ?? 0
        maxAge = limits.maxAge ?? 0
        minFree = OrNull(limits.minFree)
        evictDownloads = limits.evictsDownloads ?? false
        ignoreQuery = Dictionary(
            policy.ignoreQuery.map { ($0.host ?? Self.everyHost, $0.names) }, uniquingKeysWith: +)
        mapHost = policy.mapHost
        allowHost = policy.allowHost.sorted()
        ignoreEtag = policy.ignoreEntityTag.sorted()
        immutable = policy.immutable.sorted()
        self.mode = OrNull(mode?.rawValue)
    }
}
