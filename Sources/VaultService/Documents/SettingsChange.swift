import MediaVault

/// What is to be different in a vault's settings: `PATCH /api/v1/settings`. What is left out stays as it is, and `null`
/// takes a rule back.
package struct SettingsChange: Codable, Hashable, Sendable {
    package var maxSize: SizeText?
    package var maxAge: Int64?
    package var minFree: SizeText?
    /// Whether the size may cost titles that were fetched by name.
    package var evictDownloads: Bool?
    /// By host: names in place of those so far.
    package var ignoreQuery: [String: [String]?]?
    /// By host: what it is named as.
    package var mapHost: [String: String?]?
    /// By host: whether it may be led to.
    package var allowHost: [String: Bool]?
    /// By host: whether its entity tags say nothing.
    package var ignoreEtag: [String: Bool]?
    /// By host: whether its content never changes.
    package var immutable: [String: Bool]?
    /// The vault's mode by name, and `default` for none.
    package var mode: String?

    package init() {}

    var limits: LimitsDocument {
        LimitsDocument(maxSize: maxSize, maxAge: maxAge, minFree: minFree, evictDownloads: evictDownloads)
    }

    /// Whether it changes what names resources, or whose word counts.
    var changesPolicy: Bool {
        ignoreQuery != nil || mapHost != nil || allowHost != nil || ignoreEtag != nil || immutable != nil
    }

    /// A policy with the change.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    func applied(to policy: KeyPolicy) throws -> KeyPolicy {
        var policy = policy
        for (host, names) in ignoreQuery ?? [:] {
            try policy.ignore(names ?? [], on: host == SettingsDocument.everyHost ? nil : host)
        }
        // Rules go first: what is left could stand in the way of what comes.
        for (host, other) in mapHost ?? [:] where other == nil { try policy.map(host, to: nil) }
        for case (let host, let other?) in mapHost ?? [:] { try policy.map(host, to: other) }
        for (host, isAllowed) in allowHost ?? [:] { try policy.allow(host, isAllowed) }
        for (host, isIgnored) in ignoreEtag ?? [:] { try policy.ignoreEntityTag(of: host, isIgnored) }
        for (host, isImmutable) in immutable ?? [:] { try policy.takeAsImmutable(host, isImmutable) }
        return policy
    }
}
