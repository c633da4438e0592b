package import VaultCrypto
package import VaultModel
package import VaultStorage

/// Names the resources of a vault, using its key policy and the principals for which resources were stored.
package final class ResourceNames: Sendable {
    private let store: VaultStore
    private let pool: BlockingPool
    private let known: Locked<Known>

    private struct Known {
        var policy = KeyPolicy()
        var principals: [[UInt8]] = []
        /// The number of times that the policy or the principals have changed. Each change may give a reference another
        /// name.
        var changes = 0
        /// Whether the vault has more principals than the settings can list.
        var isIncomplete: Bool { principals.count > VaultSettings.maxPrincipals }
    }

    /// Reads the key policy and the principals from the settings. Blocks.
    package init(store: VaultStore, pool: BlockingPool) {
        self.store = store
        self.pool = pool
        var known = Known()
        // Invalid settings are reported when they are requested. Until then, held resources can still be played by
        // their plain names.
        if let settings = try? store.index.settings() {
            known.policy = (try? settings.keyPolicy()) ?? KeyPolicy()
            known.principals = settings.principals
        }
        self.known = Locked(known)
    }

    /// Forgets the settings, because the vault has been closed.
    package func forget() { known.withLock { $0 = Known(changes: $0.changes + 1) } }

    /// Names a settled reference.
    func name(_ reference: MediaReference) async throws -> NamedResource {
        let (plain, principals) = try plainName(of: reference)
        guard !principals.isEmpty else { return plain }
        return try await pool.run { [self] in try onlyPrincipalName(of: principals, having: plain) ?? plain }
    }

    /// Names a settled reference without reading the index; returns nil if the name depends on the index.
    package func nameAtOnce(_ reference: MediaReference) throws -> NamedResource? {
        let (plain, principals) = try plainName(of: reference)
        return principals.isEmpty ? plain : nil
    }

    /// Names a resource that is in the index.
    ///
    /// - Throws: ``VaultError`` with code `busy` if the resource's id is no longer the one in the index.
    func name(_ stored: StoredResource) throws -> NamedResource {
        let (known, locator) = (known.withLock { $0 }, store.index.locator)
        var reference = try MediaReference(MediaURL(stored.metadata.url))
        // Later uses of a stored resource, such as a repair, may not reach more addresses than the request that stored
        // it.
        reference.isDerived = stored.metadata.isDerived
        let named = try NamedResource(
            reference, CacheKey(bytes: stored.metadata.cacheKey), keyring: store.keyring, locator: locator,
            changes: known.changes)
        guard named.id == stored.id else { throw Self.renaming }
        return named
    }

    /// Returns a reference that identifies a stored resource by its name in the index, even if the key policy has
    /// changed.
    func reference(to stored: StoredResource, _ id: TitleID) throws -> MediaReference {
        let (key, locator) = (CacheKey(bytes: stored.metadata.cacheKey), store.index.locator)
        var reference = try MediaReference(id, url: MediaURL(stored.metadata.url), contentID: key.contentID)
        // As in `name(_:)`, the reference may not reach more addresses than the request that stored the resource.
        reference.isDerived = stored.metadata.isDerived
        reference.principal = key.principal
        reference.stored = StoredName(key: key, locator: locator)
        return reference
    }

    /// Returns a reference to the stored resource with this id. Blocks.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such resource; `invalidArgument` if several have
    ///   this id.
    package func reference(storedAs id: TitleID) throws -> MediaReference {
        try reference(to: store.index.titleIDs.resources(id), id)
    }

    /// Returns references to the stored resources with these ids. Their rows are read a page at a time. Blocks.
    ///
    /// - Throws: as ``reference(storedAs:)``, for the first id without a reference.
    package func references(storedAs ids: [TitleID]) throws -> [TitleID: MediaReference] {
        let pageSize = 256
        var references: [TitleID: MediaReference] = [:]
        for first in stride(from: 0, to: ids.count, by: pageSize) {
            let page = ids[first..<min(first + pageSize, ids.count)]
            let found = try store.index.titleIDs.resources(Set(page))
            for id in page { references[id] = try reference(to: found[id] ?? [], id) }
        }
        return references
    }

    private func reference(to found: [StoredResource], _ id: TitleID) throws -> MediaReference {
        guard let stored = found.first else {
            throw VaultError(
                .notHeld, "the vault has no title with the id \(id); give one that it has", hint: .listTitles)
        }
        guard found.count == 1 else {
            throw VaultError(
                .invalidArgument, "\(found.count) titles have the id \(id); give the URL of the one you mean",
                hint: .listTitles)
        }
        return try reference(to: stored, id)
    }

    /// Returns the cache key of the resource that a reference identifies by id; nil if the reference has no id.
    ///
    /// - Throws: ``VaultError`` with code `busy` if the name may have changed since the id was looked up; `notHeld` if
    ///   the reference's header fields stand for a user other than the one for whom the resource was stored.
    private func storedKey(of reference: MediaReference, _ locator: Int) throws -> CacheKey? {
        guard let stored = reference.stored else { return nil }
        guard stored.locator == locator else { throw Self.renaming }
        if let identity = Identity.bytes(of: reference.fields),
            store.keyring.principal(identity, locator: locator) != stored.key.principal
        {
            throw reference.heldForAnother
        }
        return stored.key
    }

    /// The error for callers while resource ids are being recomputed.
    package static let renaming = VaultError(
        .busy, "the vault's resource ids are being recomputed; try again in a moment")

    /// Returns whether a resource would still be given the same name.
    package func isCurrent(_ resource: NamedResource) -> Bool {
        resource.locator == store.index.locator && resource.changes == known.withLock { $0.changes }
    }

    /// Returns every cache key under which a settled reference's resource may have been stored, whether or not it is
    /// held.
    package func allKeys(of reference: MediaReference) throws -> [CacheKey] {
        let (known, locator) = (known.withLock { $0 }, store.index.locator)
        if let stored = try storedKey(of: reference, locator) { return [stored] }
        let plain = try CacheKey(reference, policy: known.policy, keyring: store.keyring, locator: locator)
        guard plain.principal == nil else { return [plain] }
        return [plain] + known.principals.map { CacheKey(name: plain.name, principal: $0) }
    }

    /// Returns the id that a settled reference by URL or content id has under a locator, whether or not its resource is
    /// held.
    ///
    /// - Throws: ``VaultError`` with code `foreignKeyring` if the keyring lacks the locator.
    package func id(of reference: MediaReference, locator: Int) throws -> ResourceID {
        let policy = known.withLock(\.policy)
        return try CacheKey(reference, policy: policy, keyring: store.keyring, locator: locator)
            .id(keyring: store.keyring, locator: locator)
    }

    /// Returns the plain name of a settled reference. Also returns the principals for one of which the resource may be
    /// stored instead.
    private func plainName(of reference: MediaReference) throws -> (plain: NamedResource, principals: [[UInt8]]) {
        let (known, locator) = (known.withLock { $0 }, store.index.locator)
        let stored = try storedKey(of: reference, locator)
        let key =
            try stored ?? CacheKey(reference, policy: known.policy, keyring: store.keyring, locator: locator)
        let plain = try NamedResource(
            reference, key, keyring: store.keyring, locator: locator, changes: known.changes)
        let isOnly =
            known.isIncomplete || reference.excludesPrincipals || key.principal != nil || stored != nil
        return (plain, isOnly ? [] : known.principals)
    }

    /// Returns the principal's name for a resource that is stored for exactly one principal. Blocks.
    ///
    /// Returns nil if the resource is stored under the plain name itself, or for several principals. If it is stored
    /// for several, the plain name refers to none of its stored versions.
    private func onlyPrincipalName(of principals: [[UInt8]], having plain: NamedResource) throws -> NamedResource? {
        guard try !isStored(plain.id) else { return nil }
        let found = try principals.map { try plain.named(for: $0, keyring: store.keyring) }
            .filter { try isStored($0.id) }
        return found.count == 1 ? found[0] : nil
    }

    /// Returns whether the vault has a resource with this id, either by itself or in a pack. Blocks.
    private func isStored(_ id: ResourceID) throws -> Bool {
        try store.index.resources.has(id) || store.index.resources.find(id) != nil
    }

    /// Records a principal for which a resource is about to be stored. Blocks.
    package func note(_ principal: [UInt8]) throws {
        guard known.withLock({ !$0.principals.contains(principal) && !$0.isIncomplete }) else { return }
        try store.changeSettings { $0.note(principal: principal) }
        use(try store.index.settings().principals)
    }

    /// Reloads the principals, which have other names under a new locator.
    package func reload() async throws {
        use(try await pool.run { [store] in try store.index.settings().principals })
    }

    private func use(_ principals: [[UInt8]]) {
        known.withLock { known in
            known.principals = principals
            known.changes += 1
        }
    }

    // MARK: Policy

    /// Returns whether manifests and redirects may lead to a host even if its address is private.
    package func allows(host: String) -> Bool { known.withLock { $0.policy.allows(host: host) } }

    /// Returns whether to ignore a host's entity tags.
    func ignoresEntityTag(of host: String) -> Bool { known.withLock { $0.policy.ignoresEntityTag(of: host) } }

    /// Returns whether a host's content never changes under the same URL.
    func isImmutable(host: String) -> Bool { known.withLock { $0.policy.isImmutable(host: host) } }

    /// Returns the part of a URL's query that the key policy includes in the resource's name; nil if it includes none.
    package func namedQuery(of url: MediaURL) -> String? {
        let policy = known.withLock(\.policy)
        return (try? MediaURL(policy.name(of: url)))?.query
    }

    /// Returns whether the key policy gives two URLs the same name, for example because they differ only in ignored
    /// query parameters.
    func areAlike(_ one: MediaURL, _ other: MediaURL) -> Bool {
        guard one != other else { return true }
        let policy = known.withLock(\.policy)
        return policy.name(of: one) == policy.name(of: other)
    }

    /// Returns the key policy in the settings.
    ///
    /// - Throws: ``VaultError`` if the settings fail authentication.
    package func policy() async throws -> KeyPolicy {
        try await pool.run { [store] in try store.index.settings().keyPolicy() }
    }

    /// Switches to a key policy that has been written to the settings.
    package func use(_ policy: KeyPolicy) {
        known.withLock { known in
            known.policy = policy
            known.changes += 1
        }
    }
}

/// The name of a resource in the vault, with the reference by which to request it.
///
/// It is computed once per request and passed on, because computing the id takes a hash.
package final class NamedResource: Sendable {
    /// The settled reference, which is never one of this vault's own playback links.
    package let reference: MediaReference
    /// The cache key, of which the id is a hash.
    package let key: CacheKey
    package let id: ResourceID
    /// The locator with which the id was computed. Another locator would give another id.
    let locator: Int
    /// The number of times that the vault's names had changed when this name was computed.
    fileprivate let changes: Int

    /// Computes the resource's id.
    ///
    /// - Throws: ``VaultError`` with code `foreignKeyring` if the keyring lacks the locator.
    fileprivate init(
        _ reference: MediaReference, _ key: CacheKey, keyring: Keyring, locator: Int, changes: Int
    ) throws {
        self.reference = reference
        self.key = key
        self.locator = locator
        self.changes = changes
        id = try key.id(keyring: keyring, locator: locator)
    }

    /// Returns the name that the same resource has when it is stored for a principal.
    fileprivate func named(for principal: [UInt8], keyring: Keyring) throws -> NamedResource {
        try NamedResource(
            reference, CacheKey(name: key.name, principal: principal), keyring: keyring, locator: locator,
            changes: changes)
    }
}

/// The input of the keyed hash that yields a resource's id: a name, and a principal if the request carried credentials.
package struct CacheKey: Hashable, Sendable {
    /// The caller's content id, or else the URL in the form in which the key policy names it.
    let name: [UInt8]
    /// 32 bytes that stand for the user whose credentials were sent to the origin.
    package var principal: [UInt8]?

    package var bytes: [UInt8] { name + (principal.map { [0] + $0 } ?? []) }

    /// The prefix that marks a content id in a name. No URL begins with it.
    private static let contentIDMark = "content-id:"

    /// The caller's content id; nil if the name is a URL.
    package var contentID: String? {
        let mark = Self.contentIDMark.utf8
        return name.starts(with: mark) ? String(decoding: name.dropFirst(mark.count), as: UTF8.self) : nil
    }

    init(name: [UInt8], principal: [UInt8]?) {
        self.name = name
        self.principal = principal
    }

    /// Parses a key stored in the index. A name never contains a zero byte.
    package init(bytes: [UInt8]) {
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        self.init(name: Array(bytes[..<end]), principal: end < bytes.endIndex ? Array(bytes[(end + 1)...]) : nil)
    }

    /// Computes the cache key of a checked reference.
    ///
    /// - Throws: ``VaultError`` with code `foreignKeyring` if the keyring lacks the locator.
    package init(_ reference: MediaReference, policy: KeyPolicy, keyring: Keyring, locator: Int) throws {
        name = Array((reference.contentID.map { Self.contentIDMark + $0 } ?? policy.name(of: reference.url)).utf8)
        if let identity = Identity.bytes(of: reference.fields) {
            guard let known = keyring.principal(identity, locator: locator) else { throw Self.foreign }
            principal = known
        } else {
            principal = reference.principal
        }
    }

    /// Returns the id of the resource with this cache key.
    package func id(keyring: Keyring, locator: Int) throws -> ResourceID {
        guard let id = keyring.resourceID(cacheKey: bytes, locator: locator) else { throw Self.foreign }
        return id
    }

    private static var foreign: VaultError {
        VaultError(
            .foreignKeyring, "the keyring lacks the key that names this vault's resources; use the newer keyring")
    }
}

/// The name of a resource in the index, and the locator under which the name is valid, because a principal is a hash
/// under a locator.
package struct StoredName: Hashable, Sendable {
    let key: CacheKey
    let locator: Int
}

/// Determines which request header fields identify the sender.
package enum Identity {
    /// Returns bytes that identify the sender of these header fields; nil if no field identifies one.
    ///
    /// Every field that may identify a sender counts. If the only one is `Authorization` or `Cookie`, just its value is
    /// used.
    package static func bytes(of fields: HeaderFields) -> [UInt8]? {
        // An unknown field may carry an API key, so two requests in which it differs must not share anything.
        let telling = fields.fields.filter { field in !anonymous.contains { $0.isEqualIgnoringCase(field.name) } }
        guard let first = telling.first else { return nil }
        if telling.count == 1, ["Authorization", "Cookie"].contains(where: first.name.isEqualIgnoringCase) {
            return Array(first.value.utf8)
        }
        let lines = telling.map { Array("\($0.name.lowercased()): \($0.value)".utf8) }
        return Array(lines.sorted { $0.lexicographicallyPrecedes($1) }.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// The header fields that state how something is requested, but not by whom.
    private static let anonymous = [
        "Accept", "Accept-Language", "Cache-Control", "DNT", "Origin", "Pragma", "Referer", "User-Agent",
    ]
}
